// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/mooring-dev/mooring/internal/mcp/clean"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// The bounds of what is reported (CNT-21 to CNT-24, CNT-31). Beyond one of these there is no report.
const (
	MaxParts       = 64
	MaxTextBytes   = 1 << 20 // one text
	MaxResultBytes = 4 << 20 // texts and decoded binaries together, and the report as compact JSON before it is cleaned
)

// What a ResultError says.
const (
	refusedResult = "it is not a well-formed JSON object"
	refusedParts  = "it has more than 64 parts"
	refusedPart   = "a part is not an object with a text or a blob"
	refusedText   = "a text is larger than 1 MiB"
	refusedBase64 = "a binary is not standard base64"
	refusedTotal  = "its texts and binaries are larger than 4 MiB"
	refusedReport = "its report is larger than 4 MiB"
)

// Read is the report of resources/read.
type Read struct {
	Contents []Part `json:"contents"`
	// Stripped counts the characters that were taken out of texts, because nobody can see them (DEV-26, DEV-27).
	Stripped int `json:"stripped,omitempty"`
}

// Part is one text or one binary.
type Part struct {
	URI      string `json:"uri,omitempty"`
	MimeType string `json:"mimeType,omitempty"`
	// Text is cleaned, <= MaxTextBytes. It is empty beside a Blob.
	Text string `json:"text,omitempty"`
	// Blob stands for bytes that are not reported; nil when there are none.
	Blob *Blob `json:"blob,omitempty"`
}

// Blob says of a binary what may be reported (CNT-24).
type Blob struct {
	// Size in bytes, decoded.
	Size int64 `json:"size"`
	// SHA256 of the decoded bytes, hex.
	SHA256  string `json:"sha256"`
	Omitted bool   `json:"omitted"`
}

// ReadReport reports on the result of resources/read. Its error is a *ResultError.
func ReadReport(raw json.RawMessage) (*Read, error) {
	object, err := wire.ParseObject(raw)
	if err != nil {
		return nil, &ResultError{refusedResult}
	}
	report := &Read{Contents: []Part{}}
	m := meter{json: len(`{"contents":[]}`)}
	err = elements(object.Get("contents"), func(raw json.RawMessage) error {
		if len(report.Contents) == MaxParts {
			return &ResultError{refusedParts}
		}
		part, size, err := m.contents(raw)
		if err != nil {
			return err
		}
		report.Contents = append(report.Contents, part)
		return m.add(size + len(","))
	})
	if err != nil && !errors.Is(err, errNoArray) { // no array is an empty result (CNT-21)
		return nil, err
	}
	report.Stripped = m.stripped
	return report, nil
}

// CheckRead says whether ReadReport can report on a result. Its error is a *ResultError.
func CheckRead(raw json.RawMessage) error {
	_, err := ReadReport(raw)
	return err
}

// meter adds up what a result holds.
type meter struct{ content, json, stripped int }

// add counts bytes of the report.
func (m *meter) add(size int) error {
	if m.json += size; m.json > MaxResultBytes {
		return &ResultError{refusedReport}
	}
	return nil
}

// contents reads the contents of a resource, and returns the length of their normal form. A text wins over a blob
// (CNT-23).
func (m *meter) contents(raw json.RawMessage) (part Part, size int, err error) {
	object, err := wire.ParseObject(raw)
	if err != nil {
		return part, 0, &ResultError{refusedPart}
	}
	r := reader{object: object}
	part.URI = r.identity("uri", MaxURIRunes)
	part.URI = clean.Text(part.URI, len(part.URI))
	if _, ok := object.String("text"); ok {
		err = m.text(&r, &part)
	} else {
		err = m.binary(&r, "blob", &part)
	}
	return part, length(r.normal), err
}

// text reads the text of a part.
func (m *meter) text(r *reader, part *Part) error {
	text, ok := r.object.String("text")
	switch {
	case !ok:
		return &ResultError{refusedPart}
	case len(text) > MaxTextBytes:
		return &ResultError{refusedText}
	}
	r.keep("text", wire.Quote(text))
	part.Text = clean.Multiline(text, len(text))
	m.stripped += utf8.RuneCountInString(text) - utf8.RuneCountInString(part.Text) - strings.Count(text, "\r\n")
	return m.finish(r, part, len(text))
}

// binary reads the binary of a part, which is the member called name.
func (m *meter) binary(r *reader, name string, part *Part) error {
	encoded, ok := r.object.String(name)
	if !ok {
		return &ResultError{refusedPart}
	}
	if len(encoded) > base64.StdEncoding.EncodedLen(MaxResultBytes) {
		return &ResultError{refusedTotal}
	}
	if part.Blob = decode(encoded); part.Blob == nil {
		return &ResultError{refusedBase64}
	}
	blob, err := json.Marshal(part.Blob)
	if err != nil {
		return err
	}
	r.keep(name, blob)
	return m.finish(r, part, int(part.Blob.Size))
}

// finish reads what all parts have, and counts bytes of content.
func (m *meter) finish(r *reader, part *Part, size int) error {
	part.MimeType = r.label("mimeType")
	if r.refused != "" {
		return &ResultError{r.refused}
	}
	if m.content += size; m.content > MaxResultBytes {
		return &ResultError{refusedTotal}
	}
	return nil
}

// decode reads standard base64 with its padding, and nothing beside it; nil when it is something else (CNT-24).
func decode(encoded string) *Blob {
	if len(encoded)%4 != 0 || strings.ContainsAny(encoded, "\r\n") { // the decoder would skip line ends
		return nil
	}
	digest := sha256.New()
	size, err := io.Copy(digest, base64.NewDecoder(base64.StdEncoding, strings.NewReader(encoded)))
	if err != nil {
		return nil
	}
	return &Blob{Size: size, SHA256: hex.EncodeToString(digest.Sum(nil)), Omitted: true}
}

// length returns len(object.Raw()), for names that JSON does not escape.
func length(object wire.Object) int {
	size := len("{}") + max(0, len(object)-1)
	for _, m := range object {
		size += len(m.Name) + len(`"":`) + len(m.Value)
	}
	return size
}
