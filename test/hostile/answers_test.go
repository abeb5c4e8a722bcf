// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"strings"
	"testing"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// flooding is time enough to read what is read of a flood.
const flooding = 20 * time.Second

// attack is a bad answer, and what becomes of whoever gets it.
type attack struct {
	name   string
	answer answer
	// call is how a tools/call ends.
	call mcp.CallReason
	// failure is what a refresh and a connection attempt fail with; empty when they just wait, for longer than this test.
	failure mcp.FailureReason
}

func attacks() []attack {
	const broken = mcp.FailureProtocol
	return []attack{
		{"hang", hang, mcp.CallTimeout, ""},
		{"slow headers", dripHeaders, mcp.CallTimeout, ""},
		{"slow body", dripBody, mcp.CallTimeout, ""},
		{"endless events", endlessEvents, mcp.CallTimeout, ""},
		{"reset", reset, mcp.CallConnectionLost, mcp.FailureUnreachable},
		{"large headers", bigHeaders, mcp.CallConnectionLost, mcp.FailureUnreachable},
		{"garbage", body(mediaJSON, `{"jsonrpc":"2.0","id":ID,"result":{`), mcp.CallRejected, broken},
		{"HTML", body("text/html", "<html>"), mcp.CallRejected, broken},
		{"deep nesting", body(mediaJSON, `{"jsonrpc":"2.0","id":ID,"result":`+strings.Repeat("[", 1<<20)), mcp.CallRejected, broken},
		{"200 MiB, announced", hugeBody(true), mcp.CallRejected, broken},
		{"200 MiB, unannounced", hugeBody(false), mcp.CallRejected, broken},
		{"gzip bomb", gzipBomb(), mcp.CallRejected, broken},
		{"endless line", endlessLine, mcp.CallRejected, broken},
		{"endless event", endlessEvent, mcp.CallRejected, broken},
		{"foreign id", foreignIDs, mcp.CallRejected, broken},
	}
}

// TestBadAnswers gives each bad answer to a call, to a refresh and to a connection attempt. A call fails and costs nobody
// the connection (REC-15), a refresh fails and the last list goes on serving (CAT-33), an attempt fails and leaves nothing
// (CON-06); and as soon as the server behaves, all is well.
func TestBadAnswers(t *testing.T) {
	for _, a := range attacks() {
		t.Run(a.name, func(t *testing.T) {
			eras(t, func(t *testing.T, modern bool) {
				policy := quick()
				if a.failure != "" {
					policy.Calls.Total = flooding
				}
				s := begin(t, play{modern: modern, policy: policy})
				s.connects("a good beginning")
				s.attackCall(&a)
				s.attackRefresh(&a)
				s.attackAttempt(&a)
			})
		})
	}
}

func (s *stage) attackCall(a *attack) {
	s.t.Helper()
	s.foe.turn(wire.MethodToolsCall, a.answer)
	begun := time.Now()
	s.fails(a.call, true)
	if took := time.Since(begun); a.call == mcp.CallTimeout && (took < time.Second || took > 3*time.Second) {
		s.t.Errorf("the call took %s, and its limit is 1s", took)
	}
	if got := s.recovers(); got.Generation != 1 {
		s.t.Errorf("one bad answer to a call cost the connection: %s", show(&got))
	}
}

func (s *stage) attackRefresh(a *attack) {
	s.t.Helper()
	s.eventually("the server is listened to", s.foe.listened)
	s.foe.turn(wire.MethodToolsList, a.answer)
	s.foe.push(wire.MethodToolsListChanged, "")
	if a.failure == "" {
		s.awaits(theirs, "the refresh", func(c *mcp.ServerSnapshot) bool { return c.Pending })
	} else {
		s.awaits(theirs, "the refresh", failed(mcp.StateConnected, a.failure))
	}
	got := s.look(theirs)
	if got.Generation != 1 || got.Tools == nil || len(got.Tools.Tools) != 1 {
		s.t.Errorf("a bad refresh took the tools: %s", show(&got))
	}
	if err := s.call(); err != nil {
		s.t.Errorf("a call after a bad refresh: %v", err)
	}
	s.foe.behave()
	if a.failure == "" {
		return
	}
	if err := s.refresh(); err != nil {
		s.t.Errorf("a refresh by hand: %v", err)
	}
	s.recovers()
}

func (s *stage) attackAttempt(a *attack) {
	s.t.Helper()
	method := wire.MethodInitialize
	if s.foe.modern {
		method = wire.MethodDiscover
	}
	s.foe.turn(method, a.answer)
	before := s.look(theirs).Generation
	if err := s.rt.Reconnect(theirs, "it"); err != nil {
		s.t.Fatal(err)
	}
	if a.failure != "" {
		s.awaits(theirs, "the attempt", failed(mcp.StateConnecting, a.failure))
	} else {
		time.Sleep(100 * time.Millisecond)
		if got := s.look(theirs); got.State != mcp.StateConnecting || got.LastError != nil {
			s.t.Errorf("a slow server: %s", show(&got))
		}
		s.foe.behave()
		if err := s.rt.Reconnect(theirs, "it"); err != nil {
			s.t.Fatal(err)
		}
	}
	if got := s.recovers(); got.Generation <= before {
		s.t.Errorf("the generation went from %d to %d", before, got.Generation)
	}
}
