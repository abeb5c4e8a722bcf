// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/mooring-dev/mooring/internal/mcp/clean"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// The hard limits of a report (RES-02 to RES-07). Beyond one of them there is none (RES-10).
const (
	MaxParts           = 64
	MaxTextBytes       = 1 << 20 // one text
	MaxTextsBytes      = 4 << 20 // all texts
	MaxBinaryBytes     = 8 << 20 // one binary, decoded
	MaxBinariesBytes   = 16 << 20
	MaxStructuredBytes = 4 << 20 // with indentation
	MaxReportBytes     = 4 << 20
)

// InlineBytes is the longest text that a report holds whole. Of a longer one it holds the first HeadBytes and the last
// TailBytes (RES-09).
const (
	InlineBytes = 102400
	HeadBytes   = 8192
	TailBytes   = 2048
)

const (
	noContent      = "The tool returned no content."
	noErrorText    = "The tool reported an error without saying more."
	structuredMark = "[structured content]\n"
	failedMark     = "Execution failed: "
)

// Store keeps the bytes that a report or a message leaves out.
type Store interface {
	// Put stores data, which it must not change or keep, and returns its id: the SHA-256 of data in hexadecimal digits.
	// Storing the same twice is no error. It returns when ctx ends.
	Put(ctx context.Context, data []byte, mimeType string) (id string, err error)
}

// Options say how a report is made. The zero value stores and redacts nothing.
type Options struct {
	// Store may be nil.
	Store Store
	// Redact holds values that nobody may see, such as a server's id of a task. They are taken out before anything is
	// stored (DEV-34).
	Redact clean.Secrets
}

// Projected is the report of a result.
type Projected struct {
	// Text is clean. It is at most InlineBytes long, or a notice with a preview of about 10 KiB; of a failure it is
	// redacted, and at most clean.ToolErrorBytes long (RES-14).
	Text     string
	Metadata Metadata
	// Stripped counts the characters that were taken out of texts, because nobody can see them (DEV-26, DEV-27).
	Stripped int
}

// Normalize reports on the result of tools/call. Its error is ErrMalformed or a *LimitError. That something cannot be
// stored is no error: Metadata says so (RES-13).
func Normalize(ctx context.Context, raw json.RawMessage, opts Options) (*Projected, error) {
	n := normalizer{redact: opts.Redact}
	if err := n.read(raw); err != nil {
		return nil, err
	}
	return n.project(ctx, opts.Store), nil
}

// Failure reports on a call that has no result (RES-14). The message is foreign text, or empty.
func Failure(message string) *Projected {
	text := clean.ToolError(message)
	if strings.TrimSpace(text) == "" {
		text = "no reason was given"
	}
	return &Projected{Text: clean.ToolError(failedMark + text), Metadata: Metadata{IsError: true, Artifacts: []Artifact{}}}
}

// normalizer reads a result into pieces.
type normalizer struct {
	redact clean.Secrets
	// lenient leaves out a part that breaks a limit.
	lenient bool

	pieces   []piece
	binaries int // bytes
	shown    int // bytes of pieces, without what we say of them
	stripped int
	omitted  int // parts that were left out
	metadata Metadata
}

// piece is a part of the report's text: text, or a line about a binary.
type piece struct {
	text   string
	binary *binary
}

// read checks every limit, and stores nothing.
func (n *normalizer) read(raw json.RawMessage) error {
	object, err := wire.ParseObject(raw)
	if err != nil {
		return ErrMalformed
	}
	n.metadata = Metadata{IsError: isTrue(object, "isError"), Artifacts: []Artifact{}}
	content, structured := object.Get("content"), object.Get("structuredContent")
	if string(structured) == "null" {
		structured = nil
	}
	var parts []json.RawMessage
	if len(content) == 0 || content[0] != '[' || json.Unmarshal(content, &parts) != nil {
		if !n.lenient || structured == nil {
			return ErrMalformed
		}
	}
	n.metadata.ContentCount = len(parts)
	if err := n.parts(parts); err != nil {
		return err
	}
	if structured == nil {
		return nil
	}
	return n.orOmit(n.structured(structured), structuredMark+"[omitted: ")
}

func (n *normalizer) parts(parts []json.RawMessage) error {
	for i, raw := range parts {
		if i == MaxParts {
			return n.orOmit(&LimitError{tooManyParts}, "[the other parts omitted: ")
		}
		if err := n.orOmit(n.part(raw), "[part omitted: "); err != nil {
			return err
		}
	}
	return nil
}

// orOmit returns err, or when lenient says that something was left out because of it.
func (n *normalizer) orOmit(err error, notice string) error {
	limit, ok := err.(*LimitError) //nolint:errorlint // this package made it
	if err == nil || !ok || !n.lenient {
		return err
	}
	n.omitted++
	n.pieces = append(n.pieces, piece{text: notice + limit.What + "]"})
	return nil
}

// show adds a text to the report. before is ours and does not count (DEV-28).
func (n *normalizer) show(before, text string) error {
	if n.shown+len(text) > MaxReportBytes {
		return &LimitError{longReport}
	}
	n.shown += len(text)
	n.pieces = append(n.pieces, piece{text: before + text})
	return nil
}

func (n *normalizer) structured(raw json.RawMessage) error {
	if raw[0] != '{' {
		return &LimitError{badStructured}
	}
	text, ok := indent(raw, MaxStructuredBytes)
	if !ok {
		return &LimitError{longStructured}
	}
	n.metadata.StructuredBytes = len(raw)
	return n.show(structuredMark, n.clean(text))
}

// project stores what is to be stored, and writes the text.
func (n *normalizer) project(ctx context.Context, store Store) *Projected {
	lines := make([]string, 0, len(n.pieces))
	for i := range n.pieces {
		p := &n.pieces[i]
		if p.binary != nil {
			p.text = n.keep(ctx, store, p.binary)
		}
		if p.text != "" {
			lines = append(lines, p.text)
		}
	}
	text := strings.Join(lines, "\n\n")
	switch m := &n.metadata; {
	case m.IsError:
		// A failure is shown redacted, and its full text, which is not, is not stored.
		m.Truncated = len(text) > clean.ToolErrorBytes
		if text = clean.ToolError(text); strings.TrimSpace(text) == "" {
			text = noErrorText
		}
	case text == "":
		text = noContent
	case len(text) > InlineBytes:
		m.Truncated = true
		head, tail := ends(text)
		line := n.keep(ctx, store, &binary{kind: KindText, mimeType: "text/plain", data: []byte(text)})
		text = notice(len(text)) + line + "\n\n" + head + gap + tail
	}
	n.metadata.ArtifactCount = len(n.metadata.Artifacts)
	return &Projected{Text: text, Metadata: n.metadata, Stripped: n.stripped}
}
