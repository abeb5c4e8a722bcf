// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package clean

import (
	"encoding/base64"
	"strings"
	"testing"
	"unicode/utf8"
)

// image is base64 as servers send it.
var image = base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\x89PNG\r\n\x1a\n picture 7", 10)))

func TestRedact(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"plain":                    {"It works: 5 of 7 done.\nNext?", "It works: 5 of 7 done.\nNext?"},
		"SEC-01 URL":               {"see HTTPS://user:pw@host/a?key=1, then", "see [redacted-url] then"},
		"SEC-01 ends at quotes":    {"\"http://a\" 'https://b' `http://c`", "\"[redacted-url]\" '[redacted-url]' `[redacted-url]`"},
		"SEC-02 bearer":            {"sent BEARER \t abc.def-1 away", "sent Bearer [redacted] away"},
		"SEC-02 in a header":       {"Authorization: Bearer abc failed", "Authorization: Bearer [redacted] failed"},
		"SEC-02 over a line end":   {"bearer\nabc", "Bearer [redacted]"},
		"SEC-02 twice the scheme":  {"bearer Bearer abc", "Bearer [redacted]"},
		"SEC-02 bearer alone":      {"the bearer", "the bearer"},
		"SEC-03 key":               {"(sk-abcdEF_9)", "([redacted])"},
		"SEC-03 seven characters":  {"sk-abcdefg", "sk-abcdefg"},
		"SEC-03 inside a word":     {"task-abcdefghij", "task-abcdefghij"},
		"SEC-03 ends at a word":    {"sk-abcdefgh-- x", "[redacted]-- x"},
		"SEC-01 before SEC-02":     {"Bearer http://x/y z", "Bearer [redacted] z"},
		"SEC-01 before SEC-03":     {"http://x/sk-abcdefgh", "[redacted-url]"},
		"DEV-24 zero width":        {"sk-ab\u200bcdefghij", "[redacted]"},
		"DEV-24 NUL":               {"Bea\x00rer abc\x00def", "Bearer [redacted]"},
		"DEV-24 full width":        {"\uff53\uff4b-abcdefgh \uff48ttp://h", "[redacted] [redacted-url]"},
		"DEV-24 other URLs":        {"ws://h wss://h ftp://u:p@h file:///etc/x postgres://u:p@h/db", strings.TrimSpace(strings.Repeat("[redacted-url] ", 5))},
		"DEV-24 URL with a prefix": {"git+https://u:p@h", "git+[redacted-url]"},
		"DEV-24 Basic":             {"Basic dXNlcjpwYXNz ok", "Basic [redacted] ok"},
		"DEV-24 Basic is also a word": {
			"Basic authentication failed, basic functionality", "Basic authentication failed, basic functionality",
		},
		"DEV-24 GitHub":        {"ghp_0123456789abcdef github_pat_11ABCDEFG_x0", "[redacted] [redacted]"},
		"DEV-24 GitLab, Slack": {"glpat-0123456789abcdefghij xoxb-123456789012-abc", "[redacted] [redacted]"},
		"DEV-24 AWS, Google":   {"AKIAIOSFODNN7EXAMPLE AIzaSyA-0123456789abcdefghijklmnop_qr", "[redacted] [redacted]"},
		"DEV-24 JWT":           {"got eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln here", "got [redacted] here"},
		"DEV-24 cookie lines":  {"Cookie: a=b; c=d\nSet-Cookie: e=f; Path=/\nbody", "Cookie: [redacted]\nSet-Cookie: [redacted]\nbody"},
		"DEV-24 authorization": {"Proxy-Authorization: Digest username=\"u\", response=\"r\"\nnext", "Proxy-Authorization: [redacted]\nnext"},
		"DEV-24 key and value": {"password=hunter2&x=1; Token: abc, api_key='a b' ok", "password=[redacted]&x=1; Token: [redacted], api_key='[redacted]' ok"},
		"DEV-24 JSON":          {`{"client_secret": "a\"b c", "n":1}`, `{"client_secret": "[redacted]", "n":1}`},
		"DEV-24 JSON in JSON":  {`"{\"password\":\"a b\",\"n\":1}"`, `"{\"password\":\"[redacted]\",\"n\":1}"`},
		"DEV-24 JSON header":   {`{"authorization":"Basic dTpw","n":1}`, `{"authorization":"[redacted]","n":1}`},
		"DEV-24 JSON bearer":   {`{"authorization": "Bearer abc" }`, `{"authorization": "Bearer [redacted] }`},
		"DEV-24 private key":   {"a -----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- b", "a [redacted] b"},
		"DEV-24 private key without end": {
			"-----BEGIN PRIVATE KEY-----\nMIIE\nabc", "[redacted]",
		},
		"words about secrets stay":     {"token limits, 20 tokens: max_tokens=5; password required; keys: a", "token limits, 20 tokens: max_tokens=5; password required; keys: a"},
		"SEC-10 data URL":              {"![x](data:image/png;base64," + image + ")", "![x]([redacted])"},
		"SEC-10 base64":                {"image " + image + " end", "image [redacted] end"},
		"SEC-10 hexadecimal stays":     {strings.Repeat("0123456789abcdef", 8), strings.Repeat("0123456789abcdef", 8)},
		"SEC-10 rulers and paths stay": {strings.Repeat("=", 100) + strings.Repeat("/usr/lib", 20), strings.Repeat("=", 100) + strings.Repeat("/usr/lib", 20)},
		"DEV-26 hidden":                {"a\u202eb\U000e0041\ufe0fc", "abc"},
	} {
		got := Redact(c.in)
		if got != c.want {
			t.Errorf("%s: Redact(%q) = %q, want %q", name, c.in, got, c.want)
		}
		if again := Redact(got); again != got {
			t.Errorf("%s: not idempotent: %q, then %q", name, got, again)
		}
	}
}

