// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"errors"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp/catalog"
	"github.com/mooring-dev/mooring/internal/mcp/clean"
	"github.com/mooring-dev/mooring/internal/mcp/transport"
)

const (
	// attemptTimeout bounds one attempt, handshake and first lists together.
	attemptTimeout = 2 * time.Minute
	closeTimeout   = 10 * time.Second
)

// errRemoved stops a connection that the session does not want any more, errReleased everything of a session.
var (
	errRemoved  = errors.New("the server was removed from the session")
	errReleased = errors.New("the session is being released")
)

// connection is one server of one session, over all its attempts. Its goroutine alone changes its state.
type connection struct {
	session *session
	server  Server          // without policy, which may change
	secrets clean.Secrets   // that the server knows, and must not say again
	ctx     context.Context //nolint:containedctx // its own lifetime, and no caller's
	stop    context.CancelCauseFunc
	// kick ends a rest: something changed that makes another attempt worth while.
	kick chan struct{} // 1
	// done is closed when the goroutine has ended and nothing is left. unconfirmed, set before, says that the server may
	// still hold a session that we opened.
	done        chan struct{}
	unconfirmed bool

	// The goroutine's own.
	pace pace
	era  transport.Era // of the last attempt that got through

	// Guarded by session.mu.
	view      ServerSnapshot
	policy    Policy           // with defaults filled in
	level     levelChoice      // of the server's log messages
	wanted    wanted           // subscriptions
	published *catalog.Catalog // what view.CatalogRevision speaks of
	live      *live            // while Connected
	reason    Reason           // why view was changed last
	parked    bool             // disconnected by hand
}

func newConnection(s *session, server Server, generation int64) *connection {
	c := &connection{
		session: s, server: server, secrets: server.secrets(), policy: server.Policy.orDefault(),
		done: make(chan struct{}), kick: make(chan struct{}, 1),
	}
	c.ctx, c.stop = context.WithCancelCause(context.Background())
	c.view = ServerSnapshot{
		Name: server.Name, Fingerprint: server.Fingerprint, State: StateIdle, Generation: generation, Since: time.Now(),
	}
	return c
}

// current returns the policy of now.
func (c *connection) current() Policy {
	c.session.mu.Lock()
	defer c.session.mu.Unlock()
	return c.policy
}

// run attempts, serves and waits, until the connection is stopped.
func (c *connection) run() {
	defer c.end()
	for c.ctx.Err() == nil {
		var w wait
		l, err := c.attempt()
		if err == nil {
			w = c.serve(l)
		} else if c.ctx.Err() == nil {
			w = c.failed(err)
		}
		if c.ctx.Err() != nil || !c.rest(w) {
			return
		}
	}
}

func (c *connection) end() {
	c.session.mu.Lock()
	delete(c.session.retired, c)
	c.session.mu.Unlock()
	close(c.done)
}

// attempt dials and lists (CON-10). What it returns is ready to serve; on an error nothing is left.
func (c *connection) attempt() (*live, error) {
	generation := c.begin()
	ctx, cancel := context.WithTimeoutCause(c.ctx, attemptTimeout,
		&transport.TimeoutError{Phase: "the connection attempt", Limit: attemptTimeout})
	defer cancel()
	conn, err := transport.Dial(ctx, c.dialConfig(), c.era)
	if err != nil {
		if proven(err) {
			c.era = transport.EraUnknown
		}
		return nil, causeOr(ctx, err)
	}
	c.era = conn.Info().Era
	l := newLive(c, conn, generation)
	if err := l.prepare(ctx); err != nil {
		c.close(l)
		return nil, causeOr(ctx, err)
	}
	return l, nil
}

// proven reports whether a failed attempt says something about the server: another version may run there by now.
// Passing faults leave the era that is known (protocol guard 7).
func proven(err error) bool {
	reason := classify(err).reason
	return reason == FailureProtocol || reason == FailureUnsupportedVersion
}

