// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"context"
	"errors"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mooring-dev/mooring/internal/mcp"
)

const (
	theirs = mcp.SessionID("theirs") // the session at the hostile server
	ours   = mcp.SessionID("ours")   // and the one at the healthy server

	tool = "mcp__it__echo"

	// patience bounds what must happen soon, releaseTime a Release whatever the server does.
	patience    = 20 * time.Second
	releaseTime = 5 * time.Second
	// never is longer than a test: what rests until then is not tried again by itself.
	never = time.Hour
)

// eras runs a test against a server of each era.
func eras(t *testing.T, test func(t *testing.T, modern bool)) {
	t.Helper()
	t.Run("legacy", func(t *testing.T) { test(t, false) })
	t.Run("modern", func(t *testing.T) { test(t, true) })
}

// quick is a policy under which things happen soon.
func quick() mcp.Policy {
	return mcp.Policy{
		Calls: mcp.CallLimits{Total: time.Second},
		Recovery: mcp.Recovery{
			MaxAttempts: 20, InitialDelay: 10 * time.Millisecond, MaxDelay: 100 * time.Millisecond, JitterPercent: -1,
		},
		Health: mcp.Health{Off: true},
	}
}

// probed is quick with health checks.
func probed() mcp.Policy {
	p := quick()
	p.Health = mcp.Health{Interval: 20 * time.Millisecond, Timeout: 100 * time.Millisecond}
	return p
}

// play is how a stage begins.
type play struct {
	modern bool
	policy mcp.Policy
	// before turns the hostile server before anybody connects.
	before        func(*server)
	subscriptions []string
}

// stage is one case: a hostile session and a healthy one in one Runtime.
type stage struct {
	t         *testing.T
	rt        *mcp.Runtime
	foe       *server
	friend    *server
	neighbour *neighbour
	meter     *meter
	files     int
	leaks     goleak.Option
	changes   atomic.Int64 // of the hostile session, that somebody was told of
}

// begin opens a stage, which ends with the test.
func begin(t *testing.T, p play) *stage {
	t.Helper()
	s := &stage{t: t, leaks: goleak.IgnoreCurrent(), files: descriptors(t), meter: measure()}
	s.foe, s.friend = newServer(t, p.modern), newServer(t, p.modern)
	if p.before != nil {
		p.before(s.foe)
	}
	s.rt = mcp.New(mcp.Options{Egress: &net.Dialer{}, RestRetry: never, OnChange: func(id mcp.SessionID) {
		if id == theirs {
			s.changes.Add(1)
		}
	}})
	t.Cleanup(s.end)
	theirDesired := mcp.Desired{Servers: []mcp.Server{s.to(s.foe, p.policy)}}
	for _, uri := range p.subscriptions {
		theirDesired.Subscriptions = append(theirDesired.Subscriptions, mcp.Subscription{Server: "it", URI: uri})
	}
	s.rt.Ensure(ours, mcp.Desired{Servers: []mcp.Server{s.to(s.friend, mcp.Policy{})}})
	s.rt.Ensure(theirs, theirDesired)
	s.awaits(ours, "the healthy session connects", connected)
	s.neighbour = callOn(s.rt)
	return s
}

func (*stage) to(server *server, policy mcp.Policy) mcp.Server {
	return mcp.Server{Name: "it", Fingerprint: server.url(), HTTP: mcp.Endpoint{URL: server.url(), Era: mcp.EraAuto}, Policy: policy}
}

// end checks what must hold whatever the case did.
func (s *stage) end() {
	s.neighbour.stop(s.t)
	if got := s.look(ours); got.State != mcp.StateConnected || got.Generation != 1 || got.Trigger != "" || got.LastError != nil {
		s.t.Errorf("the healthy session was disturbed: %s", show(&got))
	}
	s.release(theirs, ours)
	s.gone("sockets", func() int { return s.foe.sockets() + s.friend.sockets() }, 0)
	ctx, cancel := context.WithTimeout(context.Background(), releaseTime)
	defer cancel()
	if err := s.rt.Close(ctx); err != nil {
		s.t.Errorf("Close: %v", err)
	}
	s.foe.stop()
	s.friend.stop()
	s.meter.check(s.t)
	s.gone("file descriptors", func() int { return descriptors(s.t) }, s.files)
	if err := goleak.Find(s.leaks); err != nil {
		s.t.Errorf("goroutines are left: %v", err)
	}
}

