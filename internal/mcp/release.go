// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"slices"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp/catalog"
)

// cancelGrace bounds the wait for calls in flight to end once they were cancelled.
const cancelGrace = 2 * time.Second

// release begins the teardown and reports where it stands. forget says that nothing of the session is to be kept.
func (s *session) release(deadline time.Time, forget bool) Teardown {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending == nil {
		s.ending = &Teardown{Step: TeardownIntakeClosed, Held: !s.inherited}
		close(s.changed) // whoever waits for a snapshot finds no session
		s.changed = make(chan struct{})
		go s.tearDown(deadline, forget)
	}
	return s.ending.clone()
}

func (s *session) released() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ending != nil
}

func (s *session) teardown() Teardown {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending == nil {
		return Teardown{}
	}
	return s.ending.clone()
}

func (t *Teardown) clone() Teardown {
	out := *t
	out.Unconfirmed = slices.Clone(t.Unconfirmed)
	return out
}

// reached reports a step.
func (s *session) reached(step TeardownStep, change func()) {
	s.mu.Lock()
	s.ending.Step = step
	if change != nil {
		change()
	}
	s.mu.Unlock()
	s.rt.notify.add(s.id)
}

// tearDown walks the steps. Each is bounded by the deadline; a connection ends within closeTimeout of being stopped.
func (s *session) tearDown(deadline time.Time, forget bool) {
	defer close(s.gone)
	s.stopCalls(errReleased)
	cancelled := make(chan struct{})
	go func() {
		s.inflight.Wait()
		close(cancelled)
	}()
	waitUntil(cancelled, minTime(deadline, time.Now().Add(cancelGrace)))
	s.reached(TeardownCallsCancelled, nil)

	conns := s.stopAll()
	s.reached(TeardownProjectionWithdrawn, nil)

	var unconfirmed []string
	for _, c := range conns {
		if !waitUntil(c.done, deadline) {
			c.abort()
			unconfirmed = append(unconfirmed, c.server.Name)
		} else if c.unconfirmed {
			unconfirmed = append(unconfirmed, c.server.Name)
		}
	}
	slices.Sort(unconfirmed)
	s.reached(TeardownSessionsEnded, func() { s.ending.Unconfirmed = slices.Compact(unconfirmed) })
	for _, c := range conns {
		<-c.done // every socket is closed: nothing is waited for that has no limit of its own
	}
	if forget {
		s.forgetArtifacts(deadline)
	}
	// A call whose agent does not read may end later. It holds nothing of the session, and has a limit of its own.
	waitUntil(cancelled, deadline)
	s.reached(TeardownDone, func() { s.ending.Done = true })
	<-cancelled
}

// artifactsUnconfirmed stands for the artifacts among what could not be confirmed; no server has such a name.
const artifactsUnconfirmed = "(artifacts)"

// forgetArtifacts deletes them, or says that it could not.
func (s *session) forgetArtifacts(deadline time.Time) {
	if s.rt.opts.Artifacts == nil {
		return
	}
	// A store gets some time of its own, or a server that took it all would keep the artifacts.
	ctx, cancel := context.WithDeadline(context.Background(), maxTime(deadline, time.Now().Add(cancelGrace)))
	defer cancel()
	err := s.rt.opts.Artifacts.DeleteAll(ctx, s.id)
	s.reached(TeardownArtifactsDeleted, func() {
		if err != nil {
			s.ending.Unconfirmed = append(s.ending.Unconfirmed, artifactsUnconfirmed)
		}
	})
}

// stopAll withdraws the projection and stops every connection.
func (s *session) stopAll() []*connection {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.snapshot = &Snapshot{Revision: s.snapshot.Revision, Projection: catalog.Project(nil, catalog.Filter{})}
	for w := range s.watchers { // before anything is ended: what follows is nobody's news (DSP-02)
		w.end()
	}
	clear(s.watchers)
	conns := slices.Clone(s.order)
	for c := range s.retired {
		conns = append(conns, c)
	}
	for _, c := range conns {
		c.stop(errReleased)
	}
	return conns
}

// abort closes the sockets of a connection at once.
func (c *connection) abort() {
	c.session.mu.Lock()
	l := c.live
	c.session.mu.Unlock()
	if l != nil {
		l.conn.Abort()
	}
}

// waitUntil waits for done, and reports whether it came before the deadline.
func waitUntil(done <-chan struct{}, deadline time.Time) bool {
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
	}
	select {
	case <-done:
		return true
	default:
		return false
	}
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func minTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
