// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// probed is a server's entry that is probed every 20 ms.
func probed(f *fake, threshold int) Server {
	s := hasty(f)
	s.Policy.Health = Health{Interval: 20 * time.Millisecond, Timeout: 50 * time.Millisecond, FailureThreshold: threshold}
	return s
}

// Probes come one after the other; failures degrade, then end the connection; recovery follows (REC-13, REC-40 to REC-43,
// REC-15: their timeouts are not transport errors).
func TestREC41Probes(t *testing.T) {
	f := newFake(t)
	var hang atomic.Bool
	var running, overlapped atomic.Int32
	release := make(chan struct{})
	f.handle = func(m *wire.Message, _ *answer) bool {
		if m.Method == wire.MethodPing {
			if running.Add(1) > 1 && !hang.Load() {
				overlapped.Add(1)
			}
			defer running.Add(-1)
			if hang.Load() {
				<-release
			}
		}
		return false
	}
	defer close(release)
	r := newRuntime(t)
	r.Ensure("a", desired(probed(f, 3)))
	synced(t, r, "a")
	waitFor(t, func() bool { return f.count(wire.MethodPing) > 3 })
	if overlapped.Load() > 0 {
		t.Error("REC-42: probes overlap")
	}
	rec := record(t, r)
	hang.Store(true)
	s := eventually(t, r, "degraded", func(s *Snapshot) bool { return s.Servers[0].Degraded })
	if c := s.Servers[0]; c.State != StateConnected || c.LastError == nil || c.LastError.Reason != FailureTimeout {
		t.Errorf("REC-41: %+v", c)
	}
	s = eventually(t, r, "lost", func(s *Snapshot) bool { return s.Servers[0].Trigger == TriggerHealthCheck })
	if c := s.Servers[0]; c.Degraded || c.Tools != nil {
		t.Errorf("REC-42: %+v", c)
	}
	hang.Store(false)
	eventually(t, r, "recovered", func(s *Snapshot) bool { return s.Servers[0].State == StateConnected && s.Servers[0].Generation > 1 })
	rec.contains(t, "recovery reconnecting 1 of 5") // REC-13
}

// One failure degrades, and one success ends that (REC-41, REC-42).
func TestREC42Degraded(t *testing.T) {
	f := newFake(t)
	r := newRuntime(t)
	r.Ensure("a", desired(probed(f, 10)))
	synced(t, r, "a")
	var failures atomic.Int32
	hold := make(chan struct{})
	f.with(func(f *fake) {
		f.handle = func(m *wire.Message, _ *answer) bool {
			if m.Method == wire.MethodPing && failures.Add(1) == 1 {
				<-hold
			}
			return false
		}
	})
	eventually(t, r, "degraded", func(s *Snapshot) bool { return s.Servers[0].Degraded })
	close(hold)
	s := eventually(t, r, "well again", func(s *Snapshot) bool { return !s.Servers[0].Degraded })
	if c := s.Servers[0]; c.State != StateConnected || c.Generation != 1 || c.LastError != nil {
		t.Errorf("%+v", c)
	}
	// Probes can be turned off without a new connection.
	server := probed(f, 10)
	server.Policy.Health.Off = true
	r.Ensure("a", desired(server))
	time.Sleep(30 * time.Millisecond)
	pings := f.count(wire.MethodPing)
	time.Sleep(80 * time.Millisecond)
	if got := f.count(wire.MethodPing); got > pings {
		t.Errorf("REC-40: %d probes while they are off", got-pings)
	}
	if s, _ := r.Snapshot("a"); s.Servers[0].Generation != 1 {
		t.Error("a policy made another connection")
	}
}

// A session that the server has forgotten is given up at the next word, by status and not by text (REC-11, DEV-43); a
// refused call is not (REC-15), nor are any number of timeouts.
func TestREC11SessionExpired(t *testing.T) {
	f := newFake(t)
	f.answer = func(_ *wire.Message, a *answer) { a.error(-32001) } // "session not found", some say
	r := newRuntime(t)
	r.Ensure("a", desired(hasty(f)))
	synced(t, r, "a")
	if _, err := r.Call(t.Context(), "a", CallRequest{Tool: "mcp__one__echo"}); err == nil {
		t.Fatal("no error")
	}
	if s, _ := r.Snapshot("a"); s.Servers[0].Generation != 1 || s.Servers[0].State != StateConnected {
		t.Errorf("REC-15: %+v", s.Servers[0])
	}
	f.with(func(f *fake) { f.sessions = map[string]bool{}; f.answer = nil })
	_, err := r.Call(t.Context(), "a", CallRequest{Tool: "mcp__one__echo"})
	if reason, _ := endedBy(err); reason != CallRejected {
		t.Errorf("%v", err)
	}
	eventually(t, r, "recovered", func(s *Snapshot) bool { return s.Servers[0].Generation == 2 && s.Servers[0].State == StateConnected })
	if n := f.count(wire.MethodToolsCall); n != 1 {
		t.Errorf("REC-26: the server saw %d calls", n)
	}
}

// Transport errors in a row end a connection at the threshold, and a success in between begins the row anew (REC-12,
// DEV-44).
func TestREC12Threshold(t *testing.T) {
	f := newFake(t)
	f.Config.ErrorLog = quiet()
	var broken atomic.Bool
	f.handle = func(m *wire.Message, _ *answer) bool {
		if m.Method == wire.MethodToolsCall && broken.Load() {
			panic(http.ErrAbortHandler)
		}
		return false
	}
	r := newRuntime(t)
	server := hasty(f)
	server.Policy.Recovery.FailureThreshold = 3
	r.Ensure("a", desired(server))
	synced(t, r, "a")
	broken.Store(true)
	for range 10 { // each is a fault, and the look that follows finds the server well
		if _, err := r.Call(t.Context(), "a", CallRequest{Tool: "mcp__one__echo"}); err == nil {
			t.Fatal("no error")
		}
		time.Sleep(20 * time.Millisecond)
	}
	if s, _ := r.Snapshot("a"); s.Servers[0].Generation != 1 {
		t.Errorf("DEV-44: %+v", s.Servers[0])
	}
	f.crash()
	eventually(t, r, "lost", func(s *Snapshot) bool { return s.Servers[0].State == StateReconnecting })
	f.revive()
	broken.Store(false)
	eventually(t, r, "back", func(s *Snapshot) bool { return s.Servers[0].State == StateConnected })
}
