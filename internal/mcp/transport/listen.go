// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

const (
	listenDelay = time.Second
	// minListenRetry floors the server's retry hint, which is a minimum anyway.
	minListenRetry = 100 * time.Millisecond
	// maxUnreachable is how many failures to reach the server in a row mean that it is gone (REC-12).
	maxUnreachable = 3
	// settledAfter is how long a stream must live for its end to be no flapping.
	settledAfter = 30 * time.Second
)

// Listener is told what comes on the stream that a server speaks on unasked.
type Listener struct {
	// Opened says that the stream is open and what the server agreed to send on it, and whether messages may have been
	// missed. It may be called again at any time, also because messages came faster than Message took them.
	Opened func(gap bool, granted Filter)
	// Refused says that the stream broke, or that the server answered with none: the server or its session may be gone.
	Refused func()
	// Message receives notifications, in order.
	Message func(*wire.Message)
}

// Listen keeps the server's stream open until ctx ends, opening it again with growing, jittered delays.
//
// Of a modern server it asks for what filter names; any number of Listens may run. A legacy server has one stream for
// everything: filter is ignored, and a second Listen returns ErrListening. Where all messages share one channel, those
// that belong to no request and no subscription go to whoever listens; up to 256 are kept until somebody does.
//
// Listen returns early with ErrNoStream when the server has no stream or grants nothing, and with an error when the
// connection is lost: ErrSessionLost, the last of several failures to reach the server, or why the channel ended.
func (c *Conn) Listen(ctx context.Context, filter Filter, to Listener) error {
	if c.info.Era == EraModern && filter.empty() {
		return ErrNoStream
	}
	defer c.listens.Add(-1)
	if c.listens.Add(1) > 1 && c.info.Era == EraLegacy {
		return ErrListening
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.active, func() { cancel(context.Cause(c.active)) })()
	l := &listening{c: c, to: to, want: filter}
	for {
		started := time.Now()
		err := c.carrier.listen(ctx, l)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, ErrNoStream), errors.Is(err, ErrSessionLost):
			return err
		}
		if l.lost(err) {
			return err
		}
		l.report(err)
		if time.Since(started) > settledAfter {
			l.failures = 0
		}
		if err := sleep(ctx, l.delay()); err != nil {
			return err
		}
		l.open, l.heard = false, false
	}
}

// listening is the state of a stream between its connections.
type listening struct {
	c    *Conn
	to   Listener
	want Filter
	resumption
	opened      bool // ever
	open        bool // in the current try
	heard       bool // in the current try
	failures    int  // tries in a row without a message
	unreachable int
}

// lost counts the failures to reach the server.
func (l *listening) lost(err error) bool {
	if l.heard || l.open {
		l.unreachable = 0
	}
	if l.heard {
		l.failures = 0
	} else {
		l.failures++
	}
	if !l.open && broken(err) {
		l.unreachable++
	}
	return l.unreachable >= maxUnreachable
}

// report tells of a refusal, or of a stream that ended. 5xx and 429 are no word about the session.
func (l *listening) report(err error) {
	if l.to.Refused == nil {
		return
	}
	var status *StatusError
	refused := errors.As(err, &status) && status.Status < 500 && status.Status != http.StatusTooManyRequests
	if refused || broken(err) {
		l.to.Refused()
	}
}

// delay grows faster than CON-16 asks, to the same cap, and is spread. The server's word wins over it.
func (l *listening) delay() time.Duration {
	if l.retry > 0 && l.open {
		return max(l.retry, minListenRetry)
	}
	base := min(listenDelay<<min(max(l.failures-1, 0), 5), maxRetry)
	jittered := time.Duration(float64(base) * (0.8 + 0.4*rand.Float64())) //nolint:gosec // spreading, not secrecy
	return min(jittered, maxRetry)
}

func (l *listening) announce(gap bool, granted Filter) {
	l.open = true
	if l.to.Opened != nil {
		l.to.Opened(gap && l.opened, granted)
	}
	l.opened = true
}

// everything is what a legacy server may send.
func (l *listening) everything() Filter {
	return Filter{Tools: true, Resources: true, Prompts: true, URIs: l.want.URIs}
}
