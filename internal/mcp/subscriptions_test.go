// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

func active(s *Snapshot) string {
	var out []string
	for _, sub := range s.Servers[0].Subscriptions {
		out = append(out, fmt.Sprintf("%s=%v", sub.URI, sub.Active))
	}
	return strings.Join(out, " ")
}

// Subscribe, an update, unsubscribe (SUB-01, SUB-02, SUB-03, SUB-07 and the first acceptance case of SUB).
func TestSUB02Subscribe(t *testing.T) {
	f := full(t)
	r := newRuntime(t)
	r.Ensure("a", desired(to(f, "one")))
	before := synced(t, r, "a")
	rec := record(t, r)
	update := `{"uri":"r:1"}`
	f.push(wire.MethodResourceUpdated, update) // SUB-07: nobody subscribed
	time.Sleep(50 * time.Millisecond)          // it has been heard by then
	for range 2 {
		if err := r.Subscribe(t.Context(), "a", "one", "r:1"); err != nil {
			t.Fatal(err)
		}
	}
	if n := f.count(wire.MethodSubscribe); n != 1 {
		t.Errorf("SUB-02: %d requests", n)
	}
	if s, _ := r.Snapshot("a"); active(s) != "r:1=true" {
		t.Errorf("%s", active(s))
	}
	f.push(wire.MethodResourceUpdated, update)
	f.push(wire.MethodResourceUpdated, `{"uri":"r:9"}`)
	rec.expect(t, "updated r:1")
	s := eventually(t, r, "an update", func(s *Snapshot) bool { return !s.Servers[0].Subscriptions[0].Updated.IsZero() })
	if s.Revisions.Content != before.Revisions.Content+1 {
		t.Errorf("SUB-07: content revision %d after %d", s.Revisions.Content, before.Revisions.Content)
	}
	if n := f.count(wire.MethodResourcesRead); n != 0 {
		t.Errorf("SUB-07: read %d times by itself", n)
	}
	if err := r.Unsubscribe(t.Context(), "a", "one", "r:1"); err != nil { // one of two
		t.Fatal(err)
	}
	if n := f.count(wire.MethodUnsubscribe); n != 0 {
		t.Error("it was unsubscribed while somebody wants it")
	}
	for range 2 { // SUB-03: what is not wanted is no error
		if err := r.Unsubscribe(t.Context(), "a", "one", "r:1"); err != nil {
			t.Fatal(err)
		}
	}
	if n := f.count(wire.MethodUnsubscribe); n != 1 {
		t.Errorf("SUB-03: %d requests", n)
	}
	if s, _ := r.Snapshot("a"); active(s) != "" {
		t.Errorf("%s", active(s))
	}
}

// Declared subscriptions come with the connection, are restored after a loss with one synthetic update for the gap, are
// let go with their resource and taken again with it (SUB-04, SUB-05, CNT-09, DEV-54, bridge row 25).
func TestSUB05Restored(t *testing.T) {
	f := full(t)
	r := newRuntime(t)
	d := desired(hasty(f))
	d.Subscriptions = []Subscription{{Server: "one", URI: "r:1"}, {Server: "one", URI: "later"}, {Server: "two", URI: "r:1"}}
	r.Ensure("a", d)
	synced(t, r, "a")
	if s, _ := r.Snapshot("a"); active(s) != "later=false r:1=true" {
		t.Fatalf("%s", active(s))
	}
	rec := record(t, r)
	f.with(func(f *fake) { f.sessions = map[string]bool{} })
	f.CloseClientConnections()
	eventually(t, r, "recovered and subscribed", func(s *Snapshot) bool {
		return s.Servers[0].Generation == 2 && active(s) == "later=false r:1=true"
	})
	if n := f.count(wire.MethodSubscribe); n != 2 {
		t.Errorf("SUB-05: %d requests", n)
	}
	rec.contains(t, "updated r:1") // bridge row 25
	f.with(func(f *fake) { f.results[wire.MethodResourcesList] = `{"resources":[{"uri":"later","name":"r"}]}` })
	f.push(wire.MethodResourcesListChanged)
	eventually(t, r, "let go and taken", func(s *Snapshot) bool { return active(s) == "later=true r:1=false" })
	if n := f.count(wire.MethodUnsubscribe); n != 1 {
		t.Errorf("DEV-54: %d requests", n)
	}
	f.with(func(f *fake) { f.results[wire.MethodResourcesList] = `{"resources":[{"uri":"r:1","name":"r"}]}` })
	f.push(wire.MethodResourcesListChanged)
	eventually(t, r, "taken again", func(s *Snapshot) bool { return active(s) == "later=false r:1=true" })
	// SUB-04: what agents made is forgotten with a reconnect by hand, what is declared is not.
	if err := r.Subscribe(t.Context(), "a", "one", "t:7"); err != nil {
		t.Fatal(err)
	}
	if err := r.Reconnect("a", "one"); err != nil {
		t.Fatal(err)
	}
	eventually(t, r, "connected anew", func(s *Snapshot) bool {
		return s.Servers[0].State == StateConnected && active(s) == "later=false r:1=true"
	})
}

