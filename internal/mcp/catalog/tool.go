// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mooring-dev/mooring/internal/mcp/clean"
	"github.com/mooring-dev/mooring/internal/mcp/naming"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// The bounds of one tool. Beyond one of these it is left out.
const (
	MaxToolBytes   = 512 << 10 // the whole object as sent, so that it fits into a chunk
	MaxSchemaBytes = 262144    // CAT-16: the input schema as compact JSON
	maxNameUnits   = 256       // CAT-13
)

// Why a tool is left out.
const (
	droppedObject      = "it is not an object"
	droppedSize        = "it is larger than 512 KiB"
	droppedName        = "its name is not a string"
	droppedEmptyName   = "its name is empty"
	droppedPadded      = "its name begins or ends with white space"
	droppedLongName    = "its name is longer than 256 characters"
	droppedControls    = "its name contains control characters"
	droppedDescription = "its description is not a string"
	droppedLong        = "its description is longer than 16384 bytes"
	droppedNoSchema    = "it has no input schema that is an object"
	droppedRoot        = `the type of its input schema is not "object"`
	droppedSchemaSize  = "its input schema is larger than 262144 bytes"
)

// span is a part of a raw tool. The zero value is none.
type span struct{ start, end int }

func (s span) of(raw []byte) jsontext.Value { return raw[s.start:s.end:s.end] }

// fields are the parts of a tool that we act upon.
type fields struct{ name, description, schema, execution span }

// trusted reads JSON that was read strictly before.
var trusted = jsontext.AllowDuplicateNames(true)

// scan finds the fields of a well-formed tool; none in anything but an object.
func scan(raw []byte) (f fields) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw), trusted)
	if dec.PeekKind() != '{' {
		return f
	}
	_, _ = dec.ReadToken()
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return f
		}
		field := f.called(name.String())
		value, err := dec.ReadValue()
		if err != nil {
			return f
		}
		if field != nil {
			end := int(dec.InputOffset())
			*field = span{start: end - len(value), end: end}
		}
	}
	return f
}

func (f *fields) called(name string) *span {
	switch name {
	case "name":
		return &f.name
	case "description":
		return &f.description
	case "inputSchema":
		return &f.schema
	case "execution":
		return &f.execution
	}
	return nil
}

// read checks a tool, and returns what of it counts towards MaxBytes, or why it is left out.
func (b *Builder) read(sent jsontext.Value, f fields) (tool *Tool, cost int, reason string) {
	switch {
	case sent.Kind() != '{':
		return nil, 0, droppedObject
	case len(sent) > MaxToolBytes:
		return nil, 0, droppedSize
	}
	raw := bytes.Clone(sent) // a tool outlives its page
	name, reason := readName(f.name.of(raw))
	if reason != "" {
		return nil, 0, reason
	}
	description, reason := readDescription(f.description.of(raw))
	if reason != "" {
		return nil, 0, reason
	}
	schema := f.schema.of(raw)
	canonical, reason := b.canonicalSchema(schema)
	if reason != "" {
		return nil, 0, reason
	}
	params, reason := headerParams(canonical)
	if reason != "" && !b.LenientHeaders {
		return nil, 0, reason
	}
	sum := sha256.Sum256(raw)
	tool = &Tool{
		Name: name, Raw: raw, Description: clean.Description(description), InputSchema: json.RawMessage(schema),
		TaskSupport: readTaskSupport(f.execution.of(raw)), Digest: hex.EncodeToString(sum[:16]), HeaderParams: params,
		name: f.name, segment: naming.Segment(name),
	}
	tool.Signature = signature(name, description, canonical, tool.TaskSupport)
	return tool, len(name) + len(description) + len(canonical), ""
}

// readName checks a name (CAT-13). The requirements trim it, but a tool must be called by the name that its server gave it
// (CAT-04), and a padded one invites confusion: it is refused instead (DEV-25). Hence the name is also its trimmed form.
func readName(value jsontext.Value) (name, reason string) {
	name, ok := unquote(value)
	switch {
	case !ok:
		return "", droppedName
	case trim(name) == "":
		return "", droppedEmptyName
	case trim(name) != name:
		return "", droppedPadded
	case utf16Len(name) > maxNameUnits:
		return "", droppedLongName
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "", droppedControls
	}
	return name, ""
}

