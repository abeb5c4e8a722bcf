// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestProjectedURI is bridge row 7.
func TestProjectedURI(t *testing.T) {
	for name, c := range map[string]struct {
		uri    string
		unique bool
		want   string
	}{
		"unique":               {"file:///a b", true, "file:///a b"},
		"shared":               {"file:///a?b#c%2fd~", false, "mooring+s:file:///a?b#c%2fd~"},
		"space":                {"file:///a b", false, "mooring+s:%66ile:///a%20b"},
		"encoded space":        {"file:///a%20b", false, "mooring+s:file:///a%20b"},
		"both":                 {"file:///a b%20", false, "mooring+s:%66ile:///a%20b%2520"},
		"not ASCII":            {"é", false, "mooring+s:%C3%A9"},
		"no scheme":            {"%66ile", false, "mooring+s:%2566ile"},
		"like another's":       {"mooring+other:x", true, "mooring+s:mooring+other:x"},
		"like another's, case": {"MOORING+other:x", true, "mooring+s:MOORING+other:x"},
		"like an artifact":     {"mooring://artifacts/1", true, "mooring+s:mooring://artifacts/1"},
		"only begins like it":  {"moorings:x", true, "moorings:x"},
	} {
		got := ProjectedURI("s", c.uri, c.unique)
		if got != c.want {
			t.Errorf("bridge 7 %s: got %q, want %q", name, got, c.want)
		}
		server, uri, ok := ParseURI(got)
		if want := got != c.uri; ok != want || (ok && (server != "s" || uri != c.uri)) {
			t.Errorf("bridge 7 %s: parsed as %q, %q, %v", name, server, uri, ok)
		}
	}
	for _, uri := range []string{
		"", "file:///a", "mooring://artifacts/1", "mooring+:a", "mooring+s", "mooring+s:", "mooring+S:a", "mooring+a/b:c", "Mooring+s:a",
		"mooring+s:%66ile:///a", "mooring+s:%c3%a9", "mooring+s:%6", "mooring+s:%20%20b%zz",
	} {
		if server, parsed, ok := ParseURI(uri); ok {
			t.Errorf("bridge 7: %q was parsed as %q, %q", uri, server, parsed)
		}
	}
	projected := ProjectedTemplate("s", "db://{table}", false)
	if server, text, ok := ParseTemplate(projected); projected != "mooring+s:db://{table}" || !ok || server != "s" || text != "db://{table}" {
		t.Errorf("bridge 7: %q was parsed as %q, %q, %v", projected, server, text, ok)
	}
	if server, uri, ok := ParseURI("mooring+s:db://a%20b"); !ok || server != "s" || !Match("db://{table}", uri) {
		t.Errorf("bridge 7: what a projected template expands to is %q, %q, %v", server, uri, ok)
	}
	if ProjectedTemplate("s", "db://{table}", true) != "db://{table}" || ProjectedTemplate("s", "mooring:{x}", true) == "mooring:{x}" {
		t.Error("bridge 7: unique templates")
	}
}

func FuzzProjectedURI(f *testing.F) {
	f.Add("a b", "a%20b", true)
	f.Add("%61", "a", false)
	f.Fuzz(func(t *testing.T, a, b string, unique bool) {
		if a == "" || b == "" {
			t.Skip()
		}
		one, two := ProjectedURI("s-1", a, unique), ProjectedURI("s-1", b, false)
		if a != b && !unique && one == two {
			t.Fatalf("%q and %q are both %q", a, b, one)
		}
		if server, uri, ok := ParseURI(two); !ok || server != "s-1" || uri != b {
			t.Fatalf("%q is %q, parsed as %q, %q, %v", b, two, server, uri, ok)
		}
		if _, _, ok := ParseURI(a); ok && unique && one == a {
			t.Fatalf("%q is sent as it is, and read as one of ours", a)
		}
	})
}

func TestLinkRing(t *testing.T) {
	var l LinkRing
	for i := range MaxLinks {
		l.Add(fmt.Sprint("x:", i))
	}
	l.Add("x:0") // now the latest
	l.Add("x:new")
	for uri, want := range map[string]bool{"x:0": true, "x:1": false, "x:2": true, "x:new": true, "x:other": false} {
		if l.Has(uri) != want {
			t.Errorf("bridge 8: %s remembered: %v", uri, !want)
		}
	}
	if len(l.links) != MaxLinks || l.order.Len() != MaxLinks {
		t.Errorf("bridge 8: %d links", len(l.links))
	}
	for _, bad := range []string{"", " a", "a\n", strings.Repeat("x", MaxURIRunes+1)} {
		if l.Add(bad); l.Has(bad) {
			t.Errorf("CNT-04: %.10q is remembered", bad)
		}
	}
	var wait sync.WaitGroup
	for i := range 4 {
		wait.Go(func() {
			for j := range 100 {
				l.Add(fmt.Sprint(i, j))
				l.Has(fmt.Sprint(j, i))
			}
		})
	}
	wait.Wait()
}

func TestReadable(t *testing.T) {
	resources, templates := read(t, Resources, resource("x:listed")), read(t, ResourceTemplates, template("x:t/{a}"))
	var links LinkRing
	links.Add("x:linked")
	for uri, want := range map[string]bool{"x:listed": true, "x:t/1": true, "x:linked": true, "x:other": false, "x:t/{a}": false} {
		if err := Readable(resources, templates, &links, uri); (err == nil) != want || (err != nil && !errors.Is(err, ErrNotInCatalog)) {
			t.Errorf("CNT-20, bridge 8: %s gives %v", uri, err)
		}
	}
	if err := Readable(nil, nil, nil, "x:listed"); !errors.Is(err, ErrNotInCatalog) {
		t.Errorf("CNT-20: nothing is offered, but %v", err)
	}
}

func TestLinks(t *testing.T) {
	link := func(uri string) string { return `{"type":"resource_link","name":"n","uri":` + uri + `}` }
	for name, c := range map[string]struct {
		result string
		want   []string
	}{
		"content":   {`{"content":[` + link(`"a"`) + `,{"type":"text","text":"x"},` + link(`1`) + `,1,` + link(`"b"`) + `]}`, []string{"a", "b"}},
		"messages":  {`{"messages":[{"role":"user","content":` + link(`"a"`) + `},1]}`, []string{"a"}},
		"embedded":  {`{"content":[{"type":"resource","resource":{"uri":"a","text":"\"resource_link\""}}]}`, nil},
		"malformed": {`{"content":[` + link(`"a"`), nil},
		"elsewhere": {`{"structuredContent":` + link(`"a"`) + `}`, nil},
	} {
		if diff := cmp.Diff(c.want, Links(json.RawMessage(c.result))); diff != "" {
			t.Errorf("bridge 8 %s (-want +got):\n%s", name, diff)
		}
	}
}