// release ends sessions, within their time.
func (s *stage) release(ids ...mcp.SessionID) {
	begun := time.Now()
	for _, id := range ids {
		s.rt.Release(id, begun.Add(releaseTime/2))
	}
	for _, id := range ids {
		for !s.rt.Release(id, time.Time{}).Done {
			if time.Since(begun) > releaseTime {
				s.t.Errorf("the release of %s is not done after %s", id, releaseTime)
				return
			}
			time.Sleep(time.Millisecond)
		}
		s.rt.Forget(id)
	}
}

// gone waits until a count is back at what it was.
func (s *stage) gone(what string, count func() int, base int) {
	s.t.Helper()
	for end := time.Now().Add(releaseTime); count() > base; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Errorf("%s: %d are left, of %d at first", what, count(), base)
			return
		}
	}
}

// descriptors counts the open file descriptors of the process.
func descriptors(t testing.TB) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skipf("no /proc: %v", err)
	}
	return len(files)
}

// look returns the snapshot of a session's one server.
func (s *stage) look(id mcp.SessionID) mcp.ServerSnapshot {
	s.t.Helper()
	snapshot, ok := s.rt.Snapshot(id)
	if !ok || len(snapshot.Servers) != 1 {
		s.t.Fatalf("no snapshot of %s", id)
	}
	return snapshot.Servers[0]
}

// awaits waits until a session's server fits.
func (s *stage) awaits(id mcp.SessionID, what string, fits func(*mcp.ServerSnapshot) bool) mcp.ServerSnapshot {
	s.t.Helper()
	return s.awaitsFor(patience, id, what, fits)
}

func (s *stage) awaitsFor(
	limit time.Duration, id mcp.SessionID, what string, fits func(*mcp.ServerSnapshot) bool,
) mcp.ServerSnapshot {
	s.t.Helper()
	for end := time.Now().Add(limit); ; time.Sleep(time.Millisecond) {
		got := s.look(id)
		if fits(&got) {
			return got
		}
		if time.Now().After(end) {
			s.t.Fatalf("%s: not within %s: %s", what, limit, show(&got))
		}
	}
}

// connects waits until the hostile session serves.
func (s *stage) connects(why string) mcp.ServerSnapshot {
	s.t.Helper()
	got := s.awaits(theirs, why, connected)
	if got.Tools == nil {
		s.t.Fatalf("%s: connected without tools", why)
	}
	return got
}

func connected(c *mcp.ServerSnapshot) bool { return c.State == mcp.StateConnected }

// failed fits a state with a reason.
func failed(state mcp.State, reason mcp.FailureReason) func(*mcp.ServerSnapshot) bool {
	return func(c *mcp.ServerSnapshot) bool {
		return c.State == state && c.LastError != nil && c.LastError.Reason == reason
	}
}

// recovers makes the server behave and waits until it serves again.
func (s *stage) recovers() mcp.ServerSnapshot {
	s.t.Helper()
	s.foe.behave()
	got := s.awaits(theirs, "recovery", func(c *mcp.ServerSnapshot) bool { return connected(c) && c.LastError == nil })
	if err := s.call(); err != nil {
		s.t.Errorf("a call after the recovery: %v", err)
	}
	return got
}

// call makes one tools/call in the hostile session.
func (s *stage) call() error {
	_, err := s.rt.Call(context.Background(), theirs, mcp.CallRequest{Tool: tool})
	return err
}

// fails makes one tools/call in the hostile session that must fail in a way, and in doubt or not: whether it took effect.
func (s *stage) fails(reason mcp.CallReason, doubt bool) {
	s.t.Helper()
	err := s.call()
	var call *mcp.CallError
	if !errors.As(err, &call) || call.Reason != reason || call.OutcomeUnknown() != doubt {
		s.t.Errorf("the call ended with %v (outcome unknown: %t), want %s (%t)", err, call != nil && call.OutcomeUnknown(), reason, doubt)
	}
}

// refresh lists again and waits for it.
func (s *stage) refresh() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return s.rt.Refresh(ctx, theirs, "it")
}

// eventually waits until something holds.
func (s *stage) eventually(what string, holds func() bool) {
	s.t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("%s: never", what)
		}
	}
}
