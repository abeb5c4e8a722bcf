// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package clean

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Normal is Multiline of the NFKC form of s (INS-03, DEV-24): compatible spellings, such as full-width letters, become
// the plain ones. The result is at most maxBytes bytes, and no more memory than that is used, although NFKC may make a
// text many times longer.
func Normal(s string, maxBytes int) string {
	// What is dropped may have kept apart what composes: a second round settles this. norm bounds its work on long runs
	// of combining marks with a joiner, which is dropped again, so that more rounds could follow for a run made for it.
	for range 3 {
		next := Multiline(compose(s, maxBytes), maxBytes)
		if next == s {
			break
		}
		s = next
	}
	return s
}

// compose returns the NFKC form of s, or a beginning of it that is longer than maxBytes when cleaned.
func compose(s string, maxBytes int) string {
	same := norm.NFKC.QuickSpanString(s)
	if same == len(s) {
		return s
	}
	var b strings.Builder
	b.Grow(min(len(s), max(maxBytes, 0)) + 1)
	left := maxBytes
	var it norm.Iter
	for it.InitString(norm.NFKC, s); !it.Done() && left >= 0; {
		segment := it.Next()
		b.Write(segment)
		left -= visible(segment)
	}
	return b.String()
}

// visible counts the bytes of what Multiline keeps of b. An invalid byte is kept as U+FFFD.
func visible(b []byte) (n int) {
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		b = b[size:]
		if r = manyLines(r); r != dropped && r != '\n' { // \r\n is one line end: line ends are not counted, so as to count too little
			n += utf8.RuneLen(r)
		}
	}
	return n
}
