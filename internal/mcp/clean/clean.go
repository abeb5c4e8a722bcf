// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package clean

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// DescriptionBytes bounds a cleaned description (CAT-15).
const DescriptionBytes = 16384

// Text returns s as one line of at most maxBytes bytes: line ends and tabs become spaces, everything else that is not
// visible goes. Invalid UTF-8 becomes U+FFFD. The cut is between code points.
func Text(s string, maxBytes int) string { return filter(s, maxBytes, oneLine) }

// Multiline is Text that keeps tabs and line ends, the latter as \n.
func Multiline(s string, maxBytes int) string { return filter(s, maxBytes, manyLines) }

// Description cleans a description for people and models (DEV-26): many lines, at most DescriptionBytes.
func Description(s string) string { return Multiline(s, DescriptionBytes) }

// dropped is no code point.
const dropped rune = -1

func oneLine(r rune) rune {
	if r = manyLines(r); r == '\n' || r == '\t' {
		return ' '
	}
	return r
}

func manyLines(r rune) rune {
	switch {
	case r >= ' ' && r < 0x7f, r == '\n', r == '\t':
		return r
	case r == '\r', r == '\u0085', r == '\u2028', r == '\u2029':
		return '\n'
	case !unicode.IsGraphic(r), // Cc, Cf, Co, Cn
		unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
		return dropped
	}
	return r
}

func filter(s string, maxBytes int, show func(rune) rune) string {
	same := unchanged(s, maxBytes, show)
	if same == len(s) {
		return s
	}
	var b strings.Builder
	b.Grow(max(0, min(len(s), maxBytes)))
	b.WriteString(s[:same]) // copied, so that a short text does not keep a long one alive
	for i := same; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		i += size
		if r == '\r' && i < len(s) && s[i] == '\n' {
			continue // \r\n is one line end
		}
		if r = show(r); r == dropped {
			continue
		}
		if b.Len()+utf8.RuneLen(r) > maxBytes {
			break
		}
		b.WriteRune(r)
	}
	return b.String()
}

// unchanged returns the length of the longest beginning of s that is shown as it is and fits.
func unchanged(s string, maxBytes int, show func(rune) rune) int {
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if (r == utf8.RuneError && size == 1) || show(r) != r || i+size > maxBytes {
			return i
		}
		i += size
	}
	return len(s)
}
