// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// TestRestartKeepsRevisions: a second Runtime, as after a restart of the process and with a clock that went back, goes on
// above the last revision (REG-08), restores subscriptions (SUB-05), and calls no tool by itself (REC-26).
func TestRestartKeepsRevisions(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		s := begin(t, play{modern: modern, policy: quick(), subscriptions: []string{"file:///a"}})
		s.connects("a good beginning")
		s.eventually("the server is listened to", s.foe.listened)
		s.foe.turn(wire.MethodToolsList, func(x *exchange) { x.result(strings.ReplaceAll(toolsResult, "echo", "other")) })
		s.foe.push(wire.MethodToolsListChanged, "")
		s.awaits(theirs, "a change", func(c *mcp.ServerSnapshot) bool { return c.Tools.Tools[0].Name == "other" })
		s.foe.behave()
		if err := s.refresh(); err != nil {
			t.Fatal(err)
		}
		if err := s.call(); err != nil {
			t.Fatal(err)
		}
		last, _ := s.rt.Snapshot(theirs)
		if last.Servers[0].CatalogRevision != last.Revision {
			t.Errorf("revision %d, of the catalog %d", last.Revision, last.Servers[0].CatalogRevision)
		}
		calls := s.foe.times(wire.MethodToolsCall)
		s.foe.turn(wire.MethodToolsCall, hang)
		inFlight := make(chan error, 1)
		go func() { inFlight <- s.call() }()
		s.eventually("a call in flight", func() bool { return s.foe.times(wire.MethodToolsCall) == calls+1 })
		s.release(theirs) // closes what the old process had
		if err := <-inFlight; err == nil {
			t.Error("the call in flight succeeded")
		}
		s.foe.behave()
		s.restart(last.Revision, calls+1)
	})
}

// restart makes the same session in a Runtime that knows of the first one what status says.
func (s *stage) restart(floor int64, calls int) {
	s.t.Helper()
	second := mcp.New(mcp.Options{Egress: &net.Dialer{}, Now: func() time.Time { return time.UnixMilli(1) }})
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), releaseTime)
		defer cancel()
		if err := second.Close(ctx); err != nil {
			s.t.Errorf("Close: %v", err)
		}
	}()
	second.Ensure(theirs, mcp.Desired{
		Servers: []mcp.Server{s.to(s.foe, quick())}, RevisionFloor: floor,
		Subscriptions: []mcp.Subscription{{Server: "it", URI: "file:///a"}},
	})
	if snapshot, ok := second.Snapshot(theirs); !ok || snapshot.Revision < floor {
		s.t.Errorf("before it connects it is at %+v, and was at %d", snapshot, floor)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	got, err := second.AwaitSync(ctx, theirs)
	if err != nil {
		s.t.Fatal(err)
	}
	server := got.Servers[0]
	if server.State != mcp.StateConnected || got.Revision <= floor || server.CatalogRevision != got.Revision {
		s.t.Errorf("REG-08: revision %d, of the catalog %d, after %d; %s", got.Revision, server.CatalogRevision, floor, show(&server))
	}
	if len(server.Subscriptions) != 1 || server.Subscriptions[0].URI != "file:///a" || !server.Subscriptions[0].Active {
		s.t.Errorf("SUB-05: subscriptions %+v", server.Subscriptions)
	}
	time.Sleep(100 * time.Millisecond)
	if n := s.foe.times(wire.MethodToolsCall); n != calls {
		s.t.Errorf("REC-26: the server saw %d calls, want %d", n, calls)
	}
}
