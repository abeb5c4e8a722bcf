// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package clean

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestFinishedTexts(t *testing.T) {
	const dirty = "dial \x1b[31mhttps://u:p@h/x\x00\r\n\t\u202eBearer abc sk-abcdefgh1"
	for name, c := range map[string]struct{ got, want string }{
		"SEC-05 DEV-07 connection error": {ConnectionError(dirty), "dial [31m[redacted-url] Bearer [redacted] [redacted]"},
		"SEC-05 tool error":              {ToolError(dirty), "dial [31m[redacted-url]\n\tBearer [redacted] [redacted]"},
		"SEC-05 DEV-08 task text":        {TaskText(" "+dirty+"\n", ""), "dial [31m[redacted-url]\n\tBearer [redacted] [redacted]"},
		"SEC-05 folds runs only":         {ConnectionError("a  b\n\n\tc \n d"), "a  b c   d"},
		"DEV-08 the task's id":           {TaskText("task 0123-abcd is at 0123-abcd/5", "0123-abcd"), "task [task-id] is at [task-id]/5"},
		"DEV-08 after NFKC":              {TaskText("task \uff10123-ab\u200bcd", "0123-abcd"), "task [task-id]"},
		"DEV-08 a full-width id":         {TaskText("task 0123-abcd", "\uff10123-abcd"), "task [task-id]"},
		"DEV-08 a short id":              {TaskText("a task at a table", "a"), "a task at a table"},
		"DEV-08 before redaction":        {TaskText("password=0123-abcd", "0123-abcd"), "password=[redacted]"},
		"DEV-08 an id that comes back":   {TaskText("]abcdefgabcdefg", "]abcdefg"), "[task-id]"},
		"DEV-08 an id like its notice":   {TaskText("the [task-id]", "task-id]"), "the [task-id]"},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %q, want %q", name, c.got, c.want)
		}
	}
}

// TestSEC04Bounds: texts are cut between code points, and a cut leaves no replacement character (SEC-06, DEV-61).
func TestSEC04Bounds(t *testing.T) {
	for name, c := range map[string]struct {
		fn    func(string) string
		bound int
	}{
		"SEC-04 connection error": {ConnectionError, 512},
		"SEC-04 tool error":       {ToolError, 4096},
		"SEC-04 task text":        {func(s string) string { return TaskText(s, "0123456789") }, 1024},
	} {
		if got := c.fn(strings.Repeat("x", c.bound)); len(got) != c.bound {
			t.Errorf("%s: exactly the bound becomes %d bytes", name, len(got))
		}
		for shift := range 4 {
			got := c.fn(strings.Repeat("x", shift) + strings.Repeat("😀", 1<<15))
			if len(got) > c.bound || len(got) <= c.bound-4 || !utf8.ValidString(got) || strings.ContainsRune(got, utf8.RuneError) {
				t.Errorf("%s, SEC-06, DEV-61: %d bytes, ending in %q", name, len(got), got[len(got)-8:])
			}
		}
		// A secret at the cut, and one where the input is cut.
		for pad := range 40 {
			at := strings.Repeat("y ", (c.bound-pad)/2) + "sk-canary0canary"
			if got := c.fn(at); strings.Contains(got, "sk-") {
				t.Errorf("%s: the cut shows %q", name, got[len(got)-20:])
			}
			if pad%6 > 0 {
				continue // the next is slow
			}
			urls := strings.Repeat("http://"+strings.Repeat("z", 4088)+" ", 16)
			if got := c.fn(urls[:len(urls)-pad] + " sk-canary0canary"); strings.Contains(got, "sk-") {
				t.Errorf("%s: the cut input shows %q", name, got[len(got)-20:])
			}
		}
	}
}

func TestSEC07Quote(t *testing.T) {
	for in, want := range map[string]string{
		`a`: `"a"`, `</x> & "y"`: `"\u003c/x\u003e \u0026 \"y\""`, "a\nb": `"a\nb"`, "\xff": `"\ufffd"`,
	} {
		if got := Quote(in); got != want {
			t.Errorf("SEC-07: Quote(%q) = %s, want %s", in, got, want)
		}
	}
}

