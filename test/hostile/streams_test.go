// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

const (
	questions = 3000
	changes   = 10_000
)

// TestDuplicateAnswers: the first answer to a request counts, and answers to nobody are nobody's.
func TestDuplicateAnswers(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		s := begin(t, play{modern: modern, policy: quick()})
		s.connects("a good beginning")
		s.foe.turn(wire.MethodToolsCall, func(x *exchange) {
			x.head(mediaStream)
			for _, foreign := range []string{"987654321", `"` + x.id() + `"`, "-1"} {
				_ = x.event(x.response(foreign, `"content":[{"type":"text","text":"foreign"}]`))
			}
			for _, text := range []string{"first", "second", "third"} {
				_ = x.event(x.response(x.id(), `"content":[{"type":"text","text":"`+text+`"}]`))
			}
		})
		for range 200 {
			got, err := s.rt.Call(context.Background(), theirs, mcp.CallRequest{Tool: tool})
			if err != nil || !strings.Contains(string(got.Result), "first") {
				t.Fatalf("answered with %+v, %v", got, err)
			}
		}
		if got := s.recovers(); got.Generation != 1 {
			t.Errorf("it cost the connection: %s", show(&got))
		}
	})
}

// TestManyQuestions: 3,000 requests of the server on one stream are answered one after the other, or not at all, and hold
// up nobody: not the call that they came with, nor the next. Whoever offers nothing is asked nothing (CON-21).
func TestManyQuestions(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		s := begin(t, play{modern: modern, policy: quick()})
		s.connects("a good beginning")
		s.foe.turn(wire.MethodToolsCall, func(x *exchange) {
			x.head(mediaStream)
			for i := range questions {
				_ = x.write(`data: {"jsonrpc":"2.0","id":` + strconv.Itoa(i) + `,"method":"sampling/createMessage","params":{}}` + "\n\n")
			}
			_ = x.event(x.response(x.id(), callResult))
		})
		// The client's answers are not taken.
		s.foe.turn("", hang)
		if err := s.call(); err != nil {
			t.Errorf("the call with the questions: %v", err)
		}
		s.foe.turn(wire.MethodToolsCall, nil)
		if err := s.call(); err != nil {
			t.Errorf("the next call: %v", err)
		}
		if n := s.foe.times(""); n > 1 || (modern && n > 0) {
			t.Errorf("%d answers at a time", n)
		}
		if got := s.look(theirs); got.State != mcp.StateConnected || got.Generation != 1 {
			t.Errorf("it cost the connection: %s", show(&got))
		}
	})
}

// TestFlappingList: 10,000 notifications are a few refreshes (CAT-30, CAT-31, bridge row 10), and changes that change
// nothing are no news (REG-09).
func TestFlappingList(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		s := begin(t, play{modern: modern, policy: quick()})
		s.connects("a good beginning")
		s.eventually("the server is listened to", s.foe.listened)
		before, _ := s.rt.Snapshot(theirs)
		lists, begun := s.foe.times(wire.MethodToolsList), time.Now()
		for range changes {
			s.foe.push(wire.MethodToolsListChanged, "")
		}
		s.awaits(theirs, "the barrier", func(c *mcp.ServerSnapshot) bool { return c.Pending })
		s.awaits(theirs, "the end of the storm", func(c *mcp.ServerSnapshot) bool { return !c.Pending })
		time.Sleep(time.Second)
		took := time.Since(begun)
		// 25 ms, doubling: 8 refreshes of at most 3 passes take more than 6 s.
		if n := s.foe.times(wire.MethodToolsList) - lists; n < 1 || n > 24 {
			t.Errorf("%d notifications made %d refreshes in %s", changes, n, took)
		}
		after, _ := s.rt.Snapshot(theirs)
		if after.Revision != before.Revision || after.Servers[0].Generation != 1 {
			t.Errorf("revision %d became %d: %s", before.Revision, after.Revision, show(&after.Servers[0]))
		}
		s.recovers()
	})
}

