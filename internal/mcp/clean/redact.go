// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package clean

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// RedactBytes bounds what Redact reads and returns: 256 KiB.
const RedactBytes = 256 << 10

// The placeholders (SEC-01 to SEC-03).
const (
	redacted       = "[redacted]"
	redactedURL    = "[redacted-url]"
	redactedBearer = "Bearer [redacted]"
)

// Redact is RedactWithin RedactBytes.
func Redact(s string) string { return RedactWithin(s, RedactBytes) }

// RedactWithin takes out of s what looks like a credential or an address: URLs of any scheme become [redacted-url]
// (SEC-01), bearer tokens Bearer [redacted] (SEC-02), API keys and other tokens [redacted] (SEC-03), and so do the values
// of Authorization and Cookie lines, of keys such as password and token, private keys, and base64 (SEC-10).
//
// It is done on the Normal form (DEV-24): full-width letters or hidden characters inside a token hide nothing. A text
// longer than maxBytes is cut first, before the token that would be cut in two; so is the result, where needed. The time
// taken is linear in maxBytes, for any input. The function is idempotent.
func RedactWithin(s string, maxBytes int) string {
	return Multiline(redact(Normal(beginning(s, maxBytes), maxBytes)), maxBytes)
}

// edge is longer than what any pattern needs to see of a token to recognise it.
const edge = 128

// beginning cuts a long text at a space near the bound, or well before it: the first bytes of a token that is cut in two
// may not be recognised.
func beginning(s string, maxBytes int) string {
	if len(s) <= maxBytes {
		return s
	}
	s = s[:max(maxBytes, 0)]
	safe := max(0, len(s)-edge)
	if i := strings.LastIndexFunc(s[safe:], unicode.IsSpace); i >= 0 {
		return s[:safe+i]
	}
	return s[:safe-partial(s[:safe])]
}

// partial returns how many bytes at the end of s are the beginning of a code point.
func partial(s string) int {
	for n := 1; n < utf8.UTFMax && n <= len(s); n++ {
		if b := s[len(s)-n:]; utf8.RuneStart(b[0]) {
			if !utf8.FullRuneInString(b) {
				return n
			}
			break
		}
	}
	return 0
}

// Parts of the patterns. A value is a quoted text, with escaped quotes when it is quoted itself, or runs up to a delimiter.
const (
	sign   = `\\*["']?\s*[:=]\s*`
	quoted = `\\+"[^"\n]*"?|"(?:[^"\\\n]|\\.)*"?|'[^'\n]*'?`
	names  = `pass(?:words?|wd|phrase)|secrets?|token|(?:api|access|private|signing)[-_ ]?key|credentials?`
)

// rule replaces what a pattern finds.
type rule struct {
	// hints are in small letters; a text without any of them is not searched, which is most of the speed.
	hints   []string
	pattern *regexp.Regexp
	// to replaces a match, or, where the pattern has groups, its second group.
	to func(match string) string
}

