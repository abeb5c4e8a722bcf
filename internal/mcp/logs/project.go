// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mooring-dev/mooring/internal/mcp/clean"
)

// The bounds of a projection (LOG-10 to LOG-12).
const (
	maxDepth       = 6 // arrays and objects inside each other
	maxNodes       = 128
	maxItems       = 64
	maxKeys        = 64
	maxKeyBytes    = 128
	maxStringBytes = 16384 // together
	maxNumberBytes = 64
)

// What stands for what is left out.
const (
	omitted  = "[omitted]"
	redacted = "[redacted]"
)

// private are the parts of members' names, in small letters, whose values are never shown (LOG-11).
var private = []string{
	"authorization", "apikey", "api-key", "api_key", "cookie", "credential", "password", "secret", "token",
}

// maxSearchedKey bounds the name that is searched for these; the value of a longer one is not shown.
const maxSearchedKey = 1024

func isPrivate(name string) bool {
	if name == "_meta" || len(name) > maxSearchedKey {
		return true
	}
	small := strings.ToLower(clean.Normal(name, 2*maxSearchedKey))
	return slices.ContainsFunc(private, func(part string) bool { return strings.Contains(small, part) })
}

// project returns the text of a message's data: a string as it is, everything else as JSON. The data was read strictly
// before, as a part of its message. JSON holds neither cycles nor values of other kinds.
func project(data json.RawMessage) (text string, truncated bool) {
	p := projector{
		dec:   jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true)),
		nodes: maxNodes, bytes: maxStringBytes,
	}
	switch p.dec.PeekKind() {
	case 0: // no data
		return "", false
	case '"':
		return p.text(), p.truncated
	}
	p.value(0)
	return string(p.out), p.truncated
}

// projector writes a bounded copy of a value. After its nodes are used up it reads no further, and only closes what is
// open.
type projector struct {
	dec          *jsontext.Decoder
	out          []byte
	nodes, bytes int
	truncated    bool
	// stopped says that the nodes ran out inside of an array or object: nothing is read any more.
	stopped bool
}

func (p *projector) value(depth int) {
	p.nodes--
	switch kind := p.dec.PeekKind(); kind {
	case '{', '[':
		if depth == maxDepth {
			p.omit()
			return
		}
		_, _ = p.dec.ReadToken()
		if kind == '{' {
			p.members(depth + 1)
		} else {
			p.elements(depth + 1)
		}
	case '"':
		p.quote(p.text())
	default: // a number or a literal
		raw, err := p.dec.ReadValue()
		if err != nil || len(raw) > maxNumberBytes {
			p.mark()
			return
		}
		p.out = append(p.out, raw...)
	}
}

func (p *projector) members(depth int) {
	p.out = append(p.out, '{')
	for n := 0; !p.stopped && p.dec.PeekKind() == '"'; n++ {
		if n > 0 {
			p.out = append(p.out, ',')
		}
		if n == maxKeys || p.nodes == 0 {
			p.quote(omitted)
			p.out = append(p.out, ':')
			p.mark()
			break
		}
		p.member(depth)
	}
	p.out = append(p.out, '}')
	p.leave()
}

func (p *projector) member(depth int) {
	raw, _ := p.dec.ReadValue()
	name := unquote(raw)
	p.truncated = p.truncated || len(name) > maxKeyBytes
	p.quote(clean.Text(clean.RedactWithin(name, 2*maxKeyBytes), maxKeyBytes))
	p.out = append(p.out, ':')
	if isPrivate(name) {
		p.nodes--
		_ = p.dec.SkipValue()
		p.quote(redacted)
		return
	}
	p.value(depth)
}

func (p *projector) elements(depth int) {
	p.out = append(p.out, '[')
	for n := 0; !p.stopped && p.more(); n++ {
		if n > 0 {
			p.out = append(p.out, ',')
		}
		if n == maxItems || p.nodes == 0 {
			p.mark()
			break
		}
		p.value(depth)
	}
	p.out = append(p.out, ']')
	p.leave()
}

// leave reads to the end of the array or object that was written, unless nothing more is written anyway.
func (p *projector) leave() {
	for !p.stopped && p.more() {
		if p.stopped = p.nodes == 0 || p.dec.SkipValue() != nil; p.stopped {
			return
		}
	}
	if !p.stopped {
		_, _ = p.dec.ReadToken()
	}
}

// more reports whether another value follows in the array or object.
func (p *projector) more() bool {
	kind := p.dec.PeekKind()
	return kind != ']' && kind != '}' && kind != 0
}

// text reads a string and cleans it, within what strings have left together. A string whose beginning does not fit is cut
// between words.
func (p *projector) text() string {
	raw, err := p.dec.ReadValue()
	if err != nil {
		return ""
	}
	s := unquote(raw)
	p.truncated = p.truncated || len(s) > p.bytes
	text := clean.RedactWithin(s, p.bytes)
	p.bytes -= max(len(text), min(len(s), p.bytes)) // what was read is work, whatever is left of it
	return text
}

func (p *projector) omit() {
	_ = p.dec.SkipValue()
	p.mark()
}

func (p *projector) mark() {
	p.truncated = true
	p.quote(omitted)
}

func (p *projector) quote(s string) {
	p.out, _ = jsontext.AppendQuote(p.out, strings.ToValidUTF8(s, "\ufffd"))
}

func unquote(raw jsontext.Value) string {
	b, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		return ""
	}
	return string(b)
}
