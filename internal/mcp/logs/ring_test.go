// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

func TestLOG16Ring(t *testing.T) {
	r := NewRing()
	first := r.Revision()
	if first < time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli() {
		t.Errorf("revisions begin at %d", first)
	}
	for i := range 100 {
		r.Add("a", Entry{Message: fmt.Sprint(i)})
	}
	got := r.Snapshot("a", 0, 0)
	if len(got) != MaxPerServer || got[0].Message != "36" || got[63].Message != "99" || got[63].Revision != first+100 {
		t.Errorf("LOG-16: %d kept of one server", len(got))
	}
	for i := range 5 * MaxPerServer {
		r.Add(string(rune('b'+i%5)), Entry{Message: fmt.Sprint(i)})
	}
	all := r.Snapshot("", 0, 0)
	if len(all) != MaxPerSession || len(r.Snapshot("a", 0, 0)) != 0 || all[255].Revision != r.Revision() {
		t.Errorf("LOG-16: %d kept of the session, %d of a", len(all), len(r.Snapshot("a", 0, 0)))
	}
	for i := 1; i < len(all); i++ {
		if all[i].Revision <= all[i-1].Revision {
			t.Fatalf("REG-15: not ascending at %d", i)
		}
	}
	before := r.Revision()
	r.Drop("b")
	if len(r.Snapshot("b", 0, 0)) != 0 || len(r.Snapshot("c", 0, 0)) == 0 || r.Revision() != before {
		t.Errorf("LOG-16: a dropped server's entries")
	}
}

func TestREG15Snapshot(t *testing.T) {
	r := NewRing()
	first := r.Revision()
	for i := range 10 {
		r.Add([]string{"even", "odd"}[i%2], Entry{Message: fmt.Sprint(i)})
	}
	for name, c := range map[string]struct {
		server string
		after  int64
		limit  int
		want   string
	}{
		"REG-15 all":                 {"", 0, 10, "0123456789"},
		"REG-15 newest, ascending":   {"", 0, 3, "789"},
		"REG-15 server":              {"odd", 0, 2, "79"},
		"REG-15 after is exclusive":  {"", first + 8, 10, "89"},
		"REG-15 server and after":    {"even", first + 7, 10, "8"},
		"REG-15 nothing new":         {"", first + 10, 10, ""},
		"REG-15 invalid limit 0":     {"", 0, 0, "0123456789"},
		"REG-15 invalid limit -1":    {"", 0, -1, "0123456789"},
		"REG-15 limit too large":     {"", 0, 1000, "0123456789"},
		"REG-15 invalid after":       {"", -5, 2, "89"},
		"REG-15 no such server":      {"x", 0, 10, ""},
		"REG-15 server names differ": {"eve", 0, 10, ""},
	} {
		got := ""
		for _, e := range r.Snapshot(c.server, c.after, c.limit) {
			got += e.Message
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
	r.Snapshot("", 0, 0)[0].Message = "changed"
	if r.Snapshot("", 0, 0)[0].Message != "0" {
		t.Error("REG-15: a snapshot shares its entries")
	}
}

func TestRingIsThreadSafe(t *testing.T) {
	r := NewRing()
	first := r.Revision()
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for range 200 {
				r.Add(fmt.Sprint(i), Entry{})
				r.Snapshot("", first, 10)
			}
			r.Drop(fmt.Sprint(i))
		})
	}
	wg.Wait()
	if r.Revision() != first+800 || len(r.Snapshot("", 0, 0)) != 0 {
		t.Errorf("%d entries were counted, %d left", r.Revision()-first, len(r.Snapshot("", 0, 0)))
	}
}
