// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// requestLimit is the limit of requests that have none of their own (CON-18), and grace what may come on top of it.
const (
	requestLimit = time.Minute
	grace        = 5 * time.Second
)

// hangingMethods are those of a connection attempt, which hangs in any of them for a long time.
func hangingMethods(modern bool) []string {
	methods := []string{wire.MethodToolsList, wire.MethodResourcesList, wire.MethodPromptsList}
	if modern {
		return append(methods, wire.MethodDiscover)
	}
	return append(methods, wire.MethodInitialize, wire.MethodInitialized, wire.MethodSubscribe)
}

// TestHangingAttempt: an attempt that hangs can be given up at any time, by people and by Release, and leaves nothing, also
// no session at the server (CON-06, DEV-55). Other servers do not wait for it (DEV-51).
func TestHangingAttempt(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		for _, method := range hangingMethods(modern) {
			t.Run(method, func(t *testing.T) {
				s := begin(t, play{modern: modern, policy: quick(), subscriptions: []string{"file:///a"}, before: func(foe *server) {
					foe.turn(method, hang)
				}})
				s.eventually("it hangs", func() bool { return s.foe.times(method) > 0 })
				if got := s.look(theirs); got.State != mcp.StateConnecting || got.LastError != nil || got.Tools != nil {
					t.Errorf("while it hangs: %s", show(&got))
				}
				s.besides()
				if err := s.rt.Reconnect(theirs, "it"); err != nil {
					t.Fatal(err)
				}
				if got := s.recovers(); !got.Subscriptions[0].Active {
					t.Errorf("subscriptions %+v", got.Subscriptions)
				}
				// Once more, and this time the end of the stage gives it up.
				s.foe.turn(method, hang)
				before := s.foe.times(method)
				if err := s.rt.Reconnect(theirs, "it"); err != nil {
					t.Fatal(err)
				}
				s.eventually("it hangs again", func() bool { return s.foe.times(method) > before })
				s.release(theirs)
				if begun, ended := s.foe.begun(), s.foe.times(http.MethodDelete); begun != ended {
					t.Errorf("DEV-55: %d sessions were begun, and %d ended", begun, ended)
				}
			})
		}
	})
}

// TestHangingEnd: a server that does not confirm the end of its session holds nobody up, and is named.
func TestHangingEnd(t *testing.T) {
	s := begin(t, play{policy: quick()})
	s.connects("a good beginning")
	s.foe.turn(http.MethodDelete, hang)
	s.release(theirs) // within its time
	if n := s.foe.times(http.MethodDelete); n != 1 {
		t.Errorf("the server was told %d times", n)
	}
}

// besides makes the hanging server behave for all but what hangs, and adds a healthy server to its session.
func (s *stage) besides() {
	s.t.Helper()
	hostile, healthy := s.to(s.foe, quick()), s.to(s.friend, quick())
	healthy.Name = "beside"
	desired := mcp.Desired{
		Servers: []mcp.Server{hostile, healthy}, Subscriptions: []mcp.Subscription{{Server: "it", URI: "file:///a"}},
	}
	s.rt.Ensure(theirs, desired)
	s.eventually("DEV-51: the server beside it connects", func() bool {
		snapshot, ok := s.rt.Snapshot(theirs)
		return ok && connected(&snapshot.Servers[1])
	})
	desired.Servers = desired.Servers[:1]
	s.rt.Ensure(theirs, desired)
	s.foe.behave()
}

// TestLimitsOfAMinute waits them out, which only long runs do: what hangs fails an attempt or is left out of it (CON-11,
// CON-18, SUB-06), and the next try is well.
func TestLimitsOfAMinute(t *testing.T) {
	if os.Getenv(cyclesVariable) == "" {
		t.Skipf("it takes minutes: set %s", cyclesVariable)
	}
	timeout := failed(mcp.StateConnecting, mcp.FailureTimeout)
	without := failed(mcp.StateConnected, mcp.FailureTimeout)
	for method, fits := range map[string]func(*mcp.ServerSnapshot) bool{
		wire.MethodInitialize:    timeout,
		wire.MethodToolsList:     timeout,
		wire.MethodResourcesList: without,
		wire.MethodPromptsList:   without,
		wire.MethodSubscribe: func(c *mcp.ServerSnapshot) bool {
			return connected(c) && len(c.Subscriptions) == 1 && !c.Subscriptions[0].Active
		},
	} {
		t.Run(method, func(t *testing.T) {
			s := begin(t, play{policy: quick(), subscriptions: []string{"file:///a"}, before: func(foe *server) {
				foe.turn(method, hang)
			}})
			begun := time.Now()
			s.awaitsFor(requestLimit+grace, theirs, "the limit", fits)
			if took := time.Since(begun); took < requestLimit-grace {
				t.Errorf("it took %s only", took)
			}
			s.foe.behave()
			if s.look(theirs).State == mcp.StateConnected {
				if err := s.refresh(); err != nil {
					t.Errorf("a refresh: %v", err)
				}
			}
			if got := s.recovers(); !got.Subscriptions[0].Active || len(got.Resources.Entries) != 2 {
				t.Errorf("in the end: %s, subscriptions %+v", show(&got), got.Subscriptions)
			}
		})
	}
}
