// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp/transport"
)

// Refreshing lists (CAT-30, CAT-31, CNT-08, bridge row 10).
const (
	refreshDelay    = 25 * time.Millisecond
	maxRefreshDelay = 5 * time.Second
	// calmAfter is how long a list must have been left alone for the next change to be no burst.
	calmAfter     = 10 * time.Second
	refreshPasses = 3
	// A refresh that failed is tried again, for nobody may ask for it once more.
	refreshRetry    = 5 * time.Second
	maxRefreshRetry = 5 * time.Minute
	// minPoll floors what servers ask for that do not tell of changes but say how long their lists live.
	minPoll = 30 * time.Second
)

// serve publishes a connection and keeps its lists, until it is lost or stopped. It returns with nothing left of it.
func (c *connection) serve(l *live) wait {
	c.connected(l)
	ctx, cancel := context.WithCancel(c.ctx)
	r := &refresher{l: l, ctx: ctx, due: time.NewTimer(0), done: make(chan refreshed, 1)}
	<-r.due.C // not due yet
	l.work.Go(func() { l.probe(ctx) })
	err := r.loop()
	cancel()
	if c.ctx.Err() != nil {
		close(l.over)
		c.close(l)
		return wait{}
	}
	w := c.lost(l, err)
	c.unconfirmed = l.conn.Info().Era == transport.EraLegacy && !errors.Is(err, transport.ErrSessionLost)
	l.conn.Abort()
	l.work.Wait()
	close(l.over)
	return w
}

// asks are refreshes that somebody waits for.
type asks struct {
	mu      sync.Mutex
	waiting []chan<- error // each has room for one
}

func (a *asks) add(done chan<- error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.waiting = append(a.waiting, done)
}

// take returns those that wait: what begins now is for them (DEV-20).
func (a *asks) take() *asks {
	a.mu.Lock()
	defer a.mu.Unlock()
	taken := &asks{waiting: a.waiting}
	a.waiting = nil
	return taken
}

func (a *asks) answer(err error) {
	for _, done := range a.take().waiting {
		done <- err
	}
}

// refresher lists again when the server says so, when a list failed, and when lists have outlived what was said of them.
// All of it belongs to the connection's goroutine, except one run at a time, which only talks to the server.
type refresher struct {
	l    *live
	ctx  context.Context //nolint:containedctx // of the generation
	due  *time.Timer
	done chan refreshed // 1
	// soon says that due is armed for a change, running that a run is under way.
	soon, running bool
	delay         time.Duration
	last          time.Time // when the last run ended
	// failed are the lists that could not be had last, and failures counts runs in a row that failed.
	failed   list
	failures int
	fresh    time.Duration // what the server said last
	// next is when to run by itself; zero for never.
	next time.Time
}

// refreshed is the outcome of a run.
type refreshed struct {
	lists
	waiting, subscribers *asks
}

func (r *refresher) loop() error {
	defer r.due.Stop()
	r.plan(r.l.brought)
	for {
		select {
		case <-r.ctx.Done():
			return context.Cause(r.ctx)
		case err := <-r.l.lost:
			return err
		case <-r.l.poke:
			r.schedule()
		case <-r.due.C:
			r.soon = false
			r.start()
		case result := <-r.done:
			r.running = false
			r.finish(&result)
		}
	}
}

// schedule arms the timer for a change; changes before and during a run are merged into one.
func (r *refresher) schedule() {
	stale := list(r.l.stale.Load())
	if r.running || stale == 0 || r.soon {
		return
	}
	r.soon = true
	if stale == listSubscriptions {
		r.due.Reset(0) // nobody floods us with these
		return
	}
	if r.delay = min(r.delay*2, maxRefreshDelay); r.delay == 0 || time.Since(r.last) > calmAfter {
		r.delay = refreshDelay
	}
	r.due.Reset(r.delay)
}

