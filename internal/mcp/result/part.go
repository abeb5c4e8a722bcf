// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mooring-dev/mooring/internal/mcp/clean"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// The bounds of what names things (RES-05): code points, except a description's bytes.
const (
	maxURIRunes         = 8192
	maxNameRunes        = 256 // and MIME types
	maxDescriptionBytes = 16 << 10
)

// maxEncoded bounds the base64 of one binary, before it is decoded (RES-04).
const maxEncoded = 11184815

// binary is what a report leaves out.
type binary struct {
	kind, mimeType, uri string
	data                []byte
}

// part reads one content part (RES-02).
func (n *normalizer) part(raw json.RawMessage) error {
	o, err := wire.ParseObject(raw)
	if err != nil {
		return &LimitError{badPart}
	}
	switch kind, _ := o.String("type"); kind {
	case "text":
		text, err := n.text(o)
		if err != nil {
			return err
		}
		return n.show("", text)
	case KindImage, KindAudio:
		mimeType, err := n.identity(o, "mimeType", maxNameRunes, true)
		if err != nil {
			return err
		}
		return n.binary(o, "data", binary{kind: kind, mimeType: mimeType})
	case KindResource:
		return n.resource(o.Get("resource"))
	case "resource_link":
		return n.link(o)
	}
	return &LimitError{badPart}
}

// text returns the clean text of a part or a resource (RES-03, DEV-27).
func (n *normalizer) text(o wire.Object) (string, error) {
	text, ok := o.String("text")
	switch {
	case !ok:
		return "", &LimitError{badText}
	case len(text) > MaxTextBytes:
		return "", &LimitError{longText}
	case n.metadata.TextBytes+len(text) > MaxTextsBytes:
		return "", &LimitError{longTexts}
	}
	n.metadata.TextBytes += len(text)
	return n.clean(text), nil
}

// clean strips, counts and redacts, in this order: what is stripped may have kept apart what is redacted (DEV-24).
func (n *normalizer) clean(text string) string {
	seen := clean.Multiline(text, len(text))
	n.stripped += utf8.RuneCountInString(text) - utf8.RuneCountInString(seen) - strings.Count(text, "\r\n")
	return n.redact.RedactString(seen)
}

// resource reads an embedded resource: a text with a header, or a binary (RES-08).
func (n *normalizer) resource(raw json.RawMessage) error {
	o, err := wire.ParseObject(raw)
	if err != nil {
		return &LimitError{badPart}
	}
	uri, err := n.identity(o, "uri", maxURIRunes, true)
	if err != nil {
		return err
	}
	mimeType, err := n.identity(o, "mimeType", maxNameRunes, false)
	if err != nil {
		return err
	}
	if o.Get("text") == nil {
		return n.binary(o, "blob", binary{kind: KindResource, mimeType: mimeType, uri: uri})
	}
	text, err := n.text(o)
	if err != nil {
		return err
	}
	return n.show("[resource "+clean.Quote(uri)+field("type", mimeType)+"]\n", text)
}

// link writes a resource link as one line.
func (n *normalizer) link(o wire.Object) error {
	uri, err := n.identity(o, "uri", maxURIRunes, true)
	if err != nil {
		return err
	}
	name, err := n.identity(o, "name", maxNameRunes, true)
	if err != nil {
		return err
	}
	mimeType, err := n.identity(o, "mimeType", maxNameRunes, false)
	if err != nil {
		return err
	}
	description, _ := o.String("description")
	if len(description) > maxDescriptionBytes {
		return &LimitError{longDescription}
	}
	description = n.redact.RedactString(oneLine(description))
	return n.show("", "[resource link "+clean.Quote(uri)+field("name", name)+field("type", mimeType)+field("description", description)+"]")
}

// identity returns a URI, a name or a MIME type, trimmed (RES-05).
func (n *normalizer) identity(o wire.Object, name string, maxRunes int, required bool) (string, error) {
	if o.Get(name) == nil && !required {
		return "", nil
	}
	s, _ := o.String(name)
	if utf8.RuneCountInString(s) > maxRunes {
		return "", &LimitError{badIdentity}
	}
	if s = strings.TrimSpace(oneLine(s)); s == "" {
		return "", &LimitError{badIdentity}
	}
	return n.redact.RedactString(s), nil
}

// binary reads the base64 that is the member called name (RES-04).
func (n *normalizer) binary(o wire.Object, name string, b binary) error {
	encoded, ok := o.String(name)
	switch {
	case !ok, strings.ContainsAny(encoded, "\r\n"): // the decoder would skip line ends
		return &LimitError{badBinary}
	case len(encoded) > maxEncoded:
		return &LimitError{longBinary}
	}
	data, err := base64.StdEncoding.Strict().DecodeString(encoded)
	switch {
	case err != nil:
		return &LimitError{badBinary}
	case len(data) > MaxBinaryBytes:
		return &LimitError{longBinary}
	case n.binaries+len(data) > MaxBinariesBytes:
		return &LimitError{longBinaries}
	}
	n.binaries += len(data)
	n.metadata.BinaryOmitted = n.binaries > 0
	b.data = n.redact.Redact(data)
	n.pieces = append(n.pieces, piece{binary: &b})
	return nil
}

// keep stores a binary, or does not, and returns the line that describes it (RES-08, RES-13).
func (n *normalizer) keep(ctx context.Context, store Store, b *binary) string {
	digest := sha256.Sum256(b.data)
	a := Artifact{
		ID: hex.EncodeToString(digest[:]), Kind: b.kind, Size: int64(len(b.data)),
		MimeType: b.mimeType, SourceURI: b.uri,
	}
	a.SHA256 = a.ID
	a.Persisted = put(ctx, store, a.ID, b.data, b.mimeType)
	n.metadata.Artifacts = append(n.metadata.Artifacts, a)
	line := fmt.Sprintf("[%s, %d bytes, sha256 %s", a.Kind, a.Size, a.SHA256) + field("type", a.MimeType) + field("source", a.SourceURI)
	if a.Persisted {
		return line + ", artifact " + a.ID + "]"
	}
	return line + ", content omitted]"
}

// put reports whether store holds data. A store that answers with another id holds something else.
func put(ctx context.Context, store Store, id string, data []byte, mimeType string) bool {
	if store == nil || len(data) == 0 {
		return false
	}
	stored, err := store.Put(ctx, data, mimeType)
	return err == nil && stored == id
}

func field(name, value string) string {
	if value == "" {
		return ""
	}
	return ", " + name + " " + clean.Quote(value)
}