const canary = "p/ss\"wö<rd&7\\"

func TestSecretsRedact(t *testing.T) {
	s := NewSecrets(canary, "Bearer token-7531", "Basic dXNlcjpvcGVuIHNlc2FtZQ==", "short", "token-7531-longer")
	plain, _ := json.Marshal(canary)
	for name, c := range map[string]struct{ in, want string }{
		"as it is":           {"x" + canary + "x", "x[redacted]x"},
		"JSON, HTML escapes": {string(plain), `"[redacted]"`},
		"JSON, plain":        {`"p/ss\"wö<rd&7\\"`, `"[redacted]"`},
		"JSON, slash":        {`"p\/ss\"wö<rd&7\\"`, `"[redacted]"`},
		"JSON, ASCII":        {`"p/ss\"w\u00f6<rd&7\\"`, `"[redacted]"`},
		"in a URL":           {"?q=p%2Fss%22w%C3%B6%3Crd%267%5C", "?q=[redacted]"},
		"without scheme":     {"invalid token token-7531.", "invalid token [redacted]."},
		"with scheme":        {"got Bearer token-7531", "got [redacted]"},
		"the longer one":     {"token-7531-longer", "[redacted]"},
		"basic, encoded":     {"dXNlcjpvcGVuIHNlc2FtZQ==", "[redacted]"},
		"basic, decoded":     {"user:open sesame or open sesame", "[redacted] or [redacted]"},
		"short ones stay":    {"short", "short"},
		"otherwise as sent":  {"http://h Bearer x \x1b\u200b\xff", "http://h Bearer x \x1b\u200b\xff"},
	} {
		if got := s.RedactString(c.in); got != c.want {
			t.Errorf("bridge row 4, %s: got %q, want %q", name, got, c.want)
		}
		if got := string(s.Redact([]byte(c.in))); got != c.want {
			t.Errorf("bridge row 4, %s, bytes: got %q, want %q", name, got, c.want)
		}
	}
	for _, shown := range []string{fmt.Sprint(s), fmt.Sprintf("%+v %#v", s, s), fmt.Sprintf("%v", struct{ S Secrets }{s})} {
		if strings.Contains(shown, "7531") {
			t.Errorf("printing shows a value: %s", shown)
		}
	}
	if got := (Secrets{}).RedactString("a"); got != "a" || string(Secrets{}.Redact([]byte("a"))) != "a" {
		t.Errorf("no secrets: %q", got)
	}
}

func TestWireError(t *testing.T) {
	s := NewSecrets("token-7531")
	text := strings.Repeat("x", WireErrorBytes-5)
	if got := s.WireError(text + "token-7531"); got != text+redacted[:5] {
		t.Errorf("bridge row 4: redact, then cut: ends in %q", got[len(got)-20:])
	}
	if got := s.WireError(text + "12345"); got != text+"12345" {
		t.Error("bridge row 4: exactly 64 KiB is cut")
	}
	if got := s.WireError(text + "123é€"); got != text+"123é" {
		t.Errorf("bridge row 4, SEC-06: cut inside of a code point: %q", got[len(got)-8:])
	}
}

func FuzzSecrets(f *testing.F) {
	f.Add("token-7531", "a ", " b")
	f.Add("p/\"<&\\ö😀x", "\\", "\"")
	f.Fuzz(func(t *testing.T, secret, before, after string) {
		s := NewSecrets(secret)
		secret = strings.TrimSpace(secret)
		if len(secret) < minSecret || !utf8.ValidString(secret) || strings.ContainsAny(secret, "[]") || strings.Contains(redacted, secret) {
			return
		}
		quoted, _ := json.Marshal(before + " " + secret + " " + after)
		for _, text := range []string{before + secret + after, string(quoted)} {
			got := s.RedactString(text)
			if strings.Contains(got, secret) {
				t.Fatalf("%q is in %q", secret, got)
			}
			if again := s.RedactString(got); again != got {
				t.Fatalf("not idempotent: %q, then %q", got, again)
			}
		}
		if got := s.Redact(quoted); !json.Valid(got) {
			t.Fatalf("no longer JSON: %s", got)
		}
	})
}
