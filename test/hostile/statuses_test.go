// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"net/http"
	"testing"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// TestUnauthorizedRests: needing authorization is a stable state, and no loop of attempts (field report muster#402).
func TestUnauthorizedRests(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		s := begin(t, play{modern: modern, policy: probed(), before: func(foe *server) {
			foe.turn(everything, status(http.StatusUnauthorized))
		}})
		s.awaits(theirs, "401", failed(mcp.StateAuthorizationRequired, mcp.FailureUnauthorized))
		s.rests("401")
		s.foe.behave()
		if err := s.rt.Connect(theirs, "it"); err != nil {
			t.Fatal(err)
		}
		s.recovers()

		// On the way: the tools are withdrawn, and the state is as stable.
		s.foe.turn(everything, status(http.StatusUnauthorized))
		got := s.awaits(theirs, "401 on the way", failed(mcp.StateAuthorizationRequired, mcp.FailureUnauthorized))
		if got.Trigger != mcp.TriggerUnauthorized || got.Tools != nil {
			t.Errorf("401 on the way: %s", show(&got))
		}
		s.fails(mcp.CallNotConnected, false)
		s.rests("401 on the way")
		s.foe.behave()
		if err := s.rt.Connect(theirs, "it"); err != nil {
			t.Fatal(err)
		}
		s.recovers()
	})
}

// rests fails the test if the server is asked for anything. What was under way has a moment to end.
func (s *stage) rests(why string) {
	s.t.Helper()
	time.Sleep(100 * time.Millisecond)
	before := s.foe.total()
	time.Sleep(300 * time.Millisecond)
	if after := s.foe.total(); after != before {
		s.t.Errorf("%s: %d more requests", why, after-before)
	}
}

// TestRetryAfterIsHeeded: 429 says when to come back, and nobody comes before.
func TestRetryAfterIsHeeded(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		s := begin(t, play{modern: modern, policy: quick(), before: func(foe *server) {
			foe.turn(everything, status(http.StatusTooManyRequests, "Retry-After", "1"))
		}})
		got := s.awaits(theirs, "429", failed(mcp.StateConnecting, mcp.FailureRateLimited))
		if wait := time.Until(got.NextAttempt); wait < 700*time.Millisecond || wait > 1100*time.Millisecond {
			t.Errorf("the next attempt is in %s, and the server asked for 1s", wait)
		}
		s.foe.behave()
		s.rests("429")
		s.recovers()

		// A call that is refused was not executed, and costs nobody the connection.
		s.foe.turn(wire.MethodToolsCall, status(http.StatusTooManyRequests, "Retry-After", "1"))
		s.fails(mcp.CallRejected, false)
		if got := s.recovers(); got.Generation < 1 || got.Trigger != "" {
			t.Errorf("429 cost the connection: %s", show(&got))
		}
	})
}

func TestUnavailable(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		s := begin(t, play{modern: modern, policy: quick(), before: func(foe *server) {
			foe.turn(everything, status(http.StatusServiceUnavailable))
		}})
		got := s.awaits(theirs, "503", failed(mcp.StateConnecting, mcp.FailureServerError))
		if got.ProtocolVersion != "" {
			t.Errorf("503 negotiated %q", got.ProtocolVersion)
		}
		want := map[bool]string{false: wire.Version20251125, true: wire.Version20260728}[modern]
		if got := s.recovers(); got.ProtocolVersion != want {
			t.Errorf("after 503 the version is %q, want %q", got.ProtocolVersion, want)
		}
		s.foe.turn(wire.MethodToolsCall, status(http.StatusServiceUnavailable))
		s.fails(mcp.CallRejected, true)
		s.recovers()
	})
}

// TestUnavailableForLongIsNoHealth: connected means that a round trip to the server works (field report muster#999). What
// a proxy says in its place is none (REC-13, REC-41).
func TestUnavailableForLongIsNoHealth(t *testing.T) {
	for name, code := range map[string]int{"502": http.StatusBadGateway, "503": http.StatusServiceUnavailable} {
		t.Run(name, func(t *testing.T) {
			eras(t, func(t *testing.T, modern bool) {
				s := begin(t, play{modern: modern, policy: probed()})
				s.connects("a good beginning")
				s.foe.turn(everything, status(code))
				got := s.awaitsFor(3*time.Second, theirs, "the loss", failed(mcp.StateReconnecting, mcp.FailureServerError))
				if got.Trigger != mcp.TriggerHealthCheck || got.Tools != nil {
					t.Errorf("lost: %s", show(&got))
				}
				s.recovers()
			})
		})
	}
}

