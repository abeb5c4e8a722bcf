// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// The bounds of what is checked. What is beyond them is Unchecked.
const (
	maxSchemaBytes = 64 << 10
	maxSchemas     = 2048 // objects in a schema
	maxSchemaDepth = 64
	maxValueDepth  = 256
)

// Verdict says how structured content compares with the schema that was advertised for it (CON-20).
type Verdict string

// The verdicts. None of them changes what the agent gets (bridge row 2).
const (
	Matches Verdict = "Matches"
	// Missing: the result has no structured content.
	Missing Verdict = "Missing"
	// Mismatch: the structured content does not validate.
	Mismatch Verdict = "Mismatch"
	// Unchecked: the schema cannot be used, or the check would take too long.
	Unchecked Verdict = "Unchecked"
)

var errUnchecked = errors.New("not checked")

// Schema is a tool's output schema: JSON Schema 2020-12, or what its $schema names. References do not leave it. It is
// compiled at its first use; whoever keeps the tool keeps its Schema. Formats are annotations and are not checked.
type Schema struct {
	raw json.RawMessage
	// busy holds one token: the meter counts for one check at a time.
	busy     chan struct{}
	compiled bool // under busy, as all that follows
	inverse  *jsonschema.Schema
	meter    meter
}

// NewSchema returns a schema that is not compiled yet. It keeps raw, which must not change.
func NewSchema(raw json.RawMessage) *Schema { return &Schema{raw: raw, busy: make(chan struct{}, 1)} }

// CheckOutput compares the structured content of a result with the schema of its tool. A failure needs none (CON-20). It
// takes at most about half a second, and returns when ctx ends. raw must be what wire.Parse accepted.
func CheckOutput(ctx context.Context, schema *Schema, raw json.RawMessage) Verdict {
	object, err := wire.ParseObject(raw)
	if err != nil {
		return Unchecked
	}
	if isTrue(object, "isError") {
		return Matches
	}
	structured := object.Get("structuredContent")
	if structured == nil {
		return Missing
	}
	if len(structured) > MaxStructuredBytes {
		return Unchecked
	}
	return schema.check(ctx, structured)
}

func (s *Schema) check(ctx context.Context, structured json.RawMessage) (verdict Verdict) {
	value, ok := decode(structured, maxValueDepth)
	if !ok {
		return Unchecked
	}
	select {
	case s.busy <- struct{}{}:
	case <-ctx.Done():
		return Unchecked
	}
	defer func() { <-s.busy }()
	if !s.compiled {
		s.compiled = true
		s.inverse = compile(s.raw, &s.meter)
	}
	if s.inverse == nil {
		return Unchecked
	}
	defer func() {
		if r := recover(); r != nil {
			verdict = Unchecked // the meter's way out, or a fault of the library's
		}
	}()
	s.meter.start(ctx)
	if s.inverse.Validate(value) == nil {
		return Mismatch
	}
	return Matches
}

const (
	schemaURL  = "urn:mooring:schema"
	inverseURL = "urn:mooring:inverse"
)

// compile returns a schema that validates what raw does not, or nil when raw cannot be used. Below "not", validation ends
// at the first difference: otherwise every element of a long array would leave an error behind.
func compile(raw json.RawMessage, m *meter) (inverse *jsonschema.Schema) {
	if len(raw) > maxSchemaBytes || bytes.Count(raw, []byte("{")) > maxSchemas {
		return nil
	}
	doc, ok := decode(raw, maxSchemaDepth)
	if !ok || isDynamic(doc) {
		return nil
	}
	defer func() {
		if recover() != nil {
			inverse = nil // a fault of the library's ends one check, not the process
		}
	}()
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(m.regexp)
	not := map[string]any{"not": map[string]any{"$ref": schemaURL}}
	if c.AddResource(schemaURL, doc) != nil || c.AddResource(inverseURL, not) != nil {
		return nil
	}
	inverse, err := c.Compile(inverseURL)
	if err != nil {
		return nil
	}
	m.watch(reflect.ValueOf(inverse), map[*jsonschema.Schema]bool{})
	return inverse
}

// noLoader keeps references inside: neither files nor addresses are read.
type noLoader struct{}

func (noLoader) Load(string) (any, error) { return nil, errUnchecked }

// decode reads well-formed JSON for the validator, or returns false when it is too deep, or has a number whose exponent
// would fill the memory.
func decode(raw json.RawMessage, maxDepth int) (any, bool) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil || !modest(v, maxDepth) {
		return nil, false
	}
	return v, true
}

func modest(v any, depth int) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			if depth == 0 || !modest(e, depth-1) {
				return false
			}
		}
	case []any:
		for _, e := range v {
			if depth == 0 || !modest(e, depth-1) {
				return false
			}
		}
	case json.Number:
		return modestNumber(string(v))
	}
	return true
}

func modestNumber(s string) bool {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(s), "e")
	n, err := strconv.Atoi(exponent)
	return len(mantissa) <= 512 && (exponent == "" || err == nil && n >= -512 && n <= 512)
}

// isDynamic finds references whose target depends on the way to them: what they reach is not metered.
func isDynamic(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for name, e := range v {
			if name == "$dynamicRef" || name == "$recursiveRef" || isDynamic(e) {
				return true
			}
		}
	case []any:
		for _, e := range v {
			if isDynamic(e) {
				return true
			}
		}
	}
	return false
}
