// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package interop

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp"
	"github.com/mooring-dev/mooring/test/servers"
)

// victims are servers that are disturbed, one for each transport and era.
var victims = []struct {
	name  string
	start starter
	offer *offer
}{
	{"everything over Streamable HTTP", over(mcp.TransportHTTP, servers.EverythingNode), &everything},
	{"everything over SSE", over(mcp.TransportSSE, servers.EverythingSSE), &everything},
	{"everything over stdio", of(servers.Everything), &everything},
	{"modern over Streamable HTTP", over(mcp.TransportHTTP, servers.ModernNode), &modern},
	{"modern over stdio", bridged(modernStdio), &modern},
}

// A server that dies and comes back serves again, as before: its tools, its subscriptions, and word of what may have been
// missed (SUB-04, SUB-05).
func TestServerDiesAndComesBack(t *testing.T) {
	for _, victim := range victims {
		t.Run(victim.name, func(t *testing.T) {
			s := victim.start(t)
			uri := victim.offer.updates.declared
			r := newRig(t, s.server, uri)
			before := r.snapshot()
			r.forget()
			s.kill(t)
			r.recovered(victim.offer)
			r.await("update of "+uri, func(e *mcp.Event) bool { return e.Kind == mcp.EventResourceUpdated && e.URI == uri })
			after := r.snapshot()
			if after.Projection.Digest != before.Projection.Digest {
				t.Error("other tools are projected than before")
			}
			s.released(r)
		})
	}
}

// What is subscribed to only after a recovery has missed nothing, and nothing is told of it (SUB-07).
func TestSubscriptionAfterARecovery(t *testing.T) {
	for _, victim := range victims {
		t.Run(victim.name, func(t *testing.T) {
			s := victim.start(t)
			u := victim.offer.updates
			r := newRig(t, s.server, u.declared)
			s.kill(t)
			r.recovered(victim.offer)
			r.await("update", func(e *mcp.Event) bool { return e.Kind == mcp.EventResourceUpdated && e.URI == u.declared })
			r.forget()
			if err := r.Subscribe(t.Context(), id, name, u.made); err != nil {
				t.Fatalf("subscribe: %v", err)
			}
			r.call(victim.offer.calls[0])
			if told := r.watcher.Drain(); slices.ContainsFunc(told, func(e mcp.Event) bool { return e.Kind == mcp.EventResourceUpdated }) {
				t.Errorf("told of an update: %s", kinds(told))
			}
		})
	}
}

// A server that hangs is found out by probes and given up (REC-13, REC-41); it serves again when it goes on, or in another
// process.
func TestServerHangs(t *testing.T) {
	for _, victim := range victims {
		t.Run(victim.name, func(t *testing.T) {
			s := victim.start(t)
			s.server.Policy.Health = mcp.Health{Interval: 200 * time.Millisecond, Timeout: 300 * time.Millisecond, FailureThreshold: 3}
			r := newRig(t, s.server, victim.offer.updates.declared)
			r.forget()
			resume := s.pause(t)
			event := r.await("recovery", func(e *mcp.Event) bool { return e.Kind == mcp.EventRecovery })
			if event.Phase != mcp.PhaseReconnecting || event.Trigger != mcp.TriggerHealthCheck {
				t.Errorf("event %+v", event)
			}
			if n := len(r.snapshot().Projection.Tools); n != 0 {
				t.Errorf("%d tools are projected", n)
			}
			resume()
			r.recovered(victim.offer)
			s.released(r)
		})
	}
}

// recovered waits until the server serves again.
func (r *rig) recovered(o *offer) {
	r.t.Helper()
	r.await("recovered", func(e *mcp.Event) bool { return e.Kind == mcp.EventRecovery && e.Phase == mcp.PhaseRecovered })
	got := r.synced()
	if got.State != mcp.StateConnected || !got.Recovered || got.Generation < 2 || got.Trigger == "" {
		r.t.Fatalf("%+v", got)
	}
	if s := r.subscription(o.updates.declared); s == nil || !s.Active {
		r.t.Errorf("subscription %+v", s)
	}
	if tool := o.calls[0]; tool.want == "" {
		r.t.Fatal("nothing is expected of the call")
	} else if _, texts := r.call(tool); !strings.Contains(texts, tool.want) {
		r.t.Errorf("%s: %s", tool.name, texts)
	}
}

// kill ends the server and sees to it that there is another one.
func (s started) kill(t *testing.T) {
	t.Helper()
	if s.process != nil {
		if err := s.process.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err := syscall.Kill(s.pid(t), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// pause stops the server's process until resume.
func (s started) pause(t *testing.T) (resume func()) {
	t.Helper()
	if s.process == nil { // the bridge ends a process that does not listen
		if err := syscall.Kill(s.pid(t), syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		return func() {}
	}
	if err := s.process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := s.process.Signal(syscall.SIGCONT); err != nil {
			t.Error(err)
		}
	}
}

// pid is the process of a stdio server, which has one.
func (s started) pid(t *testing.T) int {
	t.Helper()
	var pids []int
	eventually(t, patience, func() string {
		if pids = s.running(t); len(pids) != 1 {
			return fmt.Sprintf("%d processes of the server", len(pids))
		}
		return ""
	})
	return pids[0]
}

// Commands of people work on every transport, and a disconnected server costs nothing (REC-27, CON-04).
func TestCommands(t *testing.T) {
	for _, victim := range victims {
		t.Run(victim.name, func(t *testing.T) {
			s := victim.start(t)
			uri := victim.offer.updates.declared
			r := newRig(t, s.server, uri)
			if err := r.Refresh(t.Context(), id, name); err != nil {
				t.Errorf("refresh: %v", err)
			}
			generation := r.serves(victim.offer, 0)
			if err := r.Reconnect(id, name); err != nil {
				t.Fatal(err)
			}
			generation = r.serves(victim.offer, generation)
			if err := r.Disconnect(id, name); err != nil {
				t.Fatal(err)
			}
			eventually(t, patience, func() string {
				state, sockets, processes := r.snapshot().Servers[0].State, r.sockets.count(), len(s.running(t))
				if state != mcp.StateClosed || sockets > 0 || processes > 0 {
					return fmt.Sprintf("%s, %d sockets, %d processes", state, sockets, processes)
				}
				return ""
			})
			if err := r.Connect(id, name); err != nil {
				t.Fatal(err)
			}
			r.serves(victim.offer, generation)
			s.released(r)
		})
	}
}

// serves waits until the server serves in a later generation, which it returns.
func (r *rig) serves(o *offer, after int64) (generation int64) {
	r.t.Helper()
	var got mcp.ServerSnapshot
	eventually(r.t, patience, func() string {
		if got = r.snapshot().Servers[0]; got.State != mcp.StateConnected || got.Generation <= after {
			return fmt.Sprintf("state %s of generation %d: %+v", got.State, got.Generation, got.LastError)
		}
		return ""
	})
	if s := r.subscription(o.updates.declared); s == nil || !s.Active {
		r.t.Errorf("subscription %+v", s)
	}
	if _, texts := r.call(o.calls[0]); !strings.Contains(texts, o.calls[0].want) {
		r.t.Errorf("%s: %s", o.calls[0].name, texts)
	}
	return got.Generation
}
