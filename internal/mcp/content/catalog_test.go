// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"encoding/json"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mooring-dev/mooring/internal/mcp/catalog"
)

// TestDiff has the acceptance case "Server advances" (CNT-10).
func TestDiff(t *testing.T) {
	before := read(t, Resources, resource("live"), resource("same"), resource("obsolete"))
	after := read(t, Resources, with(resource("live"), `"description":"d"`), resource("new"), `{"name":"n","_meta":{},"uri":"same"}`)
	argument := func(required string) string { return prompt("p", `{"name":"a","required":`+required+`}`) }
	for name, c := range map[string]struct {
		before, after *Catalog
		want          catalog.Delta
	}{
		"CNT-10 resources": {before, after, catalog.Delta{Added: []string{"new"}, Removed: []string{"obsolete"}, Updated: []string{"live"}}},
		"CNT-10 templates": {
			read(t, ResourceTemplates, template("x{a}")), read(t, ResourceTemplates, with(template("x{a}"), `"title":"T"`)),
			catalog.Delta{Updated: []string{"x{a}"}},
		},
		"CNT-10 prompts":  {read(t, Prompts, argument("false")), read(t, Prompts, argument("true")), catalog.Delta{Updated: []string{"p"}}},
		"CNT-10 same":     {before, before, catalog.Delta{}},
		"CNT-10 reverted": {read(t, Prompts, argument("1")), read(t, Prompts, argument("false")), catalog.Delta{}},
		"CNT-10 first":    {nil, read(t, Resources, resource("b"), resource("a")), catalog.Delta{Added: []string{"a", "b"}}},
		"CNT-10 loss":     {read(t, Resources, resource("b"), resource("a")), nil, catalog.Delta{Removed: []string{"a", "b"}}},
	} {
		if diff := cmp.Diff(c.want, Diff(c.before, c.after)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestLookup(t *testing.T) {
	var none *Catalog
	if _, ok := none.Lookup(""); ok {
		t.Error("a nil catalog has an entry")
	}
	byHand := &Catalog{Entries: []*Entry{{ID: "a"}, {ID: "b"}}}
	if e, ok := byHand.Lookup("b"); !ok || e.ID != "b" {
		t.Error("a catalog made by hand is not searched")
	}
	if _, ok := byHand.Lookup("c"); ok {
		t.Error("what is not there was found")
	}
}

func TestIntern(t *testing.T) {
	first := Intern(read(t, Resources, resource("shared")))
	if Intern(read(t, Resources, resource("shared"))) != first {
		t.Error("equal catalogs are two values")
	}
	for name, other := range map[string]*Catalog{
		"entry": read(t, Resources, resource("other")),
		"kind":  NewBuilder(Prompts, Limits{}).Catalog(),
		"raw":   read(t, Resources, with(resource("shared"), `"_meta":{}`)),
	} {
		if Intern(other) == first || other.Digest == NewBuilder(Resources, Limits{}).Catalog().Digest {
			t.Errorf("%s: different catalogs are one", name)
		}
	}
	if byHand := (&Catalog{}); Intern(byHand) != byHand || Intern(nil) != nil {
		t.Error("a catalog without a digest was replaced")
	}
	runtime.KeepAlive(first)
}

// TestInternForgets wants nothing to stay of catalogs that nobody holds.
func TestInternForgets(t *testing.T) {
	Intern(read(t, Resources, resource("short-lived")))
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(10 * time.Second); ; <-tick.C {
		runtime.GC()
		left := catalogs.Len()
		if left == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d catalogs are still in the table", left)
		}
	}
}

func fuzzList(f *testing.F, kind Kind) {
	f.Fuzz(func(t *testing.T, raw []byte) {
		b := NewBuilder(kind, Limits{})
		if _, err := b.AddPage(raw); err != nil {
			if b.Catalog() != nil {
				t.Fatal("a refused list has a catalog")
			}
			return
		}
		c := b.Catalog()
		for _, e := range c.Entries {
			if found, ok := c.Lookup(e.ID); !ok || found != e || !json.Valid(e.Raw) || checkIdentity(e.ID, MaxURIRunes) != "" {
				t.Fatalf("entry %+v", e)
			}
			again := read(t, kind, string(e.Raw)).Entries[0]
			if diff := cmp.Diff(e, again); diff != "" {
				t.Fatalf("reading Raw again (-want +got):\n%s", diff)
			}
			if kind == ResourceTemplates {
				_, _ = Variables(e.ID)
				_ = Match(e.ID, e.ID)
			}
		}
	})
}

func FuzzResources(f *testing.F) {
	f.Add([]byte(page(Resources, resource("a"), with(resource("b"), `"size":1,"title":"T","mimeType":"m"`))))
	fuzzList(f, Resources)
}

func FuzzPrompts(f *testing.F) {
	f.Add([]byte(page(Prompts, prompt("a", `{"name":"a","required":true},{"name":"b","description":"d"}`))))
	fuzzList(f, Prompts)
}

func FuzzTemplates(f *testing.F) {
	f.Add([]byte(page(ResourceTemplates, template("x{?q,lang}"), template("x{/a*,b}"), template("x{+p:3}{}"), template("x{a"))))
	fuzzList(f, ResourceTemplates)
}