// TestRedactCutsBetweenTokens: a token that is cut in two would no longer be recognised.
func TestRedactCutsBetweenTokens(t *testing.T) {
	const text = "plain text, sk-abcdefghijkl and more"
	for limit := range len(text) + 10 {
		got := RedactWithin(text, limit)
		if strings.Contains(got, "sk-") || len(got) > limit {
			t.Errorf("SEC-06 within %d: %q", limit, got)
		}
	}
	if got := RedactWithin(strings.Repeat("x", 50), 20); got != "" {
		t.Errorf("a single token that does not fit: %q", got)
	}
	if got := Redact(strings.Repeat("Redact me. ", RedactBytes)); len(got) > RedactBytes || len(got) < RedactBytes-20 {
		t.Errorf("got %d bytes", len(got))
	}
}

func TestNormal(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		max  int
		want string
	}{
		"INS-03 compatible spellings": {"\uff21\u00a0\ufb01\u2460", 100, "A fi1"},
		"INS-03 canonical spelling":   {"e\u0301", 100, "é"},
		"what hid in between":         {"e\u200b\u0301", 100, "é"},
		"lines":                       {"a\r\nb\tc", 100, "a\nb\tc"},
		"expansion is bounded":        {strings.Repeat("\ufdfa", 1000), 33, "صلى الله عليه وسلم"},
		"hidden text takes no room":   {strings.Repeat("\u00ad", 1000) + "\uff41b", 2, "ab"},
		"cut between code points":     {"\uff41é", 2, "a"},
		"nothing fits":                {"\uff41", -1, ""},
	} {
		if got := Normal(c.in, c.max); got != c.want {
			t.Errorf("%s: Normal = %q, want %q", name, got, c.want)
		}
	}
}

// seeds hold one secret each, as the fuzzer should start to hide it.
var seeds = []string{
	"http://h/%s x", "Bearer %s", "bearer\n\tBEARER %s", "sk-%s", "ghp_%s", "password=%s", `"token":"%s"`, `\"token\":\"%s\"`,
	"Authorization: Basic %s", "Cookie: x=%s; y", "\uff42earer %s\u200b", "-----BEGIN PRIVATE KEY-----%s", "%s AKIAAAAAAAAAAAAAAAAAsk-abcdefgh",
}

func FuzzRedact(f *testing.F) {
	for _, seed := range seeds {
		f.Add(strings.ReplaceAll(seed, "%s", "abcdefgh1"), 64)
	}
	f.Fuzz(func(t *testing.T, s string, limit int) {
		for name, fn := range map[string]func(string) string{
			"RedactWithin": func(s string) string { return RedactWithin(s, limit) }, "ToolError": ToolError,
			"ConnectionError": ConnectionError, "TaskText": func(s string) string { return TaskText(s, "") },
		} {
			got := fn(s)
			bound := map[string]int{
				"RedactWithin": max(0, limit), "ToolError": 4096, "ConnectionError": 512, "TaskText": 1024, // SEC-04
			}[name]
			if len(got) > bound || !utf8.ValidString(got) {
				t.Fatalf("%s(%q) = %q", name, s, got)
			}
			if again := fn(got); again != got {
				t.Fatalf("%s(%q) is not idempotent: %q, then %q", name, s, got, again)
			}
		}
	})
}

// FuzzRedactSecret surrounds what must go with anything. Surroundings may not make it part of a word, or end it early.
func FuzzRedactSecret(f *testing.F) {
	f.Add("a ", " b", byte(0))
	f.Add("x\u200b", "\x00", byte(3))
	f.Add("\"\\\"", "\\\"\"", byte(6))
	f.Fuzz(func(t *testing.T, before, after string, which byte) {
		const secret = "Zq9_canary-7xKv"
		forms := []string{"https://h/", "Bearer ", "sk-", "wss://", "password=", "Cookie: ", "glpat-0", "Authorization: Digest "}
		text := before + " " + forms[int(which)%len(forms)] + secret + " " + after
		if got := Redact(text); strings.Contains(got, secret) && !strings.Contains(before+after, "anary") {
			t.Fatalf("Redact(%q) = %q", text, got)
		}
	})
}

func BenchmarkRedact(b *testing.B) {
	for name, s := range map[string]string{
		"plain": strings.Repeat("It works as it should. ", 700),
		"worst": strings.Repeat("it:basic bearer key gh cookie pass :// ;base64, sk-", 300),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			for b.Loop() {
				Redact(s)
			}
		})
	}
}