// rules are in the order of SEC-01 to SEC-03, and what we add stands where it finds what they leave. Only the pattern of
// SEC-03 looks at what stands around a token, and what is replaced after it ends where words end: doing all of it twice
// changes nothing.
var rules = []rule{
	{
		hints: []string{"-----begin "}, to: always(redacted),
		pattern: regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\z)`),
	},
	{hints: []string{"://"}, to: always(redactedURL), pattern: regexp.MustCompile("(?i)https?://[^\\s\\p{Z}\"'`]+")},
	{hints: []string{"://"}, to: always(redactedURL), pattern: regexp.MustCompile("(?i)[a-z][a-z0-9+.-]*://[^\\s\\p{Z}\"'`]+")},
	{hints: []string{";base64,"}, to: always(redacted), pattern: regexp.MustCompile(`(?i)data:[^\s,"']*;base64,[a-z0-9+/=_%-]*`)},
	{
		hints: []string{"bearer"}, to: always(redactedBearer),
		pattern: regexp.MustCompile(`(?i)bearer(?:[\s\p{Z}:=]+bearer)*[\s\p{Z}:=]+[^\s\p{Z}]+`),
	},
	token("gh", `[a-z]_[A-Za-z0-9]{8,}`), token("github_pat_", `[A-Za-z0-9_]{8,}`), token("gl", `[a-z]{2,5}-[A-Za-z0-9_-]{16,}`),
	token("xox", `[a-z]-[A-Za-z0-9-]{8,}`), token("xapp-", `[A-Za-z0-9-]{8,}`), token("AKIA", `[A-Z0-9]{12,}`),
	token("ASIA", `[A-Z0-9]{12,}`), token("AIza", `[A-Za-z0-9_-]{16,}`), token("ya29.", `[A-Za-z0-9_-]{8,}`),
	token("npm_", `[A-Za-z0-9]{20,}`), token("hf_", `[A-Za-z0-9]{20,}`), token("pypi-", `[A-Za-z0-9_-]{16,}`),
	token("eyJ", `[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)*`),
	{hints: []string{"sk-"}, to: always(redacted), pattern: regexp.MustCompile(`\bsk-[A-Za-z0-9_-]{8,}\b`)},
	{hints: []string{"basic"}, to: redactBasic, pattern: regexp.MustCompile(`(?i)basic[\s\p{Z}]+[a-z0-9+/_-]{6,}={0,2}`)},
	{ // to the end of the line
		hints: []string{"authorization", "cookie"}, to: redactValue,
		pattern: regexp.MustCompile(`(?i)((?:authorization|cookie2?)` + sign + `)(\[redacted\]|bearer \[redacted\]|` + quoted + `|[^\n]+)`),
	},
	{
		hints: []string{"pass", "secret", "token", "key", "credential"}, to: redactValue,
		pattern: regexp.MustCompile("(?i)((?:" + names + ")" + sign + ")(" + quoted + "|[^\\s\\p{Z},;&\"'`<>]+)"),
	},
}

// token finds what says by its beginning what it is.
func token(prefix, rest string) rule {
	pattern := regexp.MustCompile(regexp.QuoteMeta(prefix) + rest)
	return rule{hints: []string{strings.ToLower(prefix)}, pattern: pattern, to: always(redacted)}
}

func redact(s string) string {
	small := strings.ToLower(s) // replacing adds no hint that finds anything
	for _, r := range rules {
		if slices.ContainsFunc(r.hints, func(hint string) bool { return strings.Contains(small, hint) }) {
			s = r.apply(s)
		}
	}
	return redactBase64(s)
}

func (r *rule) apply(s string) string {
	matches := r.pattern.FindAllStringSubmatchIndex(s, -1)
	if matches == nil {
		return s
	}
	var b strings.Builder
	end := 0
	for _, m := range matches {
		from, to := m[len(m)-2], m[len(m)-1]
		b.WriteString(s[end:from])
		b.WriteString(r.to(s[from:to]))
		end = to
	}
	b.WriteString(s[end:])
	return b.String()
}

func always(placeholder string) func(string) string {
	return func(string) string { return placeholder }
}

var words = regexp.MustCompile(`^[A-Za-z]?[a-z]*(?:[/_-][A-Za-z]?[a-z]*)*$`)

// redactBasic keeps plain words: "basic authentication" names a scheme and holds no credentials.
func redactBasic(match string) string {
	scheme, token := match[:len("basic")], strings.TrimSpace(match[len("basic"):])
	if words.MatchString(token) {
		return match
	}
	return scheme + " " + redacted
}

// redactValue keeps the quotes of a value, and the placeholder of SEC-02.
func redactValue(value string) string {
	quotes := value[:len(value)-len(strings.TrimLeft(value, `\`))]
	if rest := value[len(quotes):]; rest != "" && (rest[0] == '"' || rest[0] == '\'' && quotes == "") {
		quotes += rest[:1]
	} else {
		quotes = ""
	}
	if inner := value[len(quotes):]; len(inner) >= len(redactedBearer) && strings.EqualFold(inner[:len(redactedBearer)], redactedBearer) {
		// SEC-02 took the closing quote with the token; what it left behind is searched by the other rules.
		if rest := inner[len(redactedBearer):]; rest == quotes || quotes != "" && !strings.HasSuffix(rest, quotes) {
			return value
		}
		return quotes + redactedBearer + quotes
	}
	return quotes + redacted + quotes
}
