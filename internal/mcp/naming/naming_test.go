// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package naming

import (
	"regexp"
	"strings"
	"testing"
)

var pattern = regexp.MustCompile(`^mcp__[A-Za-z0-9_-]+__[A-Za-z0-9_-]+$`) // CAT-03

func TestProvider(t *testing.T) {
	for _, c := range []struct{ id, server, tool, want string }{
		// Golden vectors (requirements, section 24).
		{"CAT-01", "github", "search_code", "mcp__github__search_code"},
		{"CAT-02 longest kept", "s", "abcdefghijklmnopqrstuvwx", "mcp__s__abcdefghijklmnopqrstuvwx"},
		{"CAT-02 too long", "s", "abcdefghijklmnopqrstuvwxy", "mcp__s__abcdefghijklm_69b980549d"},
		{
			"CAT-03 longest", "server with spaces and a very long provider identity", "tool/with/slashes/and/a/very/long/identity",
			"mcp__server_with_s_827c5302ad__tool_with_sla_470e3e3e5d",
		},
		{
			"CAT-02 dashes", "server-with-spaces-and-a-very-long-provider-identity", "tool/with/slashes/and/a/very/long/identity",
			"mcp__server-with-s_b0da8e0379__tool_with_sla_470e3e3e5d",
		},
		{"CAT-02 dot", "s", "a.b", "mcp__s__a_b_2e7336dc8e"},
		{"CAT-02 slash", "s", "a/b", "mcp__s__a_b_c14cddc033"},
		{"CAT-02 space", "s", " a", "mcp__s___a_7de598b3ff"},
		{"CAT-02 composed", "s", "\u00e9", "mcp__s____4a99557e40"},
		{"CAT-02 decomposed", "s", "e\u0301", "mcp__s____4a99557e40"},
		{"CAT-02 two units", "s", "工具", "mcp__s_____5ca6730d44"},
		{"CAT-02 a surrogate pair is two units", "s", "😀", "mcp__s_____f0443a342c"},
		{"CAT-02 empty", "", "x", "mcp__unnamed_e3b0c44298__x"},
		// The vector stands although DEV-11 wants injective names: the preface mends only separators, and keeps the
		// vectors otherwise. A projection leaves out the later of two such tools.
		{"CAT-02 full width", "s", "\uff41", "mcp__s__a"},

		// No vector has a kept segment with "__" or an edge "_"; the preface gives these the digest form.
		{"DEV-11 separator in the server", "a__b", "c", "mcp__a__b_63e5c1c455__c"},
		{"DEV-11 separator in the tool", "a", "b__c", "mcp__a__b__c_61eb42b7f5"},
		{"DEV-11 leading edge", "s", "_a", "mcp__s___a_34fb716034"},
		{"DEV-11 trailing edge", "s", "a_", "mcp__s__a__571fb0e30b"},
		{"DEV-11 inner underscore is kept", "a_b", "c_d_e", "mcp__a_b__c_d_e"},
	} {
		got := Provider(c.server, c.tool)
		if got != c.want {
			t.Errorf("%s: Provider(%q, %q) = %q, want %q", c.id, c.server, c.tool, got, c.want)
		}
		if len(got) > MaxBytes || !pattern.MatchString(got) {
			t.Errorf("%s: %q is no provider name (CAT-03)", c.id, got)
		}
		if short := Server(c.server, c.tool); "mcp__"+short != got {
			t.Errorf("%s: Server = %q beside Provider = %q (bridge row 6)", c.id, short, got)
		}
		if !strings.HasPrefix(got, ServerPrefix(c.server)) {
			t.Errorf("%s: %q does not begin with %q", c.id, got, ServerPrefix(c.server))
		}
	}
}

func TestMaxBytes(t *testing.T) {
	if MaxBytes != 55 {
		t.Errorf("CAT-03: MaxBytes = %d, want 55", MaxBytes)
	}
}

func FuzzProvider(f *testing.F) {
	f.Add("github", "search_code")
	f.Add("", "")
	f.Add("a__b", "_c_")
	f.Add("\xff\xfe", "😀\u200b\uff41")
	f.Fuzz(func(t *testing.T, server, tool string) {
		name := Provider(server, tool)
		if len(name) > MaxBytes || len(name) > 64 || !pattern.MatchString(name) {
			t.Fatalf("Provider(%q, %q) = %q", server, tool, name)
		}
		if segment := Segment(tool); len(segment) > 24 || (segment == tool && strings.Contains(tool, "__")) {
			t.Fatalf("Segment(%q) = %q", tool, segment)
		}
	})
}