// causeOr prefers the reason for which ctx ended.
func causeOr(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// begin opens a new generation.
func (c *connection) begin() (generation int64) {
	c.session.update(c, func(v *ServerSnapshot) {
		v.Generation++
		v.NextAttempt = time.Time{}
		if v.State == StateIdle {
			v.State, v.Since, v.Attempt = StateConnecting, time.Now(), 1
		}
		generation = v.Generation
	})
	return generation
}

// failed reports a failed attempt.
func (c *connection) failed(err error) wait {
	w := c.pace.after(err, c.current().Recovery, c.session.rt.opts.RestRetry)
	c.session.update(c, func(v *ServerSnapshot) { v.down(&w, newFailure(err, v.LastError)) })
	return w
}

// lost withdraws everything that a connection offered, in one step and before anything else is done about the loss
// (REC-20, REC-21).
func (c *connection) lost(l *live, err error) wait {
	c.pace.lost(time.Since(l.began))
	w := c.pace.after(err, c.current().Recovery, c.session.rt.opts.RestRetry)
	c.session.update(c, func(v *ServerSnapshot) {
		c.live, c.reason = nil, ReasonDisconnection
		failure := newFailure(err, v.LastError)
		*v = ServerSnapshot{
			Name: v.Name, Fingerprint: v.Fingerprint, Generation: v.Generation, CatalogRevision: v.CatalogRevision,
			State: StateConnected, Since: v.Since, Trigger: trigger(err), Subscriptions: c.wanted.list(nil),
		}
		v.down(&w, failure)
	})
	return w
}

// down moves a view to what follows a failure.
func (s *ServerSnapshot) down(w *wait, failure *Failure) {
	if s.State != w.state {
		s.State, s.Since = w.state, time.Now()
	}
	s.Attempt, s.Limit, s.NextAttempt = w.attempt, w.limit, time.Time{}
	if w.delay > 0 && !s.State.Settled() {
		s.NextAttempt = time.Now().Add(w.delay)
	}
	s.LastError = failure
}

// rest waits for the next attempt. It returns false when the connection was stopped.
func (c *connection) rest(w wait) bool {
	var due <-chan time.Time
	if w.delay > 0 {
		timer := time.NewTimer(w.delay)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-c.ctx.Done():
		return false
	case <-c.kick:
		c.pace = pace{recovering: c.pace.recovering}
		c.session.update(c, func(v *ServerSnapshot) {
			if v.State.Settled() {
				v.State, v.Since, v.Attempt, v.Limit = StateConnecting, time.Now(), 1, 0
			}
		})
	case <-due:
	}
	return true
}

// wake ends a rest.
func (c *connection) wake() {
	select {
	case c.kick <- struct{}{}:
	default:
	}
}

// connected publishes what an attempt brought.
func (c *connection) connected(l *live) {
	info := l.conn.Info()
	c.session.update(c, func(v *ServerSnapshot) {
		select { // a kick that came during the attempt has what it asked for
		case <-c.kick:
		default:
		}
		c.live, c.reason = l, ReasonConnection
		v.Recovered = v.State == StateReconnecting
		v.State, v.Since = StateConnected, time.Now()
		v.Attempt, v.Limit, v.NextAttempt, v.LastError = 0, 0, time.Time{}, l.firstError
		v.ProtocolVersion = info.ProtocolVersion
		v.ServerInfo, v.Capabilities = describe(&info)
		v.Instructions = c.session.allot(c, l.instructions)
		l.first.show(v)
		v.Pending = l.stale.Load() != 0
		v.Subscriptions = c.wanted.list(l.active)
		if info.Declares("logging", "") {
			v.LogLevel = c.shownLevel()
		}
	})
	l.first = lists{}
}

// close ends a connection in good order, bounded, whatever the server does.
func (c *connection) close(l *live) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	c.unconfirmed = l.conn.Close(ctx) != nil
	l.work.Wait()
}
