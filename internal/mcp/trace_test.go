// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// recorder collects every event of session "a" in the order in which it was emitted.
type recorder struct {
	mu     sync.Mutex
	events []Event
}

func record(t *testing.T, r *Runtime) *recorder {
	t.Helper()
	w, _, err := r.Watch("a")
	if err != nil {
		t.Fatal(err)
	}
	rec, done := &recorder{}, make(chan struct{})
	go func() {
		defer close(done)
		for range w.Wake() {
			rec.mu.Lock()
			rec.events = append(rec.events, w.Drain()...)
			rec.mu.Unlock()
		}
	}()
	t.Cleanup(func() { w.Stop(); <-done })
	return rec
}

// lines are the events as the requirements write them.
func (rec *recorder) lines() []string {
	rec.mu.Lock()
	events := slices.Clone(rec.events)
	rec.mu.Unlock()
	slices.SortFunc(events, func(a, b Event) int { return cmp.Compare(a.Seq, b.Seq) })
	var out []string
	for i := range events {
		if line := line(&events[i]); line != "" {
			out = append(out, line)
		}
	}
	return out
}

func line(e *Event) string {
	switch e.Kind {
	case EventStatus:
		return fmt.Sprintf("status %s>%s", e.From, e.To)
	case EventTools:
		return fmt.Sprintf("tools(%s) +%d -%d ~%d", e.Reason, len(e.Added), len(e.Removed), len(e.Updated))
	case EventContent:
		return fmt.Sprintf("%s(%s) +%d -%d ~%d", e.List, e.Reason, len(e.Added), len(e.Removed), len(e.Updated))
	case EventInstructions:
		return fmt.Sprintf("instructions(%s)", e.Reason)
	case EventConnected:
		return "connected"
	case EventRecovery:
		return fmt.Sprintf("recovery %s %d of %d", e.Phase, e.Attempt, e.Limit)
	case EventResourceUpdated:
		return "updated " + e.URI
	case EventRefreshFailed:
		return fmt.Sprintf("refresh failed(%s)", e.Reason)
	case EventSubscriptionFailed:
		return "subscription failed " + e.URI
	case EventLog:
		return "log " + string(e.Level)
	case EventLogLevel:
		return fmt.Sprintf("level %s failed=%v", e.Level, e.Failure != nil)
	}
	return ""
}

// expect waits until the events are want.
func (rec *recorder) expect(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if got = rec.lines(); slices.Equal(got, want) {
			return
		}
		if len(got) > len(want) {
			break
		}
	}
	t.Fatalf("events:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
}

// contains waits for an event.
func (rec *recorder) contains(t *testing.T, want string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !slices.Contains(rec.lines(), want); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no %q in:\n  %s", want, strings.Join(rec.lines(), "\n  "))
		}
	}
}

// hasty is a server's entry that is tried again at once.
func hasty(f *fake) Server {
	s := to(f, "one")
	s.Policy.Recovery = Recovery{InitialDelay: 20 * time.Millisecond, MaxDelay: 50 * time.Millisecond, JitterPercent: -1}
	s.Policy.Health = Health{Off: true}
	return s
}

// The first connect (trace 1; CON-10, REG-12, CAT-35).
func TestTraceFirstConnect(t *testing.T) {
	f := newFake(t)
	f.caps = `{"tools":{},"resources":{},"prompts":{}}`
	f.results[wire.MethodResourcesList] = `{"resources":[{"uri":"r:1","name":"r"}]}`
	f.results[wire.MethodTemplatesList] = `{"resourceTemplates":[{"uriTemplate":"t:{x}","name":"t"}]}`
	f.results[wire.MethodPromptsList] = `{"prompts":[{"name":"p"}]}`
	r := newRuntime(t)
	r.Ensure("a", desired())
	rec := record(t, r)
	r.Ensure("a", desired(to(f, "one")))
	rec.expect(t, "status Idle>Connecting", "status Connecting>Connected", "tools(connection) +1 -0 ~0",
		"resources(connection) +1 -0 ~0", "resourceTemplates(connection) +1 -0 ~0", "prompts(connection) +1 -0 ~0",
		"instructions(connection)", "connected")
	if s, _ := r.Snapshot("a"); s.Revisions.Content != 3 || s.Revision != 1 || s.Revisions.Instructions != 1 {
		t.Errorf("REG-08: revisions %d %+v", s.Revision, s.Revisions)
	}
}

