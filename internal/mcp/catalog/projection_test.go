// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// names lists what a projection offers, as "server/tool=name".
func names(p *Projection) []string {
	var out []string
	for _, tool := range p.Tools {
		out = append(out, tool.Server+"/"+tool.Tool.Name+"="+tool.Name)
	}
	return out
}

func TestProject(t *testing.T) {
	servers := []ServerTools{
		{"b", read(t, named("y"), named("x"))},
		{"gone", nil},
		{"a", read(t, named("x"), named("z.z"))},
	}
	p := Project(servers, Filter{})
	want := []string{"b/y=mcp__b__y", "b/x=mcp__b__x", "a/x=mcp__a__x", "a/z.z=mcp__a__z_z_34860654f7"}
	if diff := cmp.Diff(want, names(p)); diff != "" || len(p.Tools) != 4 || p.ClashCount != 0 {
		t.Errorf("CAT-05, REG-10 (-want +got):\n%s", diff)
	}
	bytes := 0
	for _, tool := range p.Tools {
		bytes += len(tool.Tool.WireAs(tool.Name))
	}
	if p.Bytes != bytes {
		t.Errorf("Bytes = %d, want %d", p.Bytes, bytes)
	}
	for name, other := range map[string]*Projection{
		"order of servers": Project([]ServerTools{servers[2], servers[0]}, Filter{}),
		"fewer":            Project(servers[:1], Filter{}),
		"filtered":         Project(servers, Filter{Deny: []string{"mcp__b__y"}}),
		"another title": Project([]ServerTools{servers[0], {"a", read(t, named("x"),
			`{"title":"T","name":"z.z","inputSchema":{"type":"object"}}`)}}, Filter{}),
		"empty": Project(nil, Filter{}),
	} {
		if other.Digest == p.Digest {
			t.Errorf("%s: the digest is the same", name)
		}
	}
	if other := Project([]ServerTools{servers[0], servers[2]}, Filter{Deny: []string{"none"}}); other.Digest != p.Digest {
		t.Error("equal projections have different digests")
	}
}

func TestProjectClash(t *testing.T) {
	servers := []ServerTools{{"s", read(t, named("a"), named("\uff41"), named("b"))}, {"\uff53", read(t, named("b"))}}
	p := Project(servers, Filter{})
	if diff := cmp.Diff([]string{"s/a=mcp__s__a", "s/b=mcp__s__b"}, names(p)); diff != "" {
		t.Errorf("CAT-05 (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"mcp__s__a", "mcp__s__b"}, p.Clashes); diff != "" || p.ClashCount != 2 {
		t.Errorf("%d clashes (-want +got):\n%s", p.ClashCount, diff)
	}
	// DEV-11: these clashed in the source.
	p = Project([]ServerTools{{"a__b", read(t, named("c"))}, {"a", read(t, named("b__c"))}}, Filter{})
	if len(p.Tools) != 2 || p.ClashCount != 0 {
		t.Errorf("DEV-11: got %v", names(p))
	}
	var many []ServerTools
	for range MaxClashes + 2 {
		many = append(many, ServerTools{"s", read(t, named("a"))})
	}
	if p := Project(many, Filter{}); len(p.Clashes) != MaxClashes || p.ClashCount != MaxClashes+1 {
		t.Errorf("%d clashes named of %d", len(p.Clashes), p.ClashCount)
	}
}

func TestProjectFilter(t *testing.T) {
	servers := []ServerTools{{"s", read(t, named("get"), named("get_all"), named("put"))}, {"t", read(t, named("get"))}}
	for name, c := range map[string]struct {
		filter Filter
		want   string
	}{
		"REG-30 no list":        {Filter{}, "s/get s/get_all s/put t/get"},
		"REG-30 empty list":     {Filter{Allow: []string{}}, ""},
		"REG-30 exact":          {Filter{Allow: []string{"mcp__t__get", "mcp__s__put"}}, "s/put t/get"},
		"REG-30 glob":           {Filter{Allow: []string{"mcp__*__get"}}, "s/get t/get"},
		"REG-30 deny wins":      {Filter{Allow: []string{"mcp__s__*"}, Deny: []string{"*_all", "mcp__s__put"}}, "s/get"},
		"REG-30 deny only":      {Filter{Deny: []string{"mcp__s__*"}}, "t/get"},
		"REG-30 raw names":      {Filter{Allow: []string{"get", "s__get"}}, ""},
		"REG-30 one character":  {Filter{Allow: []string{"mcp__?__???"}}, "s/get s/put t/get"},
		"REG-30 no other globs": {Filter{Allow: []string{"mcp__[s]__get", `mcp__s__\get`}}, ""},
	} {
		var got []string
		for _, tool := range Project(servers, c.filter).Tools {
			got = append(got, tool.Server+"/"+tool.Tool.Name)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: got %v, want %s", name, got, c.want)
		}
	}
}

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"", "", true},
		{"", "a", false},
		{"*", "", true},
		{"*", "abc", true},
		{"?", "", false},
		{"?", "a", true},
		{"??", "a", false},
		{"a*", "abc", true},
		{"*c", "abc", true},
		{"a*c", "abc", true},
		{"a*b", "abc", false},
		{"*b*", "abc", true},
		{"a**c", "ac", true},
		{"*ab", "aab", true},
		{"*aab", "aaab", true},
		{"a*b*c", "axbxbc", true},
		{"a*b?c", "abbxc", true},
		{"a*?", "a", false},
		{"a*?", "ab", true},
		{"*a*b", "ba", false},
		{"ab", "abc", false},
		{"abc", "ab", false},
		{strings.Repeat("a*", 30) + "b", strings.Repeat("a", 60), false}, // exponential in a careless matcher
	} {
		if got := glob(c.pattern, c.name); got != c.want {
			t.Errorf("glob(%q, %q) = %v", c.pattern, c.name, got)
		}
	}
}

