// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// TestKill: the server goes, with its listener, and comes back. Its tools are withdrawn and its subscriptions wanted but
// not active (SUB-04), calls in flight fail with an unknown outcome and are not repeated (REC-26), and all is restored
// (SUB-05).
func TestKill(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		s := begin(t, play{modern: modern, policy: probed(), subscriptions: []string{"file:///a"}})
		got := s.connects("a good beginning")
		if len(got.Subscriptions) != 1 || !got.Subscriptions[0].Active {
			t.Fatalf("subscriptions %+v", got.Subscriptions)
		}
		s.foe.turn(wire.MethodToolsCall, hang)
		ended := make(chan error, 1)
		go func() { ended <- s.call() }()
		s.eventually("the call is there", func() bool { return s.foe.times(wire.MethodToolsCall) == 1 })
		s.foe.stop()
		var call *mcp.CallError
		if err := <-ended; !errors.As(err, &call) || call.Reason != mcp.CallConnectionLost || !call.OutcomeUnknown() {
			t.Errorf("the call in flight: %v", err)
		}
		got = s.awaits(theirs, "the loss", failed(mcp.StateReconnecting, mcp.FailureUnreachable))
		if got.Tools != nil || len(got.Subscriptions) != 1 || got.Subscriptions[0].Active {
			t.Errorf("SUB-04: %s, %+v", show(&got), got.Subscriptions)
		}
		if got.Trigger != mcp.TriggerTransportError && got.Trigger != mcp.TriggerHealthCheck {
			t.Errorf("REC-12: %s", show(&got))
		}
		s.fails(mcp.CallNotConnected, false)
		s.foe.start()
		if got = s.recovers(); !got.Recovered || !got.Subscriptions[0].Active {
			t.Errorf("SUB-05: %s, %+v", show(&got), got.Subscriptions)
		}
		if n := s.foe.times(wire.MethodToolsCall); n != 2 { // the one that was lost, and the one of recovers
			t.Errorf("the server saw %d calls", n)
		}
	})
}

// TestKilledForGood: attempts are counted and end (REC-24); what rests then can be woken (REC-25).
func TestKilledForGood(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		policy := probed()
		policy.Recovery.MaxAttempts, policy.Recovery.MaxDelay = 3, 20*time.Millisecond
		s := begin(t, play{modern: modern, policy: policy})
		s.connects("a good beginning")
		s.foe.stop()
		got := s.awaits(theirs, "the end of the attempts", failed(mcp.StateFailed, mcp.FailureUnreachable))
		if got.Attempt != 3 || got.Limit != 3 || !got.NextAttempt.IsZero() {
			t.Errorf("after the attempts: %s", show(&got))
		}
		s.foe.start()
		if err := s.rt.Connect(theirs, "it"); err != nil {
			t.Fatal(err)
		}
		s.recovers()
	})
}

// TestHealthFindsAHang: a server that accepts and answers no more is found out by the probes (REC-13, REC-41), and not by
// calls that run into their limits (REC-15).
func TestHealthFindsAHang(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		s := begin(t, play{modern: modern, policy: probed()})
		s.connects("a good beginning")
		s.foe.turn(everything, hang)
		got := s.awaits(theirs, "the loss", failed(mcp.StateReconnecting, mcp.FailureTimeout))
		if got.Trigger != mcp.TriggerHealthCheck || got.Tools != nil {
			t.Errorf("the loss: %s", show(&got))
		}
		s.foe.behave()
		if err := s.rt.Reconnect(theirs, "it"); err != nil { // the attempt under way may hang for a minute
			t.Fatal(err)
		}
		s.recovers()
	})
}

// TestREC15TimeoutsOfCallsAreNoLoss: without probes, calls may time out for ever.
func TestREC15TimeoutsOfCallsAreNoLoss(t *testing.T) {
	s := begin(t, play{policy: quick()})
	s.connects("a good beginning")
	s.foe.turn(wire.MethodToolsCall, hang)
	ended := make(chan error, 5)
	for range cap(ended) {
		go func() { ended <- s.call() }()
	}
	for range cap(ended) {
		var call *mcp.CallError
		if err := <-ended; !errors.As(err, &call) || call.Reason != mcp.CallTimeout {
			t.Errorf("a call that hangs: %v", err)
		}
	}
	if got := s.recovers(); got.Generation != 1 {
		t.Errorf("timeouts cost the connection: %s", show(&got))
	}
}

// TestHangingSubscribe: whoever subscribes at a server that does not answer is not kept beyond the connection, nor beyond
// the session, and the calls beside it are not held up.
func TestHangingSubscribe(t *testing.T) {
	for name, end := range map[string]func(*stage){
		"loss":       func(s *stage) { s.foe.stop() },
		"reconnect":  func(s *stage) { _ = s.rt.Reconnect(theirs, "it") },
		"disconnect": func(s *stage) { _ = s.rt.Disconnect(theirs, "it") },
		"release":    func(s *stage) { s.rt.Release(theirs, time.Now().Add(releaseTime/2)) },
	} {
		t.Run(name, func(t *testing.T) {
			eras(t, func(t *testing.T, modern bool) {
				s := begin(t, play{modern: modern, policy: probed()})
				s.connects("a good beginning")
				method := map[bool]string{false: wire.MethodSubscribe, true: wire.MethodListen}[modern]
				before := s.foe.times(method)
				s.foe.turn(method, hang)
				s.returns(func(ctx context.Context) error { return s.rt.Subscribe(ctx, theirs, "it", "file:///b") },
					func() bool { return s.foe.times(method) > before }, func() { end(s) })
			})
		})
	}
}

// TestHangingRefresh: whoever waits for a refresh that hangs is told when the connection is lost, or the session ends.
func TestHangingRefresh(t *testing.T) {
	for name, end := range map[string]func(*stage){
		"loss":    func(s *stage) { s.foe.stop() },
		"release": func(s *stage) { s.rt.Release(theirs, time.Now().Add(releaseTime/2)) },
	} {
		t.Run(name, func(t *testing.T) {
			eras(t, func(t *testing.T, modern bool) {
				s := begin(t, play{modern: modern, policy: probed()})
				s.connects("a good beginning")
				before := s.foe.times(wire.MethodToolsList)
				s.foe.turn(wire.MethodToolsList, hang)
				s.returns(func(ctx context.Context) error { return s.rt.Refresh(ctx, theirs, "it") },
					func() bool { return s.foe.times(wire.MethodToolsList) > before }, func() { end(s) })
			})
		})
	}
}

// returns checks that a request which hangs at the server returns soon after its connection has ended, with an error.
func (s *stage) returns(request func(context.Context) error, hangs func() bool, end func()) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		defer func() {
			if wrong := recover(); wrong != nil {
				ended <- nil
				s.t.Errorf("the request panicked: %v", wrong)
			}
		}()
		ended <- request(ctx)
	}()
	s.eventually("the request is there", hangs)
	if err := s.call(); err != nil {
		s.t.Errorf("a call beside it: %v", err)
	}
	end()
	select {
	case err := <-ended:
		if err == nil {
			s.t.Error("the request did not fail")
		}
	case <-time.After(releaseTime):
		s.t.Errorf("the request had not returned %s after its connection had ended", releaseTime)
		cancel()
		err := <-ended
		s.t.Logf("and then with %v", err)
	}
}
