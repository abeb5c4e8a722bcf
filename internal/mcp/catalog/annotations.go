// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// The bounds of a tool's annotations: what a request can carry. The specification has none.
const (
	maxHeaderParams    = 32
	maxHeaderNameBytes = 128
)

// Why a tool with annotations is left out.
const (
	droppedHeaderName  = "an x-mcp-header annotation is not the name of a header"
	droppedHeaderType  = "an x-mcp-header annotation is on a property that is no string, integer or boolean"
	droppedHeaderPlace = "an x-mcp-header annotation is not reachable by properties alone"
	droppedHeaderTwice = "two x-mcp-header annotations name the same header"
	droppedHeaderCount = "it has more than 32 x-mcp-header annotations"
)

const annotationKey = "x-mcp-header"

// headerParams reads the annotations of a canonical schema (2026-07-28 transports, "Custom Headers from Tool
// Parameters"). A reason says that one of them is invalid, and with it the tool.
func headerParams(canonical []byte) (params []HeaderParam, reason string) {
	if !bytes.Contains(canonical, []byte(`"`+annotationKey+`"`)) { // canonical strings have one spelling
		return nil, ""
	}
	a := annotations{dec: jsontext.NewDecoder(bytes.NewBuffer(canonical), trusted), seen: map[string]bool{}}
	if a.schema(true); a.reason != "" {
		return nil, a.reason
	}
	return a.params, ""
}

// annotations walks a schema. After a reason was found, it only runs out.
type annotations struct {
	dec    *jsontext.Decoder
	path   []string
	seen   map[string]bool
	params []HeaderParam
	reason string
}

func (a *annotations) refuse(reason string) {
	if a.reason == "" {
		a.reason = reason
	}
}

// schema reads a value that may hold subschemas. reachable says that only "properties" lead to it.
func (a *annotations) schema(reachable bool) {
	var header, kind jsontext.Value
	switch a.dec.PeekKind() {
	case '[':
		a.elements()
		return
	case '{':
	default:
		a.skip()
		return
	}
	a.members(func(keyword string) {
		switch keyword {
		case annotationKey:
			header = a.value()
		case "type":
			kind = a.value()
		case "default", "const", "enum", "examples": // instances, not schemas
			a.skip()
		case "properties":
			a.named(reachable)
		case "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies":
			a.named(false)
		default:
			a.schema(false)
		}
	})
	if header != nil {
		a.add(header, kind, reachable)
	}
}

// named reads an object whose names are the schema author's, not keywords.
func (a *annotations) named(reachable bool) {
	if a.dec.PeekKind() != '{' {
		a.schema(false)
		return
	}
	a.members(func(name string) {
		a.path = append(a.path, name)
		a.schema(reachable)
		a.path = a.path[:len(a.path)-1]
	})
}

func (a *annotations) members(read func(name string)) {
	_, _ = a.dec.ReadToken()
	for a.dec.PeekKind() == '"' {
		name, err := a.dec.ReadToken()
		if err != nil {
			return
		}
		read(name.String())
	}
	_, _ = a.dec.ReadToken()
}

func (a *annotations) elements() {
	_, _ = a.dec.ReadToken()
	for kind := a.dec.PeekKind(); kind != ']' && kind != 0; kind = a.dec.PeekKind() {
		a.schema(false)
	}
	_, _ = a.dec.ReadToken()
}

func (a *annotations) value() jsontext.Value {
	value, err := a.dec.ReadValue()
	if err != nil {
		return nil
	}
	return value.Clone()
}

func (a *annotations) skip() { _ = a.dec.SkipValue() }

func (a *annotations) add(header, kind jsontext.Value, reachable bool) {
	name, ok := unquote(header)
	key := strings.ToLower(name)
	switch {
	case !reachable:
		a.refuse(droppedHeaderPlace)
	case !ok || !isToken(name):
		a.refuse(droppedHeaderName)
	case !slices.Contains([]string{`"string"`, `"integer"`, `"boolean"`}, string(kind)):
		a.refuse(droppedHeaderType)
	case a.seen[key]:
		a.refuse(droppedHeaderTwice)
	case len(a.params) == maxHeaderParams:
		a.refuse(droppedHeaderCount)
	default:
		a.seen[key] = true
		a.params = append(a.params, HeaderParam{Header: name, Path: slices.Clone(a.path)})
	}
}

// isToken accepts RFC 9110's 1*tchar.
func isToken(s string) bool {
	const marks = "!#$%&'*+-.^_`|~"
	for i := range len(s) {
		c := s[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && strings.IndexByte(marks, c) < 0 {
			return false
		}
	}
	return s != "" && len(s) <= maxHeaderNameBytes
}
