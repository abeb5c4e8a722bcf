// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package clean

import "strings"

// minBase64 is the shortest run that is taken for base64: a line of MIME.
const minBase64 = 76

// redactBase64 replaces long runs of base64's alphabet that mix small and capital letters and digits (SEC-10): no digest
// in hexadecimal digits, and no ruler.
func redactBase64(s string) string {
	var b strings.Builder
	end := 0
	for i := 0; i < len(s); i++ {
		n, mixed := base64Run(s[i:])
		if n >= minBase64 && mixed {
			b.WriteString(s[end:i])
			b.WriteString(redacted)
			end = i + n
		}
		i += n
	}
	if end == 0 {
		return s
	}
	b.WriteString(s[end:])
	return b.String()
}

// base64Run returns the length of the run at the start of s, padding included, and whether it looks like base64.
func base64Run(s string) (n int, mixed bool) {
	var upper, lower, digit bool
	for ; n < len(s); n++ {
		switch c := s[n]; {
		case 'A' <= c && c <= 'Z':
			upper = true
		case 'a' <= c && c <= 'z':
			lower = true
		case '0' <= c && c <= '9':
			digit = true
		case c != '+' && c != '/':
			if rest := strings.TrimLeft(s[n:], "="); n > 0 {
				n = len(s) - len(rest)
			}
			return n, upper && lower && digit
		}
	}
	return n, upper && lower && digit
}