// readDescription checks a description (CAT-15). A null is refused as every other type: the agent is sent the same bytes,
// and would refuse the whole list for it.
func readDescription(value jsontext.Value) (description, reason string) {
	if len(value) == 0 {
		return "", ""
	}
	description, ok := unquote(value)
	switch {
	case !ok:
		return "", droppedDescription
	case len(description) > clean.DescriptionBytes:
		return "", droppedLong
	}
	return description, ""
}

// canonicalSchema returns the schema in the form that signatures are made of, valid until the next call. Its length is
// that of the compact form (CAT-16).
func (b *Builder) canonicalSchema(schema jsontext.Value) (canonical []byte, reason string) {
	if schema.Kind() != '{' {
		return nil, droppedNoSchema
	}
	b.scratch = append(b.scratch[:0], schema...)
	value := jsontext.Value(b.scratch)
	// Integers keep their digits: a bound that changes beyond 2^53 is a change.
	err := value.Canonicalize(jsontext.CanonicalizeRawInts(false))
	b.scratch = value
	switch {
	case err != nil:
		return nil, droppedNoSchema
	case len(value) > MaxSchemaBytes:
		return nil, droppedSchemaSize
	case rootType(value) != "object":
		return nil, droppedRoot
	}
	return value, ""
}

func rootType(schema []byte) string {
	kind, _ := unquote(member(schema, "type"))
	return kind
}

func readTaskSupport(execution jsontext.Value) string {
	switch support, _ := unquote(member(execution, "taskSupport")); support {
	case "required", "optional", "forbidden":
		return support
	}
	return ""
}

// signature hashes what makes a tool what it is (CAT-19): JSON in the canonical form of RFC 8785.
func signature(name, description string, canonicalSchema []byte, taskSupport string) string {
	h := sha256.New()
	h.Write([]byte(`{"description":`))
	h.Write(wire.Quote(description))
	h.Write([]byte(`,"inputSchema":`))
	h.Write(canonicalSchema)
	h.Write([]byte(`,"name":`))
	h.Write(wire.Quote(name))
	if taskSupport != "" {
		h.Write([]byte(`,"taskSupport":`))
		h.Write(wire.Quote(taskSupport))
	}
	h.Write([]byte{'}'})
	return hex.EncodeToString(h.Sum(nil))
}

// unquote reads a JSON string.
func unquote(value jsontext.Value) (string, bool) {
	if value.Kind() != '"' {
		return "", false
	}
	text, err := jsontext.AppendUnquote(nil, value)
	return string(text), err == nil
}

// member returns the value of a member of a well-formed object, or nil. It aliases the object.
func member(object []byte, name string) jsontext.Value {
	dec := jsontext.NewDecoder(bytes.NewBuffer(object), trusted)
	if dec.PeekKind() != '{' {
		return nil
	}
	_, _ = dec.ReadToken()
	for dec.PeekKind() == '"' {
		token, err := dec.ReadToken()
		if err != nil {
			return nil
		}
		if token.String() != name {
			if dec.SkipValue() != nil {
				return nil
			}
			continue
		}
		value, err := dec.ReadValue()
		if err != nil {
			return nil
		}
		return value
	}
	return nil
}

// WireAs returns the tool under another name: Raw in which only the value of "name" is replaced. The caller owns the
// result.
func (t *Tool) WireAs(name string) []byte {
	at := t.nameSpan()
	quoted := wire.Quote(name)
	b := make([]byte, 0, len(t.Raw)+len(quoted)-(at.end-at.start))
	b = append(b, t.Raw[:at.start]...)
	b = append(b, quoted...)
	return append(b, t.Raw[at.end:]...)
}

// wireLen returns len(WireAs(name)) for a name that JSON does not escape.
func (t *Tool) wireLen(name string) int {
	at := t.nameSpan()
	return len(t.Raw) - (at.end - at.start) + len(name) + len(`""`)
}

func (t *Tool) nameSpan() span {
	if t.name.end == 0 {
		return scan(t.Raw).name
	}
	return t.name
}
