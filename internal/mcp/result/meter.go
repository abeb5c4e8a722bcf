// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import (
	"context"
	"reflect"
	"regexp"
	"regexp/syntax"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	// maxCheck bounds one check.
	maxCheck = 500 * time.Millisecond
	// maxPattern and maxProgram bound a pattern in bytes and in instructions, maxSteps the instructions times the text.
	maxPattern = 1024
	maxProgram = 4096
	maxSteps   = 64 << 20
)

// meter ends a check that takes too long. A small schema can ask for exponentially many comparisons, and the validator
// knows neither contexts nor budgets; so the meter sits in every subschema as its format, which is looked at before
// anything that branches, and in every pattern. It leaves by a panic that check recovers.
type meter struct {
	ctx context.Context //nolint:containedctx // that of the one check that runs
	end time.Time
}

func (m *meter) start(ctx context.Context) {
	m.ctx, m.end = ctx, time.Now().Add(maxCheck)
}

func (m *meter) tick() {
	if m.ctx.Err() != nil || time.Now().After(m.end) {
		panic(errUnchecked)
	}
}

// watch puts the meter into every schema that can be reached from v.
func (m *meter) watch(v reflect.Value, seen map[*jsonschema.Schema]bool) {
	switch v.Kind() {
	case reflect.Interface:
		m.watch(v.Elem(), seen)
	case reflect.Slice:
		for i := range v.Len() {
			m.watch(v.Index(i), seen)
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			m.watch(it.Value(), seen)
		}
	case reflect.Pointer:
		if schema, ok := v.Interface().(*jsonschema.Schema); ok && schema != nil && !seen[schema] {
			seen[schema] = true
			schema.Format = &jsonschema.Format{Name: "metered", Validate: func(any) error { m.tick(); return nil }}
			m.fields(v.Elem(), seen)
		}
	}
}

func (m *meter) fields(schema reflect.Value, seen map[*jsonschema.Schema]bool) {
	for i := range schema.NumField() {
		if schema.Type().Field(i).IsExported() {
			m.watch(schema.Field(i), seen)
		}
	}
}

// regexp compiles a pattern whose matching is metered. Go's patterns take time linear in the text.
func (m *meter) regexp(pattern string) (jsonschema.Regexp, error) {
	if len(pattern) > maxPattern {
		return nil, errUnchecked
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, errUnchecked
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil || len(program.Inst) > maxProgram {
		return nil, errUnchecked
	}
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		return nil, errUnchecked
	}
	return &metered{Regexp: compiled, size: len(program.Inst), meter: m}, nil
}

type metered struct {
	*regexp.Regexp
	size  int
	meter *meter
}

// MatchString implements jsonschema.Regexp.
func (r *metered) MatchString(s string) bool {
	r.meter.tick()
	if r.size*len(s) > maxSteps {
		panic(errUnchecked)
	}
	return r.Regexp.MatchString(s)
}
