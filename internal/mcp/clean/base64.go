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
		n, found := base64Run(s[i:])
		if found {
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

const (
	capitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	smalls   = "abcdefghijklmnopqrstuvwxyz"
	digits   = "0123456789"
)

var inBase64 = func() (set [256]bool) {
	for _, c := range []byte(capitals + smalls + digits + "+/") {
		set[c] = true
	}
	return set
}()

// base64Run returns the length of the run at the start of s, padding included, and whether it looks like base64.
func base64Run(s string) (n int, found bool) {
	for n < len(s) && inBase64[s[n]] {
		n++
	}
	if n < minBase64 {
		return n, false
	}
	run := s[:n]
	found = strings.ContainsAny(run, capitals) && strings.ContainsAny(run, smalls) && strings.ContainsAny(run, digits)
	return len(s) - len(strings.TrimLeft(s[n:], "=")), found
}