// A crash while calling, and every attempt fails (trace 2; REC-20, REC-21, REC-22, REC-24, REC-25, CALL-15, REG-13).
func TestTraceCrashAndFail(t *testing.T) {
	f := newFake(t)
	f.Config.ErrorLog = quiet()
	f.says = `""`
	f.answer = func(*wire.Message, *answer) { panic(errAbort) }
	r := newRuntime(t)
	server := hasty(f)
	server.Policy.Recovery.MaxAttempts = 2
	r.Ensure("a", desired(server))
	synced(t, r, "a")
	rec := record(t, r)
	f.crash()
	rec.expect(t, "tools(disconnection) +0 -1 ~0", "status Connected>Reconnecting", "recovery reconnecting 1 of 2",
		"recovery reconnecting 2 of 2", "status Reconnecting>Failed", "recovery failed 2 of 2")
	s, _ := r.Snapshot("a")
	if c := s.Servers[0]; c.Tools != nil || c.LastError == nil || c.Trigger == "" || len(s.Projection.Tools) != 0 {
		t.Errorf("REC-25: %+v", c)
	}
	_, err := r.Call(t.Context(), "a", CallRequest{Tool: "mcp__one__echo"})
	if reason, sent := endedBy(err); reason != CallNotConnected || sent {
		t.Errorf("REC-26: %v", err)
	}
}

// A crash, and the server is back (trace 3; REC-23, REG-11).
func TestTraceCrashAndRecover(t *testing.T) {
	f := newFake(t)
	f.Config.ErrorLog = quiet()
	r := newRuntime(t)
	r.Ensure("a", desired(hasty(f)))
	before := synced(t, r, "a")
	rec := record(t, r)
	f.with(func(f *fake) { f.tools = strings.ReplaceAll(oneTool, "echo", "other") })
	f.with(func(f *fake) { f.sessions = map[string]bool{} })
	f.CloseClientConnections()
	rec.expect(t, "tools(disconnection) +0 -1 ~0", "instructions(disconnection)", "status Connected>Reconnecting",
		"recovery reconnecting 1 of 5", "status Reconnecting>Connected", "tools(connection) +1 -0 ~0",
		"instructions(connection)", "connected", "recovery recovered 0 of 0")
	s, _ := r.Snapshot("a")
	if s.Revision != before.Revision+2 || s.Servers[0].Generation != 2 || s.Servers[0].LastError != nil {
		t.Errorf("REC-23: %d %+v", s.Revision, s.Servers[0])
	}
}

// Disconnect and connect by hand (trace 4; REC-27, CON-01, REG-05, REG-06).
func TestTraceByHand(t *testing.T) {
	f := newFake(t)
	f.says = `""`
	r := newRuntime(t)
	r.Ensure("a", desired(to(f, "one")))
	synced(t, r, "a")
	rec := record(t, r)
	for range 2 { // again is nothing
		if err := r.Disconnect("a", "one"); err != nil {
			t.Fatal(err)
		}
	}
	rec.expect(t, "status Connected>Closed", "tools(disconnection) +0 -1 ~0")
	if err := r.Disconnect("a", "nobody"); err != nil {
		t.Errorf("REG-05: %v", err)
	}
	if err := r.Reconnect("a", "nobody"); err == nil {
		t.Error("REG-05: reconnecting an unknown server is no error")
	}
	if s, _ := r.Snapshot("a"); s.Servers[0].State != StateClosed || s.Servers[0].LastError != nil || s.Servers[0].Generation != 2 {
		t.Errorf("REG-06: %+v", s.Servers[0])
	}
	r.Ensure("a", desired(to(f, "one"))) // what is desired did not change: it stays disconnected
	if err := r.Connect("a", "one"); err != nil {
		t.Fatal(err)
	}
	rec.expect(t, "status Connected>Closed", "tools(disconnection) +0 -1 ~0", "status Closed>Idle", "status Idle>Connecting",
		"status Connecting>Connected", "tools(connection) +1 -0 ~0", "connected")
	if err := r.Connect("a", "one"); err != nil {
		t.Errorf("CON-04: %v", err)
	}
}

// Recovery is off (trace 5; REC-24).
func TestTraceRecoveryOff(t *testing.T) {
	f := newFake(t)
	f.Config.ErrorLog = quiet()
	f.says = `""`
	r := newRuntime(t)
	server := hasty(f)
	server.Policy.Recovery.Off = true
	r.Ensure("a", desired(server))
	synced(t, r, "a")
	rec := record(t, r)
	f.crash()
	rec.expect(t, "tools(disconnection) +0 -1 ~0", "status Connected>Failed", "recovery failed 0 of 0")
	f.revive()
	time.Sleep(200 * time.Millisecond)
	if s, _ := r.Snapshot("a"); s.Servers[0].State != StateFailed {
		t.Errorf("it was tried again: %+v", s.Servers[0])
	}
	// A change of the definition leaves Failed.
	server.Policy.Recovery.Off = false
	r.Ensure("a", desired(server))
	eventually(t, r, "connected", func(s *Snapshot) bool { return s.Servers[0].State == StateConnected })
}

