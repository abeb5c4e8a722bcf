// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/mcp"
)

// references reads the Secrets and ConfigMaps that a session's servers name. They are read uncached, each once a
// reconcile: nobody caches a namespace's Secrets, and rotation is found by reading again.
type references struct {
	reader    client.Reader
	namespace string
	objects   map[string]map[string][]byte
	// used says that something was read, and so wants to be read again.
	used bool
}

// errReference says that a reference leads nowhere. Its text names the reference, never a value.
var errReference = errors.New("reference")

func newReferences(reader client.Reader, namespace string) *references {
	return &references{reader: reader, namespace: namespace, objects: map[string]map[string][]byte{}}
}

func (r *references) secret(ctx context.Context, name, key string) ([]byte, error) {
	return r.value("Secret", name, key, func(k types.NamespacedName) (map[string][]byte, error) {
		var secret corev1.Secret
		err := r.reader.Get(ctx, k, &secret)
		return secret.Data, err
	})
}

func (r *references) configMap(ctx context.Context, name, key string) ([]byte, error) {
	return r.value("ConfigMap", name, key, func(k types.NamespacedName) (map[string][]byte, error) {
		var configMap corev1.ConfigMap
		err := r.reader.Get(ctx, k, &configMap)
		data := make(map[string][]byte, len(configMap.Data))
		for key, value := range configMap.Data {
			data[key] = []byte(value)
		}
		return data, err
	})
}

func (r *references) value(kind, name, key string, read func(types.NamespacedName) (map[string][]byte, error)) ([]byte, error) {
	r.used = true
	data, ok := r.objects[kind+"/"+name]
	if !ok {
		var err error
		data, err = read(types.NamespacedName{Namespace: r.namespace, Name: name})
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("read %s %s: %w", kind, name, err)
		}
		if apierrors.IsNotFound(err) {
			data = nil
		}
		r.objects[kind+"/"+name] = data
	}
	value, ok := data[key]
	if !ok {
		return nil, fmt.Errorf("%w: there is no %s %q with key %q in the namespace", errReference, kind, name, key)
	}
	return value, nil
}

// server turns a resolved server into what the runtime connects to. An error that is errReference is the user's to mend;
// any other is the API server's.
func (r *references) server(ctx context.Context, in *resolved) (mcp.Server, error) {
	out := mcp.Server{Name: in.name, Policy: policy(&in.server.Spec)}
	var err error
	switch transport := &in.server.Spec.Transport; transport.Type {
	case v1alpha1.TransportStreamableHTTP:
		out.Transport = mcp.TransportHTTP
		out.HTTP, err = r.endpoint(ctx, transport.StreamableHTTP.URL, transport.StreamableHTTP.CABundle,
			transport.StreamableHTTP.Headers, in.headers)
		out.HTTP.Era = era(transport.StreamableHTTP.Protocol)
	case v1alpha1.TransportSSE:
		out.Transport = mcp.TransportSSE
		out.HTTP, err = r.endpoint(ctx, transport.SSE.URL, transport.SSE.CABundle, transport.SSE.Headers, in.headers)
	case v1alpha1.TransportStdio:
		out.Transport = mcp.TransportStdio
		out.Stdio.Address = transport.Stdio.Address
		out.Stdio.Token, err = r.bridgeToken(ctx, transport.Stdio.TokenSecretKeyRef)
	}
	if err != nil {
		return mcp.Server{}, err
	}
	out.Fingerprint = fingerprint(in.server.UID, &out)
	return out, nil
}

func era(protocol v1alpha1.Protocol) mcp.Era {
	if protocol == v1alpha1.ProtocolLegacy {
		return mcp.EraLegacy
	}
	return mcp.EraAuto
}

// endpoint resolves what a server is reached by over HTTP. Later headers replace earlier ones of the same name.
func (r *references) endpoint(ctx context.Context, url string, ca *v1alpha1.CABundleReference, headers ...[]v1alpha1.Header) (
	mcp.Endpoint, error,
) {
	out := mcp.Endpoint{URL: url, Header: http.Header{}}
	for _, some := range headers {
		if err := r.headers(ctx, some, out.Header); err != nil {
			return mcp.Endpoint{}, err
		}
	}
	if ca != nil {
		pem, err := r.certificates(ctx, ca)
		if err != nil {
			return mcp.Endpoint{}, err
		}
		out.RootCAs = pem
	}
	return out, nil
}

// minBridgeToken is how many bytes make a token that cannot be guessed.
const minBridgeToken = 32

// bridgeToken reads what a bridge was started with; like it, without one line end.
func (r *references) bridgeToken(ctx context.Context, ref *v1alpha1.SecretKeyReference) ([]byte, error) {
	token, err := r.secret(ctx, ref.Name, ref.Key)
	if err != nil {
		return nil, err
	}
	token = bytes.TrimSuffix(token, []byte("\n"))
	if len(token) < minBridgeToken {
		return nil, fmt.Errorf("%w: key %q of Secret %q holds less than %d bytes", errReference, ref.Key, ref.Name, minBridgeToken)
	}
	return token, nil
}

// headers adds to header; a session's own header replaces the definition's of the same name.
func (r *references) headers(ctx context.Context, headers []v1alpha1.Header, header http.Header) error {
	for i := range headers {
		value := headers[i].Value
		if ref := headers[i].SecretKeyRef; ref != nil {
			secret, err := r.secret(ctx, ref.Name, ref.Key)
			if err != nil {
				return err
			}
			if value = string(secret); !validHeaderValue(value) {
				return fmt.Errorf("%w: key %q of Secret %q is not a header value", errReference, ref.Key, ref.Name)
			}
		}
		header.Set(headers[i].Name, value)
	}
	return nil
}

func (r *references) certificates(ctx context.Context, ref *v1alpha1.CABundleReference) ([]byte, error) {
	read := r.configMap
	if ref.Kind == v1alpha1.CABundleSecret {
		read = r.secret
	}
	pem, err := read(ctx, ref.Name, ref.Key)
	if err != nil {
		return nil, err
	}
	if !x509.NewCertPool().AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%w: key %q of %s %q holds no certificate in PEM", errReference, ref.Key, ref.Kind, ref.Name)
	}
	return pem, nil
}

// validHeaderValue follows RFC 9110 §5.5: visible characters, space, tab and obs-text; at most 8 KiB, as servers accept.
func validHeaderValue(v string) bool {
	if len(v) == 0 || len(v) > 8<<10 {
		return false
	}
	for i := range len(v) {
		if c := v[i]; (c < ' ' && c != '\t') || c == 0x7f {
			return false
		}
	}
	return true
}

// fingerprint covers everything that a connection is made of, values of Secrets included: a rotated value replaces the
// connections that used it, and no others. Policy is not part of it. It stays in memory.
func fingerprint(uid types.UID, server *mcp.Server) string {
	h := sha256.New()
	made := *server
	made.Policy = mcp.Policy{}
	// Maps marshal with sorted keys, so equal servers have equal fingerprints.
	_ = json.NewEncoder(h).Encode(struct {
		UID    types.UID
		Server *mcp.Server
	}{uid, &made}) // a hash never fails to write, and these types always marshal
	return hex.EncodeToString(h.Sum(nil))
}