// TestFloodOfUpdates: 10,000 updates of a resource are one word about it to whoever watches, the newest (REG-34, DEV-52), and
// few to whoever writes status.
func TestFloodOfUpdates(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		s := begin(t, play{modern: modern, policy: quick(), subscriptions: []string{"file:///a"}})
		s.connects("a good beginning")
		s.eventually("the server is listened to", s.foe.listened)
		watcher, before, err := s.rt.Watch(theirs)
		if err != nil {
			t.Fatal(err)
		}
		defer watcher.Stop()
		told := s.changes.Load()
		for i := range changes {
			s.foe.push(wire.MethodResourceUpdated, `"uri":"file:///a"`)
			if i%10 == 0 {
				s.foe.push(wire.MethodResourceUpdated, `"uri":"file:///nobody's"`)
			}
		}
		// In the modern era both streams carry it, and only one of them asked for it.
		s.eventually("all are heard", func() bool {
			now, ok := s.rt.Snapshot(theirs)
			return ok && now.Revisions.Content-before.Revisions.Content >= changes
		})
		now, _ := s.rt.Snapshot(theirs)
		events := watcher.Drain()
		if len(events) != 1 || events[0].Kind != mcp.EventResourceUpdated || events[0].Revision > now.Revisions.Content ||
			events[0].Revision < before.Revisions.Content+changes {
			t.Errorf("%d events, of which %+v; content is at %d", len(events), events, now.Revisions.Content)
		}
		if n := s.changes.Load() - told; n > 3 {
			t.Errorf("somebody was told %d times to look again", n)
		}
	})
}

// TestEndlessResumption: a stream that is cut after each event, and resumed, is bounded by its call's time.
func TestEndlessResumption(t *testing.T) {
	s := begin(t, play{policy: quick()})
	s.connects("a good beginning")
	var id atomic.Int64
	cut := func(x *exchange) {
		x.head(mediaStream)
		_ = x.write("id: e" + strconv.FormatInt(id.Add(1), 10) + "\nretry: 1\n")
		_ = x.event(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`)
	}
	s.foe.turn(wire.MethodToolsCall, cut)
	s.foe.turn(http.MethodGet, cut)
	s.fails(mcp.CallTimeout, true)
	if n := id.Load(); n < 2 || n > 200 {
		t.Errorf("resumed %d times", n)
	}
	if got := s.recovers(); got.Generation != 1 {
		t.Errorf("it cost the connection: %s", show(&got))
	}
}

// TestNoStreamIsAFact: 405 or 404 on the listening stream is a fact about the server, and asked for once (field report
// envoyproxy/ai-gateway#1924). 401 there is another matter.
func TestNoStreamIsAFact(t *testing.T) {
	for _, code := range []int{http.StatusMethodNotAllowed, http.StatusNotImplemented} {
		t.Run(strconv.Itoa(code), func(t *testing.T) {
			s := begin(t, play{policy: probed(), before: func(foe *server) { foe.turn(http.MethodGet, status(code)) }})
			s.connects("without a stream")
			time.Sleep(1500 * time.Millisecond)
			if n := s.foe.times(http.MethodGet); n != 1 {
				t.Errorf("%d GETs", n)
			}
			if got := s.recovers(); got.Generation != 1 {
				t.Errorf("it cost the connection: %s", show(&got))
			}
		})
	}
}

// TestRefusedStreamBacksOff: a stream that is refused for a passing reason is asked for ever more slowly, and is no reason to
// give up what works (CON-16, field report mcp-go#836).
func TestRefusedStreamBacksOff(t *testing.T) {
	s := begin(t, play{policy: quick(), before: func(foe *server) {
		foe.turn(http.MethodGet, status(http.StatusServiceUnavailable))
	}})
	s.connects("without a stream")
	time.Sleep(3 * time.Second)
	if n := s.foe.times(http.MethodGet); n < 1 || n > 3 {
		t.Errorf("%d GETs in 3s", n)
	}
	if got := s.look(theirs); got.State != mcp.StateConnected || got.Generation != 1 {
		t.Errorf("it cost the connection: %s", show(&got))
	}
}

// TestBrokenStream: a listening stream that says garbage, or floods, costs the stream and not the connection.
func TestBrokenStream(t *testing.T) {
	for name, broken := range map[string]answer{
		"endless line": endlessLine,
		"garbage": func(x *exchange) {
			x.head(mediaStream)
			for range 1000 {
				_ = x.event(`{"jsonrpc":"2.0","method":`)
			}
		},
		"reset": reset,
	} {
		t.Run(name, func(t *testing.T) {
			eras(t, func(t *testing.T, modern bool) {
				method := map[bool]string{false: http.MethodGet, true: wire.MethodListen}[modern]
				s := begin(t, play{modern: modern, policy: quick(), before: func(foe *server) { foe.turn(method, broken) }})
				s.connects("with a broken stream")
				time.Sleep(500 * time.Millisecond)
				if n := s.foe.times(method); n < 1 || n > 3 {
					t.Errorf("asked for %d times within half a second", n)
				}
				if err := s.call(); err != nil {
					t.Errorf("a call beside a broken stream: %v", err)
				}
				s.foe.behave()
				s.eventually("the stream is open", s.foe.listened)
				if got := s.recovers(); got.Generation != 1 {
					t.Errorf("it cost the connection: %s", show(&got))
				}
			})
		})
	}
}
