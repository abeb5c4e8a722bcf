// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp/sse"
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
	// Opened says that the stream is open, and whether messages may have been missed since it was open last.
	Opened func(gap bool)
	// Refused says that the server answered, and with no stream: the session may be gone.
	Refused func()
	// Message receives notifications, in order.
	Message func(*wire.Message)
}

// Listen keeps the server's stream open until ctx ends, opening it again with growing, jittered delays. It returns early
// with ErrNoStream when the server has none, and with an error when the connection is lost: ErrSessionLost, or the last
// of several failures to reach the server.
func (c *Conn) Listen(ctx context.Context, to Listener) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.active, func() { cancel(context.Cause(c.active)) })()
	l := &listening{c: c, to: to, resumption: resumption{c: c}}
	for {
		started := time.Now()
		err := l.once(ctx)
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
	}
}

// listening is the state of a stream between its connections.
type listening struct {
	c  *Conn
	to Listener
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

// report tells of a refusal. 5xx and 429 are no word about the session.
func (l *listening) report(err error) {
	var status *StatusError
	if l.to.Refused != nil && errors.As(err, &status) && status.Status < 500 && status.Status != http.StatusTooManyRequests {
		l.to.Refused()
	}
}

func (l *listening) delay() time.Duration {
	if l.retry > 0 && l.open {
		return max(l.retry, minListenRetry)
	}
	base := min(listenDelay<<min(max(l.failures-1, 0), 5), maxRetry)
	jittered := time.Duration(float64(base) * (0.8 + 0.4*rand.Float64())) //nolint:gosec // spreading, not secrecy
	return min(jittered, maxRetry)
}

// once opens the stream and reads it to its end.
func (l *listening) once(ctx context.Context) error {
	l.open, l.heard = false, false
	if l.c.info.Era == EraModern {
		return l.modern(ctx)
	}
	return l.legacy(ctx)
}

func (l *listening) announce(gap bool) {
	l.open = true
	if l.to.Opened != nil {
		l.to.Opened(gap && l.opened)
	}
	l.opened = true
}

func (l *listening) legacy(ctx context.Context) error {
	resumed := l.lastID != ""
	res, err := l.c.stream(ctx, l.lastID)
	if err != nil {
		return l.legacyRefused(err)
	}
	defer res.close()
	l.announce(!resumed)
	reader := sse.NewReader(res.Body, maxListenEvent)
	defer l.observe(reader)
	return l.read(ctx, reader, func(*wire.Message) verdict { return deliver })
}

// legacyRefused sorts the answers to a GET: that there is no stream is a fact, everything else passes.
func (l *listening) legacyRefused(err error) error {
	var status *StatusError
	if !errors.As(err, &status) {
		return err
	}
	switch {
	case errors.Is(err, ErrSessionLost):
		return err
	case status.Status == http.StatusMethodNotAllowed, status.Status == http.StatusNotFound,
		status.Status == http.StatusNotImplemented:
		return ErrNoStream
	case l.lastID != "" && status.Status < 500:
		l.lastID = "" // the event may be forgotten: begin anew
	}
	return err
}

// verdict is what becomes of a message.
type verdict int

const (
	deliver verdict = iota
	drop
	stop
)

// read hands messages on until the stream ends, or until judge says that it has ended.
func (l *listening) read(ctx context.Context, reader *sse.Reader, judge func(*wire.Message) verdict) error {
	stream := &messages{events: reader}
	for {
		m, err := stream.next()
		if err != nil {
			return err
		}
		verdict := judge(m)
		if verdict == stop {
			return nil
		}
		l.heard = true
		l.handle(ctx, m, verdict)
	}
}

func (l *listening) handle(ctx context.Context, m *wire.Message, verdict verdict) {
	switch {
	case m.IsRequest():
		l.c.answerRequest(ctx, m)
	case m.IsNotification() && verdict == deliver:
		l.to.Message(m)
	}
}

// modern asks for a subscription (2026-07-28 patterns, "Subscriptions").
func (l *listening) modern(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(ackTimeout, func() {
		cancel(&TimeoutError{Phase: "acknowledgement of " + wire.MethodListen, Limit: ackTimeout})
	})
	defer timer.Stop()
	req := &Request{Method: wire.MethodListen, id: wire.NumberID(l.c.nextID.Add(1)), Params: wire.Object{
		{Name: "notifications", Value: json.RawMessage(`{"toolsListChanged":true}`)},
	}}
	res, err := l.c.post(ctx, req)
	if err != nil {
		return causeOf(ctx, modernRefused(err))
	}
	defer res.close()
	if mediaType(res.Response) != mediaStream {
		_, err := l.c.fromJSON(res, req)
		return modernRefused(err)
	}
	return causeOf(ctx, l.subscription(ctx, res, req, timer))
}

func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// modernRefused sorts refusals: a server that does not know the method offers no stream.
func modernRefused(err error) error {
	var rpc *wire.Error
	if err == nil || (errors.As(err, &rpc) && rpc.Code == wire.CodeMethodNotFound) {
		return ErrNoStream
	}
	return err
}

func (l *listening) subscription(ctx context.Context, res *response, req *Request, ack *time.Timer) error {
	acknowledged, granted := false, true
	err := l.read(ctx, sse.NewReader(res.Body, maxListenEvent), func(m *wire.Message) verdict {
		switch {
		case m.IsResponse() && m.ID == req.id, m.Method == wire.MethodCancelled:
			return stop // the server ends the subscription in good order
		case m.IsNotification() && !concerns(m, req.id):
			return drop
		case acknowledged:
			return deliver
		case m.Method == wire.MethodListenAcknowledged:
			acknowledged = ack.Stop()
			if granted = grants(m); !granted {
				return stop
			}
			l.announce(true)
		}
		return drop
	})
	if !granted {
		return ErrNoStream
	}
	return err
}

// concerns reports whether a notification carries the id of the subscription.
func concerns(m *wire.Message, id wire.ID) bool {
	params, err := wire.ParseObject(orEmpty(m.Params))
	if err != nil {
		return false
	}
	meta, err := wire.ParseObject(orEmpty(params.Get("_meta")))
	return err == nil && string(meta.Get(wire.MetaSubscriptionID)) == id.String()
}

// grants reports whether an acknowledgement covers what was asked for.
func grants(m *wire.Message) bool {
	params, err := wire.ParseObject(orEmpty(m.Params))
	if err != nil {
		return false
	}
	granted, err := wire.ParseObject(orEmpty(params.Get("notifications")))
	return err == nil && string(granted.Get("toolsListChanged")) == "true"
}
