// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"errors"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp/catalog"
	"github.com/mooring-dev/mooring/internal/mcp/transport"
)

// Refreshing a list (CAT-30, CAT-31, bridge row 10).
const (
	refreshDelay    = 25 * time.Millisecond
	maxRefreshDelay = 5 * time.Second
	// calmAfter is how long a list must have been left alone for the next change to be no burst.
	calmAfter     = 10 * time.Second
	refreshPasses = 3
	// A refresh that failed is tried again, for nobody may ask for it once more.
	refreshRetry    = 5 * time.Second
	maxRefreshRetry = 5 * time.Minute
)

// serve publishes a connection and keeps its list, until it is lost or stopped. It returns with nothing left of it.
func (c *connection) serve(l *live) error {
	c.connected(l)
	ctx, cancel := context.WithCancel(c.ctx)
	r := &refresher{l: l, ctx: ctx, due: time.NewTimer(0), done: make(chan refreshed, 1)}
	<-r.due.C // not due yet
	err := r.loop()
	cancel()
	if c.ctx.Err() != nil {
		c.close(l)
		return context.Cause(c.ctx)
	}
	c.withdraw()
	c.pace.lost(time.Since(l.began))
	c.unconfirmed = l.conn.Info().Era == transport.EraLegacy && !errors.Is(err, transport.ErrSessionLost)
	l.conn.Abort()
	l.work.Wait()
	return err
}

// refresher lists again when the server says so. All of it belongs to the connection's goroutine, except one run at a
// time, which only talks to the server.
type refresher struct {
	l    *live
	ctx  context.Context //nolint:containedctx // of the generation
	due  *time.Timer
	done chan refreshed // 1
	// waiting says that due is armed, running that a run is under way.
	waiting, running bool
	delay            time.Duration
	last             time.Time // when the last run ended
	failures         int
}

// refreshed is the outcome of a run.
type refreshed struct {
	tools *catalog.Catalog
	err   error
}

func (r *refresher) loop() error {
	defer r.due.Stop()
	for {
		select {
		case <-r.ctx.Done():
			return context.Cause(r.ctx)
		case err := <-r.l.lost:
			return err
		case <-r.l.poke:
			r.schedule()
		case <-r.due.C:
			r.waiting = false
			r.start()
		case result := <-r.done:
			r.running = false
			if gone(result.err) {
				return result.err
			}
			r.finish(result)
		}
	}
}

// schedule arms the timer for a change; changes before and during a run are merged into one.
func (r *refresher) schedule() {
	if r.running || !r.l.stale.Load() || (r.waiting && r.failures == 0) {
		return
	}
	if r.delay = min(r.delay*2, maxRefreshDelay); r.delay == 0 || time.Since(r.last) > calmAfter {
		r.delay = refreshDelay
	}
	r.failures = 0
	r.arm(r.delay)
}

func (r *refresher) arm(d time.Duration) {
	r.due.Reset(d)
	r.waiting = true
}

func (r *refresher) start() {
	if r.running {
		return
	}
	r.running = true
	r.l.work.Go(func() {
		var result refreshed
		ctx, cancel := context.WithTimeoutCause(r.ctx, attemptTimeout,
			&transport.TimeoutError{Phase: "listing the tools", Limit: attemptTimeout})
		defer cancel()
		for range refreshPasses {
			result.tools, result.err = r.l.fetch(ctx)
			if result.err != nil || !r.l.stale.Load() {
				break
			}
		}
		r.done <- result
	})
}

// finish publishes a list, or keeps the last valid one (CAT-33).
func (r *refresher) finish(result refreshed) {
	r.last = time.Now()
	r.l.c.session.update(r.l.c, func(v *ServerSnapshot) {
		v.Pending = r.l.stale.Load() // under the lock: what comes later puts the barrier up after us
		if result.err != nil {
			v.LastError = newFailure(result.err, v.LastError)
			return
		}
		v.LastError, v.Tools = nil, result.tools
	})
	if result.err != nil {
		r.failures++
		r.arm(min(refreshRetry<<min(r.failures-1, 10), maxRefreshRetry))
		return
	}
	r.failures = 0
	r.schedule()
}
