// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/mcp"
)

// objects is a fake of the uncached reader: Secrets and ConfigMaps of namespace "ns", by kind/name and key.
type objects struct {
	client.Reader

	data map[string]map[string]string
	err  error
	read []string
}

func (o *objects) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	kind := "Secret"
	if _, ok := into.(*corev1.ConfigMap); ok {
		kind = "ConfigMap"
	}
	o.read = append(o.read, kind+"/"+key.Name)
	if o.err != nil {
		return o.err
	}
	data, ok := o.data[kind+"/"+key.Name]
	if !ok || key.Namespace != "ns" {
		return apierrors.NewNotFound(schema.GroupResource{Resource: kind}, key.Name)
	}
	switch object := into.(type) {
	case *corev1.ConfigMap:
		object.Data = data
	case *corev1.Secret:
		object.Data = map[string][]byte{}
		for k, v := range data {
			object.Data[k] = []byte(v)
		}
	}
	return nil
}

func fromSecret(header, name, key string) v1alpha1.Header {
	return v1alpha1.Header{Name: header, SecretKeyRef: &v1alpha1.SecretKeyReference{Name: name, Key: key}}
}

// wired is a server with something of everything that a connection is made of, and what it refers to.
func wired() (resolved, *objects) {
	server := httpServer("a")
	server.Spec.Transport.StreamableHTTP.Headers = []v1alpha1.Header{
		{Name: "X-Team", Value: "blue"}, fromSecret("authorization", "shared", "token"),
	}
	server.Spec.Transport.StreamableHTTP.CABundle = &v1alpha1.CABundleReference{Kind: v1alpha1.CABundleConfigMap, Name: "ca", Key: "ca.crt"}
	server.Spec.Calls = &v1alpha1.CallPolicy{TotalTimeoutSeconds: 20, IdleTimeoutSeconds: 10}
	return resolved{name: "a", server: &server}, &objects{data: map[string]map[string]string{
		"Secret/shared": {"token": "Bearer one", "other": "x"}, "Secret/own": {"token": "Bearer mine"},
		"ConfigMap/ca": {"ca.crt": authority}, "Secret/ca": {"ca.crt": authority},
	}}
}

var authority, otherAuthority = newAuthority(), newAuthority()