// A 500 ms back-off, disconnected in the middle (REC-27, REC-28, REC-29).
func TestDisconnectDuringBackOff(t *testing.T) {
	f := newFake(t)
	f.Config.ErrorLog = quiet()
	f.says = `""`
	r := newRuntime(t)
	server := hasty(f)
	server.Policy.Recovery = Recovery{InitialDelay: 500 * time.Millisecond, JitterPercent: -1}
	r.Ensure("a", desired(server))
	synced(t, r, "a")
	rec := record(t, r)
	f.crash()
	rec.expect(t, "tools(disconnection) +0 -1 ~0", "status Connected>Reconnecting", "recovery reconnecting 1 of 5")
	f.revive()
	began := get(f, func(f *fake) int { return f.began })
	if err := r.Disconnect("a", "one"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(650 * time.Millisecond)
	rec.expect(t, "tools(disconnection) +0 -1 ~0", "status Connected>Reconnecting", "recovery reconnecting 1 of 5",
		"status Reconnecting>Closed")
	if got := get(f, func(f *fake) int { return f.began }); got != began {
		t.Errorf("%d new sessions", got-began)
	}
}

// Delays of 20, 40 and 50 ms before every attempt, the first included (REC-02, REC-03).
func TestDelaysPrecedeAttempts(t *testing.T) {
	policy := Recovery{InitialDelay: 20 * time.Millisecond, MaxDelay: 50 * time.Millisecond, JitterPercent: -1, MaxAttempts: 5}
	var got []int64
	for n := 1; n <= 4; n++ {
		got = append(got, policy.delay(n, 0.3).Milliseconds())
	}
	if want := []int64{20, 40, 50, 50}; !slices.Equal(got, want) {
		t.Errorf("REC-02: %v, want %v", got, want)
	}
	policy = Policy{}.orDefault().Recovery
	policy.MaxDelay = time.Second
	if got := policy.delay(1, 1); got != time.Second {
		t.Errorf("DEV-12: %s is beyond the bound", got)
	}
}

// What is queued is bounded, oldest first to go, and drained once (REG-33, REG-34, CAT-41, REG-17).
func TestWatcherQueues(t *testing.T) {
	r := newRuntime(t)
	r.Ensure("a", desired())
	w, _, err := r.Watch("a")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	s := r.session("a")
	s.mu.Lock()
	for i := range int64(70) {
		s.emit(Event{Kind: EventLog, Revision: i + 1})
		s.emit(Event{Kind: EventInstructions, Revision: i + 1})
		s.emit(Event{Kind: EventResourceUpdated, Server: "x", URI: "u", Revision: i + 1})
	}
	s.emit(Event{Kind: EventConnected})
	s.emit(Event{Kind: EventTools})
	s.emit(Event{Kind: EventContent})
	s.mu.Unlock()
	var order []string
	count := map[EventKind][]int64{}
	for _, e := range w.Drain() {
		if len(order) == 0 || order[len(order)-1] != string(e.Kind) {
			order = append(order, string(e.Kind))
		}
		count[e.Kind] = append(count[e.Kind], e.Revision)
	}
	if got := strings.Join(order, " "); got != "Tools Content ResourceUpdated Connected Log Instructions" {
		t.Errorf("CAT-41: order %s", got)
	}
	logs, says, updates := count[EventLog], count[EventInstructions], count[EventResourceUpdated]
	if len(logs) != 64 || logs[0] != 7 || logs[63] != 70 || len(says) != 32 || says[0] != 39 {
		t.Errorf("REG-33: %d logs, %d instructions", len(logs), len(says))
	}
	if len(updates) != 1 || updates[0] != 70 {
		t.Errorf("REG-34, DEV-52: %v", updates)
	}
	if rest := w.Drain(); len(rest) != 0 {
		t.Errorf("a second drain brought %d", len(rest))
	}
}

// Watching ends with the session, before its connections do (DSP-02).
func TestWatchEnds(t *testing.T) {
	f := newFake(t)
	r := newRuntime(t)
	r.Ensure("a", desired(to(f, "one")))
	synced(t, r, "a")
	w, _, err := r.Watch("a")
	if err != nil {
		t.Fatal(err)
	}
	r.Release("a", time.Now().Add(5*time.Second))
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	for {
		select {
		case _, ok := <-w.Wake():
			if ok {
				continue
			}
		case <-ctx.Done():
			t.Fatal("it does not end")
		}
		break
	}
	if events := w.Drain(); len(events) != 0 {
		t.Errorf("it heard of the end: %+v", events)
	}
	if _, _, err := r.Watch("a"); err == nil {
		t.Error("a session that ends can be watched")
	}
	if _, _, err := r.Watch("b"); err == nil {
		t.Error("no session can be watched")
	}
}