// A refused subscription leaves nothing, and a refused restore is an event and no failure (SUB-03, SUB-06).
func TestSUB06Refused(t *testing.T) {
	f := full(t)
	delete(f.results, wire.MethodSubscribe)
	r := newRuntime(t)
	d := desired(to(f, "one"))
	d.Subscriptions = []Subscription{{Server: "one", URI: "r:1"}}
	r.Ensure("a", desired())
	rec := record(t, r)
	r.Ensure("a", d)
	s := synced(t, r, "a")
	if s.Servers[0].State != StateConnected || active(s) != "r:1=false" {
		t.Errorf("%s, %s", s.Servers[0].State, active(s))
	}
	rec.contains(t, "subscription failed r:1") // SUB-06
	if err := r.Subscribe(t.Context(), "a", "one", "t:7"); err == nil {
		t.Error("a refusal is no error")
	}
	if s, _ := r.Snapshot("a"); active(s) != "r:1=false" {
		t.Errorf("SUB-03: %s", active(s))
	}
	f.with(func(f *fake) { f.results[wire.MethodSubscribe] = `{}` })
	f.push(wire.MethodResourcesListChanged)
	eventually(t, r, "tried again", func(s *Snapshot) bool { return active(s) == "r:1=true" })
}

// At most 100 are wanted of a server (SUB-02), and a server that does not offer them is not asked.
func TestSUB02Bound(t *testing.T) {
	f, without := full(t), full(t)
	without.caps = strings.ReplaceAll(without.caps, `,"subscribe":true`, "")
	r := newRuntime(t)
	d := desired(to(f, "one"), to(without, "without"))
	for i := range MaxSubscriptions {
		d.Subscriptions = append(d.Subscriptions, Subscription{Server: "one", URI: fmt.Sprintf("x:%d", i)})
	}
	r.Ensure("a", d)
	synced(t, r, "a")
	err := r.Subscribe(t.Context(), "a", "one", "r:1")
	if reason, _ := endedBy(err); reason != CallTooMany {
		t.Errorf("%v", err)
	}
	err = r.Subscribe(t.Context(), "a", "without", "r:1")
	if reason, _ := endedBy(err); reason != CallNotSupported || without.count(wire.MethodSubscribe) != 0 {
		t.Errorf("%v", err)
	}
}

// An update of a server that is not connected is nobody's news (SUB-08).
func TestSUB08Late(t *testing.T) {
	f := full(t)
	r := newRuntime(t)
	d := desired(to(f, "one"))
	d.Subscriptions = []Subscription{{Server: "one", URI: "r:1"}}
	r.Ensure("a", d)
	synced(t, r, "a")
	s := r.session("a")
	s.mu.Lock()
	old := s.conns["one"].live
	s.mu.Unlock()
	if err := r.Disconnect("a", "one"); err != nil {
		t.Fatal(err)
	}
	rec := record(t, r)
	old.resourceUpdated([]byte(`{"uri":"r:1"}`))
	time.Sleep(20 * time.Millisecond)
	if got := rec.lines(); len(got) != 0 {
		t.Errorf("%v", got)
	}
}