// TestRedirectIsNotFollowed: the other host sees nothing.
func TestRedirectIsNotFollowed(t *testing.T) {
	for _, code := range []int{http.StatusFound, http.StatusTemporaryRedirect} {
		t.Run(http.StatusText(code), func(t *testing.T) {
			eras(t, func(t *testing.T, modern bool) {
				other := newServer(t, modern)
				defer other.stop()
				elsewhere := status(code, "Location", other.url())
				s := begin(t, play{modern: modern, policy: quick(), before: func(foe *server) { foe.turn(everything, elsewhere) }})
				s.awaits(theirs, "a redirect", failed(mcp.StateFailed, mcp.FailureRedirected))
				s.rests("a redirect")
				s.foe.behave()
				if err := s.rt.Connect(theirs, "it"); err != nil {
					t.Fatal(err)
				}
				s.recovers()
				s.foe.turn(wire.MethodToolsCall, elsewhere)
				s.fails(mcp.CallRejected, false)
				s.foe.turn(wire.MethodToolsList, elsewhere)
				if s.refresh() == nil {
					t.Error("a redirected refresh succeeded")
				}
				s.awaits(theirs, "a redirected refresh", failed(mcp.StateConnected, mcp.FailureRedirected))
				s.foe.behave()
				if err := s.refresh(); err != nil {
					t.Errorf("a refresh: %v", err)
				}
				s.recovers()
				if n := other.total() + other.sockets(); n != 0 {
					t.Errorf("the other host saw %d requests and connections", n)
				}
			})
		})
	}
}

// TestRedeployIsNoticed: a server that was replaced while nobody called it is found out by the next probe, and the connection
// to the new one works (field report muster#999).
func TestRedeployIsNoticed(t *testing.T) {
	s := begin(t, play{policy: probed()})
	s.connects("a good beginning")
	s.foe.forget()
	got := s.awaits(theirs, "another session", func(c *mcp.ServerSnapshot) bool { return connected(c) && c.Generation == 2 })
	if got.Trigger != mcp.TriggerSessionExpired || !got.Recovered {
		t.Errorf("after a redeployment: %s", show(&got))
	}
	s.recovers()
}

// TestDEV43SessionExpiryIsAStatus: a bare 404 within a session is its end, whatever the body says (DEV-43, REC-11): tools
// are withdrawn (REC-20), and the next connection has a session of its own.
func TestDEV43SessionExpiryIsAStatus(t *testing.T) {
	s := begin(t, play{policy: quick()})
	s.connects("a good beginning")
	sessions := s.foe.times(wire.MethodInitialize)
	s.foe.forget()
	held := make(chan struct{})
	s.foe.turn(wire.MethodInitialize, func(x *exchange) { // so that the loss can be seen
		<-held
		honest(x)
	})
	s.fails(mcp.CallRejected, false)
	got := s.awaits(theirs, "the loss", func(c *mcp.ServerSnapshot) bool { return c.State == mcp.StateReconnecting })
	if got.Trigger != mcp.TriggerSessionExpired || got.Tools != nil || got.LastError == nil {
		t.Errorf("404: %s", show(&got))
	}
	s.fails(mcp.CallNotConnected, false)
	close(held)
	got = s.recovers()
	if n := s.foe.times(wire.MethodInitialize) - sessions; n != 1 || got.Generation != 2 || !got.Recovered {
		t.Errorf("%d new sessions, %s", n, show(&got))
	}
	// Text about sessions in a call's own error is the tool's, and no expiry.
	s.foe.turn(wire.MethodToolsCall, body(mediaJSON,
		`{"jsonrpc":"2.0","id":ID,"error":{"code":-32001,"message":"404 session not found"}}`))
	s.fails(mcp.CallRPCError, false)
	if got := s.recovers(); got.Generation != 2 {
		t.Errorf("a tool's error cost the connection: %s", show(&got))
	}
}
