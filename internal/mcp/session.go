// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"slices"
	"sync"

	"github.com/mooring-dev/mooring/internal/mcp/catalog"
	"github.com/mooring-dev/mooring/internal/mcp/instructions"
	"github.com/mooring-dev/mooring/internal/mcp/logs"
)

// session is one agent session: its connections, and what they add up to.
type session struct {
	id SessionID
	rt *Runtime
	// calling ends when calls in flight must; stopCalls ends it.
	calling   context.Context //nolint:containedctx // it outlives each call
	stopCalls context.CancelCauseFunc
	// gone is closed when nothing of the session is left.
	gone chan struct{}
	ring *logs.Ring

	mu    sync.Mutex
	conns map[string]*connection // by server name
	order []*connection          // as desired
	// retired are connections that were replaced or removed and may not have ended yet.
	retired map[*connection]struct{}
	// generation is the largest that a connection without a successor had.
	generation int64
	filter     ToolFilter
	inputs     []catalog.ServerTools // of the projection in snapshot
	snapshot   *Snapshot
	changed    chan struct{} // closed when snapshot is replaced
	watchers   map[*Watcher]struct{}
	seq        uint64 // of the last event
	budget     instructions.Budget
	commands   commands
	calls      int
	inflight   sync.WaitGroup // counts calls; grows only under mu while ending is nil
	ending     *Teardown
	// inherited says that a predecessor held the session, and this process never did.
	inherited   bool
	inlineBytes int
}

func newSession(rt *Runtime, id SessionID, floor int64) *session {
	s := &session{
		id: id, rt: rt, gone: make(chan struct{}), changed: make(chan struct{}), ring: logs.NewRing(),
		conns: map[string]*connection{}, retired: map[*connection]struct{}{}, watchers: map[*Watcher]struct{}{},
	}
	start := max(floor, rt.opts.Now().UnixMilli())
	s.snapshot = &Snapshot{
		Revision:   start,
		Revisions:  Revisions{Content: start, Connections: start, Instructions: start},
		Projection: catalog.Project(nil, catalog.Filter{}),
	}
	s.calling, s.stopCalls = context.WithCancelCause(context.Background())
	return s
}

// ensure makes the connections those of d. A connection whose server did not change is kept, in its new place.
func (s *session) ensure(d Desired) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending != nil {
		return
	}
	before := s.conns
	s.conns, s.order = make(map[string]*connection, len(d.Servers)), make([]*connection, 0, len(d.Servers))
	for i := range d.Servers {
		server := &d.Servers[i]
		old := before[server.Name]
		delete(before, server.Name)
		c := s.keep(server, old)
		if c == nil {
			continue
		}
		c.want(subscriptionsOf(&d, server.Name))
		s.conns[server.Name] = c
		s.order = append(s.order, c)
	}
	for name, c := range before {
		s.generation = max(s.generation, c.view.Generation)
		s.retire(c)
		s.ring.Drop(name) // REG-18
	}
	refilter := !slices.Equal(s.filter.Deny, d.Tools.Deny) || !slices.Equal(s.filter.Allow, d.Tools.Allow) ||
		(s.filter.Allow == nil) != (d.Tools.Allow == nil)
	s.filter = d.Tools
	s.inlineBytes = d.InlineBytes
	s.snapshot.raise(d.RevisionFloor)
	s.publish(refilter)
	s.command(&d)
}

// keep returns the connection to a server: the one that there is, or a new one. nil says that there is none.
func (s *session) keep(server *Server, old *connection) *connection {
	switch {
	case server.Unresolved || old != nil && old.server.Fingerprint == server.Fingerprint:
		if old != nil && !server.Unresolved {
			old.govern(server.Policy.orDefault())
		}
		return old
	case old != nil && old.parked:
		old.server = *server // it has no goroutine that reads it
		old.view.Fingerprint = server.Fingerprint
		return old
	}
	return s.start(*server, old)
}

// start begins a connection. Generations of a server's name never go back, and who subscribed stays subscribed.
func (s *session) start(server Server, old *connection) *connection {
	generation := s.generation
	if old != nil {
		generation = old.view.Generation
		s.retire(old)
	}
	c := newConnection(s, server, generation)
	if old != nil {
		c.wanted, c.level = old.wanted, old.level
	}
	go c.run()
	return c
}

// govern takes over a policy. One that rests may have been waiting for it.
func (c *connection) govern(policy Policy) {
	if c.policy == policy {
		return
	}
	level := c.wantedLevel()
	c.policy = policy
	c.wake()
	if c.live != nil {
		c.live.governed(c.wantedLevel() != level)
	}
}

// retire stops a connection that is not wanted any more. It ends in its own time, which is bounded.
func (s *session) retire(c *connection) {
	s.budget.Release(c.server.Name)
	if c.parked {
		return
	}
	s.retired[c] = struct{}{}
	c.stop(errRemoved)
}

// update lets a connection change its view. A connection that was retired changes nothing.
func (s *session) update(c *connection, change func(*ServerSnapshot)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conns[c.server.Name] == c && s.ending == nil {
		change(&c.view)
		s.publish(false)
	}
}

// allot fits a server's instructions into what the others leave (INS-05). It is called with mu held.
func (s *session) allot(c *connection, text instructions.Text) instructions.Text {
	s.budget.Release(c.server.Name)
	return s.budget.Take(c.server.Name, text)
}

// publish replaces the snapshot, if it differs. It is called with mu held.
func (s *session) publish(refilter bool) {
	next := &Snapshot{
		Revision: s.snapshot.Revision, Revisions: s.snapshot.Revisions, Projection: s.snapshot.Projection,
		Reconnected: s.commands.reconnect.done, Refreshed: s.commands.refresh.done,
		Servers: make([]ServerSnapshot, len(s.order)),
	}
	inputs := make([]catalog.ServerTools, 0, len(s.order))
	for i, c := range s.order {
		next.Servers[i] = c.view
		if c.view.Tools != nil {
			inputs = append(inputs, catalog.ServerTools{Server: c.server.Name, Catalog: c.view.Tools})
		}
	}
	if refilter || !slices.Equal(inputs, s.inputs) {
		s.inputs = inputs
		next.Projection = catalog.Project(inputs, catalog.Filter{Allow: s.filter.Allow, Deny: s.filter.Deny})
	}
	if refilter {
		for _, c := range s.order {
			c.reason = ReasonPolicy
		}
	}
	if next.equal(s.snapshot) {
		return
	}
	s.announce(next)
	for i, c := range s.order {
		if c.view.Tools != c.published {
			c.published, c.view.CatalogRevision = c.view.Tools, next.Revision
			next.Servers[i] = c.view
		}
	}
	s.replace(next)
	s.settle()
}

// replace makes next the snapshot and wakes whoever waits for one.
func (s *session) replace(next *Snapshot) {
	s.snapshot = next
	close(s.changed)
	s.changed = make(chan struct{})
	s.rt.notify.add(s.id)
}

// raise lifts the catalog's revision to what is known to have been published.
func (s *Snapshot) raise(floor int64) { s.Revision = max(s.Revision, floor) }

func (s *session) look() *Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.snapshot
}

// watch returns the snapshot, and a channel that is closed when there is another one.
func (s *session) watch() (*Snapshot, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.snapshot, s.changed
}

func (s *session) count(stats *Stats) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats.CallsInFlight += s.calls
	if s.ending != nil {
		if !s.ending.Done {
			stats.Releasing++
		}
		return
	}
	stats.Sessions++
	for _, c := range s.order {
		stats.Connections[c.view.State]++
	}
}
