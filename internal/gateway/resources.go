// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/mooring-dev/mooring/internal/mcp"
	"github.com/mooring-dev/mooring/internal/mcp/result"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// maxArtifactBytes bounds what one resources/read returns of an artifact, so that it fits a message as base64.
const maxArtifactBytes = 16 << 20

// resourcesList and templatesList have nothing to list yet: artifacts are found by the links in results.
func (x *exchange) resourcesList() *problem { return x.none("resources") }

func (x *exchange) templatesList() *problem { return x.none("resourceTemplates") }

func (x *exchange) none(member string) *problem {
	x.reply.result(x.message.ID, x.settled(wire.Object{{Name: member, Value: json.RawMessage("[]")}}))
	return nil
}

// settled adds to a result of ours what the modern era asks of one. Artifacts never change, but who may read them does.
func (x *exchange) settled(object wire.Object) []byte {
	if x.modern {
		object = append(object,
			wire.Member{Name: wire.ResultTypeField, Value: wire.Quote(wire.ResultTypeComplete)},
			wire.Member{Name: "ttlMs", Value: json.RawMessage("0")}, wire.Member{Name: "cacheScope", Value: wire.Quote("private")},
			wire.Member{Name: "_meta", Value: x.identity.meta})
	}
	return object.Raw()
}

// resourcesRead reads an artifact of the session (bridge row 5).
func (x *exchange) resourcesRead() *problem {
	uri, ok := x.params.String("uri")
	if !ok {
		return invalid(http.StatusOK, wire.CodeInvalidParams, "resources/read needs uri, a string.")
	}
	if name, sent := one(x.request.Header, wire.HeaderName); x.modern && (!sent || name != uri) {
		return mismatch("Mcp-Name must be present and equal uri in the body.")
	}
	id, ok := strings.CutPrefix(uri, result.ArtifactScheme)
	if !ok {
		return x.noResource()
	}
	artifact, err := x.opts.Runtime.Artifact(x.request.Context(), x.session.ID, id, 0, maxArtifactBytes)
	switch {
	case errors.Is(err, mcp.ErrArtifactNotFound), errors.Is(err, mcp.ErrSessionNotFound):
		return x.noResource()
	case err != nil:
		return invalid(http.StatusOK, wire.CodeInternal, "The artifact cannot be read now.")
	case artifact.Size > maxArtifactBytes:
		return invalid(http.StatusOK, wire.CodeInternal, "The artifact is larger than one message may be.")
	}
	content := wire.Object{{Name: "uri", Value: wire.Quote(uri)}, {Name: "mimeType", Value: wire.Quote(artifact.MimeType)}}
	if strings.HasPrefix(artifact.MimeType, "text/") && utf8.Valid(artifact.Data) {
		content = append(content, wire.Member{Name: "text", Value: wire.Quote(string(artifact.Data))})
	} else {
		blob := base64.StdEncoding.EncodeToString(artifact.Data)
		content = append(content, wire.Member{Name: "blob", Value: wire.Quote(blob)})
	}
	contents := append(append([]byte{'['}, content.Raw()...), ']')
	x.reply.result(x.message.ID, x.settled(wire.Object{{Name: "contents", Value: contents}}))
	return nil
}

// noResource says so in the code of the era (bridge row 16).
func (x *exchange) noResource() *problem {
	code := int64(wire.CodeResourceNotFound)
	if x.modern {
		code = wire.CodeInvalidParams
	}
	return invalid(http.StatusOK, code, "There is no such resource.")
}
