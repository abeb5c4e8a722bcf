// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import (
	"context"
	"encoding/json"

	"github.com/mooring-dev/mooring/internal/mcp/clean"
)

// Report is what the status of an object shows of a result.
type Report struct {
	// IsError says that the tool reported a failure of its own.
	IsError bool
	// Preview is clean text: text parts and one line for each other part, cut so that its JSON encoding fits the budget.
	Preview string
	// Truncated says that there was more.
	Truncated bool
	// Parts counts content parts, TextBytes the text in them, StructuredBytes the structured content.
	Parts, TextBytes, StructuredBytes int
}

// Summarize reports on a raw result within budget bytes of JSON-encoded preview. It stores nothing. What Normalize would
// refuse is left out and named: the call has ended, whatever its result looks like (bridge row 2). The error is
// ErrMalformed, for what has neither a content array nor structured content.
func Summarize(raw json.RawMessage, budget int) (*Report, error) {
	n := normalizer{lenient: true}
	if err := n.read(raw); err != nil {
		return nil, err
	}
	p := n.project(context.Background(), nil)
	m := &p.Metadata
	r := &Report{
		IsError: m.IsError, Truncated: m.Truncated || n.omitted > 0,
		Parts: m.ContentCount, TextBytes: m.TextBytes, StructuredBytes: m.StructuredBytes,
	}
	r.Preview = r.cut(p.Text, budget)
	return r, nil
}

// cut shortens text to whole code points whose JSON encoding, as the API server stores it, fits the budget.
func (r *Report) cut(text string, budget int) string {
	if len(text) > budget {
		r.Truncated = true
		text = clean.Multiline(text, budget)
	}
	for {
		encoded, err := json.Marshal(text)
		if err != nil || len(encoded) <= budget+2 {
			return text
		}
		r.Truncated = true
		text = clean.Multiline(text, len(text)-max(1, (len(encoded)-budget)/6))
	}
}
