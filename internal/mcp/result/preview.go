// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

const gap = "\n\n[…]\n\n"

// notice precedes the preview of a text of size bytes.
func notice(size int) string {
	return fmt.Sprintf("[first %d, last %d of %d bytes]\n", HeadBytes, TailBytes, size)
}

// ends returns the beginning and the end of a text that is longer than both, cut between code points (RES-09, DEV-61).
func ends(text string) (head, tail string) {
	from := len(text) - TailBytes
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	return beginning(text, HeadBytes), text[from:]
}

// beginning returns at most size bytes of s, cut between code points.
func beginning(s string, size int) string {
	if len(s) <= size {
		return s
	}
	for size > 0 && !utf8.RuneStart(s[size]) {
		size--
	}
	return s[:size]
}

// indent returns well-formed JSON with two spaces a level, or false when it is longer than limit. The length is computed
// first: deep nesting makes a small text a very large one.
func indent(raw json.RawMessage, limit int) (string, bool) {
	if indented(raw, limit) > limit {
		return "", false
	}
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return "", false
	}
	return b.String(), b.Len() <= limit
}

// indented returns no less than the length of raw with indentation, or something greater than limit.
func indented(raw []byte, limit int) (size int) {
	depth, quoted := 0, false
	for i := 0; i < len(raw) && size <= limit; i++ {
		size++
		switch c := raw[i]; {
		case quoted && c == '\\':
			size++
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			size--
		default:
			size, depth = bracket(c, size, depth)
		}
	}
	return size
}

// bracket adds what indentation puts around c.
func bracket(c byte, size, depth int) (int, int) {
	switch c {
	case '{', '[':
		depth++
	case '}', ']':
		depth--
	case ',':
	case ':':
		return size + 1, depth
	default:
		return size, depth
	}
	return size + 1 + 2*depth, depth
}
