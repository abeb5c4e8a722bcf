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

const (
	// attemptTimeout bounds one attempt, handshake and first list together.
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
	server  Server
	ctx     context.Context //nolint:containedctx // its own lifetime, and no caller's
	stop    context.CancelCauseFunc
	// done is closed when the goroutine has ended and nothing is left. unconfirmed, set before, says that the server may
	// still hold a session that we opened.
	done        chan struct{}
	unconfirmed bool

	// The goroutine's own.
	pace pace
	era  transport.Era // of the last attempt that got through

	// Guarded by session.mu.
	view      ServerSnapshot
	published *catalog.Catalog // what view.CatalogRevision speaks of
	live      *live            // while Connected
}

func newConnection(s *session, server Server, generation int64) *connection {
	c := &connection{session: s, server: server, done: make(chan struct{})}
	c.ctx, c.stop = context.WithCancelCause(context.Background())
	c.view = ServerSnapshot{
		Name: server.Name, Fingerprint: server.Fingerprint, State: StateIdle, Generation: generation, Since: time.Now(),
	}
	return c
}

// run attempts, serves and waits, until the connection is stopped.
func (c *connection) run() {
	defer c.end()
	for c.ctx.Err() == nil {
		l, err := c.attempt()
		if err == nil {
			err = c.serve(l)
		}
		if c.ctx.Err() != nil || !c.rest(err) {
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

// attempt dials and lists. What it returns is connected and listed; on an error nothing is left.
func (c *connection) attempt() (*live, error) {
	generation := c.begin()
	ctx, cancel := context.WithTimeoutCause(c.ctx, attemptTimeout,
		&transport.TimeoutError{Phase: "the connection attempt", Limit: attemptTimeout})
	defer cancel()
	conn, err := transport.Dial(ctx, c.dialConfig(), c.era)
	if err != nil {
		c.era = transport.EraUnknown
		return nil, causeOr(ctx, err)
	}
	c.era = conn.Info().Era
	l := newLive(c, conn, generation)
	l.listen()
	tools, err := l.fetch(ctx)
	if err != nil {
		c.close(l)
		return nil, causeOr(ctx, err)
	}
	l.first = tools
	return l, nil
}

// causeOr prefers the reason for which ctx ended.
func causeOr(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

func (c *connection) dialConfig() transport.Config {
	opts := &c.session.rt.opts
	cfg := transport.Config{
		URL: c.server.HTTP.URL, Header: c.server.HTTP.Header, RootCAs: c.server.HTTP.RootCAs,
		ClientName: opts.ClientName, ClientVersion: opts.ClientVersion,
	}
	if opts.Egress != nil {
		cfg.Dialer = opts.Egress
	}
	if c.server.HTTP.Era == EraLegacy {
		cfg.Era = transport.EraLegacy
	}
	return cfg
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

// rest reports a failure and waits for the next attempt. It returns false when the connection was stopped.
func (c *connection) rest(err error) bool {
	wait := c.pace.after(err, c.session.rt.opts.RestRetry)
	c.session.update(c, func(v *ServerSnapshot) {
		if v.State != wait.state {
			v.State, v.Since = wait.state, time.Now()
		}
		v.Attempt, v.Limit, v.NextAttempt = wait.attempt, wait.limit, time.Time{}
		if wait.attempt > 0 {
			v.NextAttempt = time.Now().Add(wait.delay)
		}
		v.LastError = newFailure(err, v.LastError)
	})
	timer := time.NewTimer(wait.delay)
	defer timer.Stop()
	select {
	case <-c.ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// connected publishes the first catalog.
func (c *connection) connected(l *live) {
	info := l.conn.Info()
	c.session.update(c, func(v *ServerSnapshot) {
		c.live = l
		v.State, v.Since = StateConnected, time.Now()
		v.Attempt, v.Limit, v.NextAttempt, v.LastError = 0, 0, time.Time{}, nil
		v.ProtocolVersion = info.ProtocolVersion
		v.ServerInfo, v.Capabilities, v.Instructions = describe(&info)
		v.Tools, v.Pending = l.first, l.stale.Load()
	})
	l.first = nil
}

// withdraw takes the server's tools out of the projection, before anything else is done about a loss (REC-21).
func (c *connection) withdraw() {
	c.session.update(c, func(v *ServerSnapshot) {
		c.live = nil
		*v = ServerSnapshot{
			Name: v.Name, Fingerprint: v.Fingerprint, Generation: v.Generation, CatalogRevision: v.CatalogRevision,
			State: StateReconnecting, Since: time.Now(), LastError: v.LastError,
		}
	})
}

// close ends a connection in good order, bounded, whatever the server does.
func (c *connection) close(l *live) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	c.unconfirmed = l.conn.Close(ctx) != nil
	l.work.Wait()
}
