// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDiff(t *testing.T) {
	with := func(name, more string) string { return strings.TrimSuffix(named(name), "}") + more + "}" }
	before := read(t, named("kept"), named("z"), named("y"), named("gone2"), named("gone1"), with("tasks", ""))
	after := read(t, with("kept", `,"title":"T"`), named("new2"), with("z", `,"description":"d"`), named("new1"),
		with("tasks", `,"execution":{"taskSupport":"optional"}`), `{"inputSchema":{"type":"object"},"name":"y"}`)
	for name, c := range map[string]struct {
		before, after *Catalog
		want          Delta
	}{
		"CAT-20 all":       {before, after, Delta{Added: []string{"new1", "new2"}, Removed: []string{"gone1", "gone2"}, Updated: []string{"tasks", "z"}}},
		"CAT-20 same":      {before, before, Delta{}},
		"CAT-20 equal":     {read(t, named("a"), named("b")), read(t, named("b"), named("a")), Delta{}},
		"CAT-20 none":      {nil, nil, Delta{}},
		"CAT-35 first":     {nil, read(t, named("b"), named("a")), Delta{Added: []string{"a", "b"}}},
		"CAT-20 loss":      {read(t, named("b"), named("a")), nil, Delta{Removed: []string{"a", "b"}}},
		"CAT-20 none left": {read(t), NewBuilder().Catalog(), Delta{}},
	} {
		got := Diff(c.before, c.after)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if got.Empty() != (len(c.want.Added)+len(c.want.Removed)+len(c.want.Updated) == 0) {
			t.Errorf("%s: Empty = %v", name, got.Empty())
		}
	}
}

func TestChunks(t *testing.T) {
	var tools []string
	for i := range 20 {
		tools = append(tools, named(fmt.Sprint("tool", 10+i)))
	}
	size := len(tools[0])
	for name, c := range map[string]struct {
		catalog *Catalog
		max     int
		want    []int // tools in each chunk
	}{
		"nil":           {nil, 100, []int{0}},
		"empty":         {NewBuilder().Catalog(), 100, []int{0}},
		"one chunk":     {read(t, tools...), 1 << 20, []int{20}},
		"exact":         {read(t, tools[:4]...), 2*size + 3, []int{2, 2}},
		"a byte short":  {read(t, tools[:4]...), 2*size + 2, []int{1, 1, 1, 1}},
		"a rest":        {read(t, tools[:7]...), 3*size + 4, []int{3, 3, 1}},
		"never without": {read(t, tools[:2]...), 1, []int{1, 1}},
	} {
		var got []int
		var raw []string
		for _, chunk := range Chunks(c.catalog, c.max) {
			var parts []json.RawMessage
			if err := json.Unmarshal(chunk, &parts); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if got = append(got, len(parts)); len(chunk) > c.max && c.max > size+2 {
				t.Errorf("%s: a chunk of %d bytes", name, len(chunk))
			}
			for _, part := range parts {
				raw = append(raw, string(part))
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		for i, tool := range c.catalog.tools() {
			if !bytes.Equal(tool.Raw, []byte(raw[i])) {
				t.Errorf("%s: tool %d differs", name, i)
			}
		}
	}
}

func TestIntern(t *testing.T) {
	if Intern(nil) != nil {
		t.Error("nil became something")
	}
	byHand := &Catalog{}
	if Intern(byHand) != byHand {
		t.Error("a catalog without a digest was replaced")
	}
	first := Intern(read(t, named("interned")))
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			if Intern(read(t, named("interned"))) != first {
				t.Error("equal catalogs are two values")
			}
			if Intern(read(t, named("other"))) == first {
				t.Error("different catalogs are one value")
			}
		})
	}
	wait.Wait()
	servers := []ServerTools{{"shared", first}}
	p := Project(servers, Filter{Deny: []string{"x"}})
	if Project(servers, Filter{Deny: []string{"x"}}) != p {
		t.Error("equal projections are two values")
	}
	if Project(servers, Filter{Allow: []string{"x"}}) == p || Project(servers, Filter{Allow: []string{}, Deny: []string{"x"}}) == p {
		t.Error("different filters are one projection")
	}
	runtime.KeepAlive(first)
	runtime.KeepAlive(p)
}

// TestInternForgets wants nothing to stay of catalogs and projections that nobody holds.
func TestInternForgets(t *testing.T) {
	func() {
		for i := range 100 {
			Project([]ServerTools{{"s", Intern(read(t, named(fmt.Sprint("short-lived", i))))}}, Filter{})
		}
	}()
	deadline := time.Now().Add(10 * time.Second)
	for catalogs.Len()+projections.Len() > 0 {
		if time.Now().After(deadline) {
			t.Fatalf("%d catalogs and %d projections are still in the tables", catalogs.Len(), projections.Len())
		}
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
}