// plan arms the timer for what comes by itself, unless there is a change to follow: another try of what failed, or a look
// at a server that does not tell of changes and says how long its lists live.
func (r *refresher) plan(got lists) {
	if got.asked&^listSubscriptions != 0 {
		r.failed = r.failed&^got.asked | got.failed
		if r.fresh = or(got.fresh, r.fresh); got.failed != 0 {
			r.failures++
		}
		switch {
		case r.failed != 0:
			r.next = time.Now().Add(min(refreshRetry<<min(max(r.failures-1, 0), 10), maxRefreshRetry))
		case r.fresh > 0 && !r.l.told.Load():
			wait := max(r.fresh, minPoll)
			r.failures, r.next = 0, time.Now().Add(wait+rand.N(wait/10)) //nolint:gosec // spreading load needs no secrecy
		default:
			r.failures, r.next = 0, time.Time{}
		}
	}
	if !r.next.IsZero() {
		r.due.Reset(time.Until(r.next))
	}
	r.schedule()
}

func (r *refresher) start() {
	if r.running {
		return
	}
	r.running = true
	switch stale := list(r.l.stale.Load()); {
	case stale&^listSubscriptions != 0:
		r.l.stale.Or(uint32(r.failed))
	case stale == 0:
		r.l.stale.Or(uint32(or(r.failed, r.l.declared())))
	}
	waiting, subscribers := r.l.asks.take(), r.l.subscribers.take()
	r.l.work.Go(func() {
		ctx, cancel := context.WithTimeoutCause(r.ctx, attemptTimeout,
			&transport.TimeoutError{Phase: "listing", Limit: attemptTimeout})
		defer cancel()
		r.done <- refreshed{lists: r.l.refresh(ctx), waiting: waiting, subscribers: subscribers}
	})
}

// refresh asks for what is stale, and again for what became stale meanwhile, and then brings the subscriptions in step
// (CNT-09).
func (l *live) refresh(ctx context.Context) (all lists) {
	for range refreshPasses {
		which := list(l.stale.Load())
		got := l.fetch(ctx, which)
		got.merge(&all)
		all = got
		if which&(listResources|listSubscriptions) != 0 {
			l.syncSubscriptions(ctx, all.resources, all.templates)
		}
		if all.err() != nil || l.stale.Load() == 0 {
			break
		}
	}
	return all
}

// merge takes over from an earlier pass what the later one did not bring.
func (b *lists) merge(earlier *lists) {
	if b.tools == nil {
		b.tools = earlier.tools
	}
	if b.resources == nil {
		b.resources, b.templates = earlier.resources, earlier.templates
	}
	if b.prompts == nil {
		b.prompts = earlier.prompts
	}
	b.fresh = or(b.fresh, earlier.fresh)
	b.asked |= earlier.asked
}

// finish publishes lists, and keeps the last valid one of those that failed (CAT-33). A run that brought other lists says
// nothing about one that failed before it.
func (r *refresher) finish(result *refreshed) {
	r.last = time.Now()
	err, reason := result.err(), ReasonNotification
	if len(result.waiting.waiting) > 0 {
		reason = ReasonManual
	}
	failing := r.failed&^result.asked | result.failed
	r.l.c.session.update(r.l.c, func(v *ServerSnapshot) {
		v.Pending = r.l.stale.Load() != 0 // under the lock: what comes later puts the barrier up after us
		r.l.c.reason = reason
		result.show(v)
		v.Subscriptions = r.l.c.wanted.list(r.l.active)
		switch {
		case err != nil:
			v.LastError = newFailure(err, v.LastError)
		case failing == 0 && !v.Degraded:
			v.LastError = nil
		}
	})
	result.waiting.answer(err)
	result.subscribers.answer(nil) // they see for themselves
	if err != nil {
		r.l.refused(err, reason)
	}
	r.plan(result.lists)
}

// refused tells watchers that a refresh failed.
func (l *live) refused(err error, reason Reason) {
	failure := newFailure(err, nil)
	s := l.c.session
	s.mu.Lock()
	defer s.mu.Unlock()
	s.emit(Event{Kind: EventRefreshFailed, Server: l.c.server.Name, Reason: reason, Failure: failure})
}
