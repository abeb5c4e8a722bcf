// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package clean

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// WireErrorBytes bounds the text of a tool's error on its way to an agent (bridge row 4): 64 KiB.
const WireErrorBytes = 64 << 10

// minSecret is the length of the shortest value that is looked for: a shorter one may be part of any text.
const minSecret = 8

// Secrets takes known secret values out of foreign text, and changes nothing else. The zero value knows none. It is
// immutable, safe for concurrent use, and does not show its values when it is printed or marshalled.
type Secrets struct{ replacer *strings.Replacer }

// NewSecrets returns what takes out values of at least 8 bytes, as they are and as JSON and URLs spell them. Of an HTTP
// authorization value ("Bearer abc", "Basic dTpw") it also knows the credentials without their scheme, and the password.
func NewSecrets(values ...string) Secrets {
	var all []string
	for _, value := range values {
		for _, v := range parts(value) {
			if len(v) >= minSecret && utf8.ValidString(v) && !strings.Contains(redacted, v) {
				all = append(all, spellings(v)...)
			}
		}
	}
	if len(all) == 0 {
		return Secrets{}
	}
	// Where one value begins with another, the longer one goes.
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	pairs := make([]string, 0, 2*len(all))
	for _, s := range slices.Compact(all) {
		pairs = append(pairs, s, redacted)
	}
	return Secrets{replacer: strings.NewReplacer(pairs...)}
}

// RedactString returns s with every known value replaced by [redacted].
func (s Secrets) RedactString(text string) string {
	if s.replacer == nil {
		return text
	}
	return s.replacer.Replace(text)
}

// Redact is RedactString for bytes, such as raw JSON, which stays well-formed. It returns b itself when nothing changes.
func (s Secrets) Redact(b []byte) []byte {
	if s.replacer == nil {
		return b
	}
	text := string(b)
	clean := s.replacer.Replace(text)
	if clean == text {
		return b
	}
	return []byte(clean)
}

// WireError is RedactString within WireErrorBytes, otherwise as sent (bridge row 4). Invalid UTF-8 becomes U+FFFD where
// the text is cut.
func (s Secrets) WireError(text string) string {
	if text = s.RedactString(text); len(text) <= WireErrorBytes {
		return text
	}
	text = text[:WireErrorBytes]
	return text[:len(text)-partial(text)]
}

// String hides the values.
func (s Secrets) String() string { return redacted }

// GoString hides the values.
func (s Secrets) GoString() string { return redacted }

// parts returns a value and the secrets inside it.
func parts(value string) []string {
	value = strings.TrimSpace(value)
	scheme, rest, found := strings.Cut(value, " ")
	if !found {
		return []string{value}
	}
	rest = strings.TrimSpace(rest)
	found = strings.EqualFold(scheme, "basic")
	decoded, err := base64.StdEncoding.DecodeString(rest)
	if !found || err != nil {
		return []string{value, rest}
	}
	_, password, _ := strings.Cut(string(decoded), ":")
	return []string{value, rest, string(decoded), password}
}

// spellings returns the ways in which servers write s into JSON and URLs.
func spellings(s string) []string {
	plain, _ := jsontext.AppendQuote(nil, s) // valid UTF-8 always quotes
	escaped, _ := json.Marshal(s)            // a string always marshals
	inner, html := string(plain[1:len(plain)-1]), string(escaped[1:len(escaped)-1])
	ascii := asciiOnly(inner)
	return []string{
		s, inner, html, ascii,
		strings.ReplaceAll(inner, "/", `\/`), strings.ReplaceAll(ascii, "/", `\/`),
		url.QueryEscape(s), url.PathEscape(s),
	}
}

// asciiOnly writes the rest of Unicode as \u escapes.
func asciiOnly(s string) string {
	const hexadecimal = "0123456789abcdef"
	var b strings.Builder
	for _, r := range s {
		if r < utf8.RuneSelf {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			b.WriteString(`\u`)
			for shift := 12; shift >= 0; shift -= 4 {
				b.WriteByte(hexadecimal[unit>>shift&0xf])
			}
		}
	}
	return b.String()
}