func TestLookup(t *testing.T) {
	p := Project([]ServerTools{
		{"a", read(t, named("only"), named("both"), named("b__both"), named("mcp__b__both"))},
		{"b", read(t, named("both"), named("with space"))},
	}, Filter{})
	for name, c := range map[string]struct{ call, want string }{
		"bridge 6 provider":            {"mcp__a__only", "a/only"},
		"bridge 6 server":              {"b__both", "b/both"},
		"bridge 6 raw":                 {"only", "a/only"},
		"bridge 6 raw, any characters": {"with space", "b/with space"},
		"bridge 6 raw, ambiguous":      {"both", ""},
		"bridge 6 provider wins":       {"mcp__b__both", "b/both"},
		"unknown":                      {"nothing", ""},
		"empty":                        {"", ""},
		"the prefix alone":             {"mcp__", ""},
	} {
		got := ""
		if tool, ok := p.Lookup(c.call); ok {
			got = tool.Server + "/" + tool.Tool.Name
		}
		if got != c.want {
			t.Errorf("%s: Lookup(%q) = %q, want %q", name, c.call, got, c.want)
		}
	}
	for _, none := range []*Projection{nil, {}, Project(nil, Filter{})} {
		if tool, ok := none.Lookup("x"); ok || tool != nil {
			t.Errorf("an empty projection has %v", tool)
		}
	}
}

// TestProjectByHand projects a catalog that no Builder made.
func TestProjectByHand(t *testing.T) {
	c := &Catalog{Tools: []*Tool{{Name: "t", Raw: []byte(named("t"))}}}
	p := Project([]ServerTools{{"s", c}}, Filter{})
	tool, ok := p.Lookup("mcp__s__t")
	if !ok || p.Bytes != len(tool.Tool.WireAs(tool.Name)) {
		t.Errorf("got %+v", p)
	}
}

func BenchmarkProject(b *testing.B) {
	var tools []string
	for i := range 1000 {
		tools = append(tools, named(fmt.Sprint("tool_", i)))
	}
	c := read(b, tools...)
	c.Digest = "" // not shared
	var servers []ServerTools
	for i := range 64 {
		servers = append(servers, ServerTools{fmt.Sprint("server-", i), c})
	}
	for b.Loop() {
		Project(servers, Filter{Deny: []string{"mcp__server-1__*"}})
	}
}

func BenchmarkAddPage(b *testing.B) {
	var tools []string
	for i := range 500 {
		tools = append(tools, fmt.Sprintf(`{"name":"tool_%d","description":"Does one thing, and that one well.","inputSchema":{"type":"object",
			"properties":{"path":{"type":"string","description":"where"},"limit":{"type":"integer","minimum":1}},"required":["path"]}}`, i))
	}
	page := list(tools...)
	b.SetBytes(int64(len(page)))
	for b.Loop() {
		if _, err := NewBuilder().AddPage(page); err != nil {
			b.Fatal(err)
		}
	}
}