func newAuthority() string {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func desire(t *testing.T, in resolved, o *objects) mcp.Server {
	t.Helper()
	got, err := newReferences(o, "ns").server(t.Context(), &in)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestDesiredServer(t *testing.T) {
	in, o := wired()
	got := desire(t, in, o)
	want := mcp.Server{Name: "a", Fingerprint: got.Fingerprint, Transport: mcp.TransportHTTP, HTTP: mcp.Endpoint{
		URL: "https://a.example/mcp", Era: mcp.EraAuto, RootCAs: []byte(authority),
		Header: map[string][]string{"X-Team": {"blue"}, "Authorization": {"Bearer one"}},
	}, Policy: mcp.Policy{Calls: mcp.CallLimits{Total: 20 * time.Second, Idle: 10 * time.Second}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got.Fingerprint == "" || strings.Contains(got.Fingerprint, "one") {
		t.Errorf("fingerprint %q", got.Fingerprint)
	}
}

func TestSessionHeaderReplacesDefinitions(t *testing.T) {
	in, o := wired()
	in.headers = []v1alpha1.Header{fromSecret("AUTHORIZATION", "own", "token"), {Name: "X-Session", Value: "s"}}
	want := map[string][]string{"X-Team": {"blue"}, "Authorization": {"Bearer mine"}, "X-Session": {"s"}}
	if diff := cmp.Diff(want, map[string][]string(desire(t, in, o).HTTP.Header)); diff != "" {
		t.Error(diff)
	}
}

// A connection is replaced for a change of what it is made of, and for nothing else.
func TestFingerprint(t *testing.T) {
	rows := map[string]struct {
		change   func(*resolved, *objects)
		replaces bool
	}{
		"nothing": {func(*resolved, *objects) {}, false},
		"name":    {func(r *resolved, _ *objects) { r.name = "b" }, true},
		"UID":     {func(r *resolved, _ *objects) { r.server.UID = "another" }, true},
		"URL":     {func(r *resolved, _ *objects) { r.server.Spec.Transport.StreamableHTTP.URL += "/v2" }, true},
		"protocol": {func(r *resolved, _ *objects) {
			r.server.Spec.Transport.StreamableHTTP.Protocol = v1alpha1.ProtocolLegacy
		}, true},
		"protocol Auto": {func(r *resolved, _ *objects) { r.server.Spec.Transport.StreamableHTTP.Protocol = v1alpha1.ProtocolAuto }, false},
		"header value":  {func(r *resolved, _ *objects) { r.server.Spec.Transport.StreamableHTTP.Headers[0].Value = "red" }, true},
		"header name":   {func(r *resolved, _ *objects) { r.server.Spec.Transport.StreamableHTTP.Headers[0].Name = "X-Crew" }, true},
		"header case":   {func(r *resolved, _ *objects) { r.server.Spec.Transport.StreamableHTTP.Headers[0].Name = "x-team" }, false},
		"no CA":         {func(r *resolved, _ *objects) { r.server.Spec.Transport.StreamableHTTP.CABundle = nil }, true},
		"CA in a Secret": {func(r *resolved, _ *objects) {
			r.server.Spec.Transport.StreamableHTTP.CABundle.Kind = v1alpha1.CABundleSecret
		}, false},
		"CA rotated":       {func(_ *resolved, o *objects) { o.data["ConfigMap/ca"]["ca.crt"] = otherAuthority }, true},
		"Secret rotated":   {func(_ *resolved, o *objects) { o.data["Secret/shared"]["token"] = "Bearer two" }, true},
		"another key":      {func(_ *resolved, o *objects) { o.data["Secret/shared"]["other"] = "y" }, false},
		"a session header": {func(r *resolved, _ *objects) { r.headers = []v1alpha1.Header{{Name: "X-S", Value: "1"}} }, true},
		"total timeout":    {func(r *resolved, _ *objects) { r.server.Spec.Calls.TotalTimeoutSeconds++ }, false},
		"idle timeout":     {func(r *resolved, _ *objects) { r.server.Spec.Calls.IdleTimeoutSeconds++ }, false},
		"recovery": {func(r *resolved, _ *objects) {
			r.server.Spec.Recovery = &v1alpha1.RecoveryPolicy{MaxAttempts: new(int32)}
		}, false},
		"labels": {func(r *resolved, _ *objects) {
			r.server.Labels = map[string]string{"a": "b"}
			r.server.ResourceVersion, r.server.Generation = "9", 9
			r.server.Annotations = map[string]string{"a": "b"}
		}, false},
		"status":   {func(r *resolved, _ *objects) { r.server.Status.Sessions = 7 }, false},
		"layer":    {func(r *resolved, _ *objects) { r.layer = v1alpha1.LayerOverride }, false},
		"required": {func(r *resolved, _ *objects) { r.required = true }, false},
	}
	in, o := wired()
	before := desire(t, in, o).Fingerprint
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			in, o := wired()
			row.change(&in, o)
			if got := desire(t, in, o).Fingerprint != before; got != row.replaces {
				t.Errorf("replaces the connection: %v, want %v", got, row.replaces)
			}
		})
	}
}

func TestUnresolvedReferences(t *testing.T) {
	for name, row := range map[string]struct {
		change func(*resolved, *objects)
		want   string
	}{
		"no Secret":         {func(_ *resolved, o *objects) { delete(o.data, "Secret/shared") }, `there is no Secret "shared" with key "token"`},
		"no key":            {func(_ *resolved, o *objects) { delete(o.data["Secret/shared"], "token") }, `there is no Secret "shared" with key "token"`},
		"no ConfigMap":      {func(_ *resolved, o *objects) { delete(o.data, "ConfigMap/ca") }, `there is no ConfigMap "ca" with key "ca.crt"`},
		"no certificate":    {func(_ *resolved, o *objects) { o.data["ConfigMap/ca"]["ca.crt"] = "s3cret" }, "holds no certificate in PEM"},
		"empty value":       {func(_ *resolved, o *objects) { o.data["Secret/shared"]["token"] = "" }, "is not a header value"},
		"a line's end":      {func(_ *resolved, o *objects) { o.data["Secret/shared"]["token"] = "s3cret\n" }, "is not a header value"},
		"a header smuggled": {func(_ *resolved, o *objects) { o.data["Secret/shared"]["token"] = "s3cret\r\nX-Admin: 1" }, "is not a header value"},
		"NUL":               {func(_ *resolved, o *objects) { o.data["Secret/shared"]["token"] = "s3cret\x00" }, "is not a header value"},
		"DEL":               {func(_ *resolved, o *objects) { o.data["Secret/shared"]["token"] = "s3cret\x7f" }, "is not a header value"},
		"too long":          {func(_ *resolved, o *objects) { o.data["Secret/shared"]["token"] = strings.Repeat("s3cret", 2<<10) }, "is not a header value"},
		"session's Secret":  {func(r *resolved, _ *objects) { r.headers = []v1alpha1.Header{fromSecret("X", "gone", "k")} }, `there is no Secret "gone" with key "k"`},
	} {
		t.Run(name, func(t *testing.T) {
			in, o := wired()
			row.change(&in, o)
			refs := newReferences(o, "ns")
			_, err := refs.server(t.Context(), &in)
			if !errors.Is(err, errReference) {
				t.Fatalf("%v, want one that the user can mend", err)
			}
			if !strings.Contains(err.Error(), row.want) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%q, want %q and no value", err, row.want)
			}
			if !refs.used {
				t.Error("nobody would look whether it has been mended")
			}
		})
	}
	for _, value := range []string{"a", "Bearer a b", "\ttab", "obs-text \xfc", strings.Repeat("x", 8<<10)} {
		if !validHeaderValue(value) {
			t.Errorf("%.20q is refused", value)
		}
	}
}

