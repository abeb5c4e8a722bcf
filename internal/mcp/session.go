// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"slices"
	"sync"

	"github.com/mooring-dev/mooring/internal/mcp/catalog"
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
	calls      int
	inflight   sync.WaitGroup // counts calls; grows only under mu while ending is nil
	ending     *Teardown
}

func newSession(rt *Runtime, id SessionID, floor int64) *session {
	s := &session{
		id: id, rt: rt, gone: make(chan struct{}), changed: make(chan struct{}),
		conns: map[string]*connection{}, retired: map[*connection]struct{}{},
		snapshot: &Snapshot{Revision: floor, Projection: catalog.Project(nil, catalog.Filter{})},
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
	for _, server := range d.Servers {
		old := before[server.Name]
		delete(before, server.Name)
		c := old
		switch {
		case server.Unresolved && old == nil:
			continue
		case server.Unresolved:
		case old == nil || old.server.Fingerprint != server.Fingerprint:
			c = s.start(server, old)
		}
		s.conns[server.Name] = c
		s.order = append(s.order, c)
	}
	for _, c := range before {
		s.generation = max(s.generation, c.view.Generation)
		s.retire(c)
	}
	refilter := !slices.Equal(s.filter.Deny, d.Tools.Deny) || !slices.Equal(s.filter.Allow, d.Tools.Allow) ||
		(s.filter.Allow == nil) != (d.Tools.Allow == nil)
	s.filter = d.Tools
	s.publish(refilter, d.RevisionFloor)
}

// start begins a connection. Generations of a server's name never go back.
func (s *session) start(server Server, old *connection) *connection {
	generation := s.generation
	if old != nil {
		generation = old.view.Generation
		s.retire(old)
	}
	c := newConnection(s, server, generation)
	go c.run()
	return c
}

// retire stops a connection that is not wanted any more. It ends in its own time, which is bounded.
func (s *session) retire(c *connection) {
	s.retired[c] = struct{}{}
	c.stop(errRemoved)
}

// update lets a connection change its view. A connection that was retired changes nothing.
func (s *session) update(c *connection, change func(*ServerSnapshot)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conns[c.server.Name] == c && s.ending == nil {
		change(&c.view)
		s.publish(false, 0)
	}
}

// publish replaces the snapshot, if it differs. It is called with mu held.
func (s *session) publish(refilter bool, floor int64) {
	next := &Snapshot{
		Revision: max(s.snapshot.Revision, floor), Projection: s.snapshot.Projection,
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
		if next.Projection.Digest != s.snapshot.Projection.Digest {
			next.Revision++
		}
		for i, c := range s.order {
			if c.view.Tools != c.published {
				c.published, c.view.CatalogRevision = c.view.Tools, next.Revision
				next.Servers[i] = c.view
			}
		}
	}
	if next.equal(s.snapshot) {
		return
	}
	s.snapshot = next
	close(s.changed)
	s.changed = make(chan struct{})
	s.rt.notify.add(s.id)
}

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

// synced reports whether every server had its first attempt and no list is outstanding.
func (s *Snapshot) synced() bool {
	return !slices.ContainsFunc(s.Servers, func(c ServerSnapshot) bool {
		first := c.State == StateIdle || (c.State == StateConnecting && c.LastError == nil)
		return first || c.Pending
	})
}

func (s *Snapshot) equal(other *Snapshot) bool {
	return s.Revision == other.Revision && s.Projection == other.Projection &&
		slices.EqualFunc(s.Servers, other.Servers, func(a, b ServerSnapshot) bool { return a.equal(&b) })
}

// equal compares what Snapshot shows. What a server says of itself is fixed by a generation.
func (s *ServerSnapshot) equal(other *ServerSnapshot) bool {
	return s.Name == other.Name && s.Fingerprint == other.Fingerprint && s.State == other.State &&
		s.Generation == other.Generation && s.sameCatalog(other) && s.sameRecovery(other)
}

func (s *ServerSnapshot) sameCatalog(other *ServerSnapshot) bool {
	return s.Tools == other.Tools && s.CatalogRevision == other.CatalogRevision && s.Pending == other.Pending
}

func (s *ServerSnapshot) sameRecovery(other *ServerSnapshot) bool {
	return s.Attempt == other.Attempt && s.Limit == other.Limit && s.NextAttempt.Equal(other.NextAttempt) &&
		s.LastError == other.LastError
}
