// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp/wire"
	"github.com/mooring-dev/mooring/internal/mcp/work"
)

// Info is what a server said about itself when the connection was made. All of it is untrusted.
type Info struct {
	Era             Era
	ProtocolVersion string
	// ServerInfo and Capabilities are objects, or nil.
	ServerInfo, Capabilities wire.Object
	Instructions             string
}

// Declares reports whether the server declares a capability, or the flag of one.
func (i *Info) Declares(capability, flag string) bool {
	value := i.Capabilities.Get(capability)
	if flag == "" || value == nil {
		return len(value) > 0 && value[0] == '{'
	}
	object, err := wire.ParseObject(value)
	return err == nil && string(object.Get(flag)) == "true"
}

// Conn is a connection to one server. It is safe for concurrent use.
type Conn struct {
	cfg     Config
	carrier carrier

	// Fixed by Dial.
	info    Info
	version string // on the wire; empty until it is negotiated
	meta    []wire.Member

	level  atomic.Pointer[string]
	nextID atomic.Int64
	// legacy is set when the legacy handshake begins, ready when info is fixed: until then nothing is posted beside the
	// handshake.
	legacy, ready atomic.Bool
	listens       atomic.Int32
	// active ends requests and streams; alive ends everything.
	active, alive         context.Context //nolint:containedctx // a connection outlives each call on it
	stopActive, stopAlive context.CancelCauseFunc
	outbox                *outbox
	questions             questions
	work                  work.Group
}

func newConn(cfg Config) (*Conn, error) {
	c := &Conn{cfg: cfg}
	c.alive, c.stopAlive = context.WithCancelCause(context.Background())
	c.active, c.stopActive = context.WithCancelCause(c.alive)
	c.outbox = newOutbox(c)
	c.questions.c = c
	var err error
	if c.carrier, err = newCarrier(c); err != nil {
		c.stopAlive(ErrClosed)
		return nil, err
	}
	return c, nil
}

// Info returns what was negotiated.
func (c *Conn) Info() Info { return c.info }

// Sockets counts the open sockets.
func (c *Conn) Sockets() int { return c.carrier.sockets() }

// SetLogLevel makes requests from now on ask a modern server for log messages of that level; empty asks for none. For
// legacy servers that is a request of its own, logging/setLevel.
func (c *Conn) SetLogLevel(level string) { c.level.Store(&level) }

// Request asks the server for something and returns the result as it was sent. It is bounded by requestTimeout.
func (c *Conn) Request(ctx context.Context, method string, params wire.Object) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, requestTimeout, &TimeoutError{Phase: method, Limit: requestTimeout})
	defer cancel()
	return c.Do(ctx, &Request{Method: method, Params: params})
}

// Check makes a round trip: an answer of any kind from this very session is good. Its time is what ctx leaves, at most
// 60 s, or 10 s when ctx has no deadline; when it is over the error is a *TimeoutError (CON-22).
func (c *Conn) Check(ctx context.Context) error {
	limit := checkTimeout
	if deadline, ok := ctx.Deadline(); ok {
		limit = max(min(time.Until(deadline), maxCheckTimeout), 0)
	}
	expired := &TimeoutError{Phase: "check", Limit: limit}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, expired)
	defer cancel()
	var err error
	if c.info.Era == EraModern {
		_, err = c.discover(ctx)
	} else if _, err = c.Do(ctx, &Request{Method: wire.MethodPing}); answered(err) {
		return nil
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return expired // the caller's clock was first
	}
	return err
}

// Wait returns when the connection is lost, with the reason, or when ctx ends. Only what lives on one connection is lost
// by itself: KindStdio and KindSSE.
func (c *Conn) Wait(ctx context.Context) error {
	select {
	case <-c.active.Done():
		return context.Cause(c.active)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Close ends requests and streams, tells the server what was cancelled, ends the session or the process, and closes every
// socket. An error says that the server did not confirm the end. Close is bounded by ctx, and by 2 s; by 6 s for a process.
func (c *Conn) Close(ctx context.Context) error {
	c.stopActive(ErrClosed)
	limit := endTimeout
	if c.cfg.Kind == KindStdio {
		limit = exitTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, &TimeoutError{Phase: "closing", Limit: limit})
	defer cancel()
	c.outbox.flush(ctx)
	err := c.carrier.end(ctx)
	c.Abort()
	return err
}

// Abort closes every socket at once and tells the server nothing.
func (c *Conn) Abort() {
	c.stopAlive(ErrClosed)
	c.carrier.abort()
	c.work.Wait()
	c.carrier.abort() // what was in flight may have become idle
}