// What the API server cannot answer is no verdict over the reference.
func TestReferencesReportTheAPIServersErrors(t *testing.T) {
	in, o := wired()
	o.err = apierrors.NewServiceUnavailable("down")
	_, err := newReferences(o, "ns").server(t.Context(), &in)
	if err == nil || errors.Is(err, errReference) {
		t.Errorf("%v, want the API server's error", err)
	}
}

// An object is read once a reconcile, however often it is named; a definition without references reads nothing.
func TestReferencesReadOnce(t *testing.T) {
	in, o := wired()
	in.headers = []v1alpha1.Header{fromSecret("X-A", "shared", "other"), fromSecret("X-B", "shared", "other")}
	refs := newReferences(o, "ns")
	for range 2 {
		if _, err := refs.server(t.Context(), &in); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"Secret/shared", "ConfigMap/ca"}, o.read); diff != "" {
		t.Error(diff)
	}
	plain := httpServer("plain")
	refs = newReferences(&objects{}, "ns")
	if _, err := refs.server(t.Context(), &resolved{name: "plain", server: &plain}); err != nil || refs.used {
		t.Errorf("%v, and read something: %v", err, refs.used)
	}
}

func TestSeconds(t *testing.T) {
	// What is computed must equal what the API server gives back.
	at := time.Date(2026, 8, 1, 12, 0, 0, 123456789, time.FixedZone("x", 3600))
	data, err := seconds(at).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var back metav1.Time
	if err := back.UnmarshalJSON(data); err != nil || !back.Equal(seconds(at)) {
		t.Errorf("%v, %v is read back as %v", err, seconds(at), back)
	}
}
