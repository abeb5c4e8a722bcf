// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package clean

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestClean(t *testing.T) {
	for name, c := range map[string]struct {
		in              string
		max             int
		text, multiline string
	}{
		"plain":                      {"Reads a file.", 100, "Reads a file.", "Reads a file."},
		"other scripts":              {"工具 é 😀 فارسی", 100, "工具 é 😀 فارسی", "工具 é 😀 فارسی"},
		"empty":                      {"", 10, "", ""},
		"no room":                    {"a", 0, "", ""},
		"negative room":              {"a\n", -1, "", ""},
		"lines":                      {"a\r\nb\rc\nd\te", 100, "a b c d e", "a\nb\nc\nd\te"},
		"line separators":            {"a\u2028b\u2029c\u0085d", 100, "a b c d", "a\nb\nc\nd"},
		"DEV-07 escape":              {"\x1b[31mred\x1b[0m\x00\x07\x7f\u009b", 100, "[31mred[0m", "[31mred[0m"},
		"DEV-07 bidi":                {"a\u202eb\u2066c\u200fd", 100, "abcd", "abcd"},
		"DEV-26 zero width":          {"a\u200bb\u200cc\u200dd\ufeffe\u2060f\u00adg", 100, "abcdefg", "abcdefg"},
		"DEV-26 tags":                {"a\U000e0069\U000e0067b", 100, "ab", "ab"},
		"DEV-26 variation selector":  {"a\ufe0fb\U000e0100c", 100, "abc", "abc"},
		"DEV-26 fillers":             {"a\u3164b\u115fc\u034fd\uffa0e", 100, "abcde", "abcde"},
		"DEV-26 private, unassigned": {"a\ue000b\U0010ffffc\u0378d", 100, "abcd", "abcd"},
		"invalid UTF-8":              {"a\xffb\xc3", 100, "a\ufffdb\ufffd", "a\ufffdb\ufffd"},
		"invalid UTF-8 does not fit": {"a\xffb", 3, "a", "a"},
		"cut":                        {"abcdef", 3, "abc", "abc"},
		"cut between code points":    {"aé", 2, "a", "a"},
		"hidden text takes no room":  {"\u200b\u200b\u200babc", 3, "abc", "abc"},
	} {
		if got := Text(c.in, c.max); got != c.text {
			t.Errorf("%s: Text = %q, want %q", name, got, c.text)
		}
		if got := Multiline(c.in, c.max); got != c.multiline {
			t.Errorf("%s: Multiline = %q, want %q", name, got, c.multiline)
		}
	}
}

func TestDescription(t *testing.T) {
	if got := Description(strings.Repeat("é", 8193)); len(got) != DescriptionBytes {
		t.Errorf("CAT-15: got %d bytes, want %d", len(got), DescriptionBytes)
	}
	if got := Description("a\u200b\n\tb"); got != "a\n\tb" {
		t.Errorf("DEV-26: got %q", got)
	}
}

// TestNoCopy keeps the usual text free: nothing is allocated for what is clean already.
func TestNoCopy(t *testing.T) {
	s := strings.Repeat("Reads a file. ", 100)
	if n := testing.AllocsPerRun(10, func() { Text(s, len(s)) }); n != 0 {
		t.Errorf("%v allocations for clean text", n)
	}
}

func FuzzText(f *testing.F) {
	f.Add("a\r\n\u202eb\xff\U000e0041", 5)
	f.Add("\r\u200b\n", 2)
	f.Add("plain", -1)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		for name, fn := range map[string]func(string, int) string{"Text": Text, "Multiline": Multiline} {
			got := fn(s, limit)
			if len(got) > max(0, limit) || !utf8.ValidString(got) {
				t.Fatalf("%s(%q, %d) = %q", name, s, limit, got)
			}
			if again := fn(got, limit); again != got {
				t.Fatalf("%s is not idempotent: %q, then %q", name, got, again)
			}
			for _, r := range got {
				if !unicode.IsGraphic(r) && (name == "Text" || (r != '\n' && r != '\t')) {
					t.Fatalf("%s(%q) kept %U", name, s, r)
				}
			}
		}
	})
}
