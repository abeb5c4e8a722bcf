// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mooring-dev/mooring/internal/mcp/clean"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// MaxParts bounds the content parts that a report describes (RES-02).
const MaxParts = 64

// ErrMalformed says that a result is not an object with a content array, nor structured content (RES-01).
var ErrMalformed = errors.New("the result has neither a content array nor structured content")

// Report is what may be shown of a result.
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

// Summarize reports on a raw result within budget bytes of JSON-encoded preview. An unknown part is named and left out;
// nothing in a result makes it an error, except that it is no result.
func Summarize(raw json.RawMessage, budget int) (*Report, error) {
	object, err := wire.ParseObject(raw)
	if err != nil {
		return nil, ErrMalformed
	}
	var parts []json.RawMessage
	content, structured := object.Get("content"), object.Get("structuredContent")
	if json.Unmarshal(content, &parts) != nil && structured == nil {
		return nil, ErrMalformed
	}
	r := &Report{Parts: len(parts), StructuredBytes: len(structured)}
	_ = json.Unmarshal(object.Get("isError"), &r.IsError) // anything but true is not an error result
	var lines []string
	for i, part := range parts {
		if i == MaxParts {
			r.Truncated = true
			break
		}
		lines = append(lines, r.part(part))
	}
	if structured != nil && len(lines) == 0 {
		lines = append(lines, clean.Multiline(string(structured), budget+1))
	}
	if len(lines) == 0 {
		lines = append(lines, "The tool returned no content.")
	}
	r.Preview = r.cut(strings.Join(lines, "\n\n"), budget)
	return r, nil
}

func (r *Report) part(raw json.RawMessage) string {
	part, err := wire.ParseObject(raw)
	if err != nil {
		return "[malformed part]"
	}
	kind, _ := part.String("type")
	switch kind {
	case "text":
		text, _ := part.String("text")
		r.TextBytes += len(text)
		return clean.Multiline(text, len(text))
	case "image", "audio":
		return fmt.Sprintf("[%s, %s, %d bytes, content omitted]", kind, mime(part), decodedSize(part, "data"))
	case "resource":
		return r.resource(part)
	case "resource_link":
		uri, _ := part.String("uri")
		return fmt.Sprintf("[resource link %s]", wire.Quote(clean.Multiline(uri, 1024)))
	default:
		return "[part of an unknown type]"
	}
}

func (r *Report) resource(part wire.Object) string {
	resource, err := wire.ParseObject(part.Get("resource"))
	if err != nil {
		return "[malformed resource]"
	}
	uri, _ := resource.String("uri")
	head := fmt.Sprintf("[resource %s, %s", wire.Quote(clean.Multiline(uri, 1024)), mime(resource))
	if text, ok := resource.String("text"); ok {
		r.TextBytes += len(text)
		return head + "]\n" + clean.Multiline(text, len(text))
	}
	return fmt.Sprintf("%s, %d bytes, content omitted]", head, decodedSize(resource, "blob"))
}

func mime(o wire.Object) string {
	if mimeType, ok := o.String("mimeType"); ok && mimeType != "" {
		return clean.Text(mimeType, 256)
	}
	return "unknown type"
}

func decodedSize(o wire.Object, name string) int {
	data, _ := o.String(name)
	return base64.StdEncoding.DecodedLen(len(data)) - strings.Count(data[max(0, len(data)-2):], "=")
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
