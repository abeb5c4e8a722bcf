// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp/catalog"
	"github.com/mooring-dev/mooring/internal/mcp/completion"
	"github.com/mooring-dev/mooring/internal/mcp/content"
	"github.com/mooring-dev/mooring/internal/mcp/transport"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// completionLimit bounds completion/complete (CMP-07).
const completionLimit = 15 * time.Second

// Requests other than calls. What can be checked is checked before anything is sent; errors are *CallError. Results are
// the server's bytes.

// operation is one such request.
type operation struct {
	l      *live
	method string
}

// begin finds a server that is connected and declares a capability, and takes a place in flight (REG-07).
func (r *Runtime) begin(id SessionID, server, method, capability string) (*operation, error) {
	s := r.session(id)
	if s == nil {
		return nil, &CallError{Method: method, Reason: CallSessionNotFound, Err: ErrSessionNotFound}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending != nil {
		return nil, &CallError{Method: method, Reason: CallSessionNotFound, Err: ErrSessionNotFound}
	}
	c := s.conns[server]
	switch {
	case c == nil:
		return nil, &CallError{Method: method, Reason: CallServerNotFound, Err: ErrServerNotFound}
	case c.live == nil:
		return nil, &CallError{Method: method, Reason: CallNotConnected, Err: ErrServerNotConnected}
	}
	if info := c.live.conn.Info(); !info.Declares(capability, "") {
		return nil, &CallError{Method: method, Reason: CallNotSupported}
	}
	if err := s.occupy(c.live); err != nil {
		err.Method = method
		return nil, err
	}
	return &operation{l: c.live, method: method}, nil
}

func (o *operation) end() { o.l.c.session.dismiss(o.l) }

// do sends the request. name, where the method has one, goes into a header as well in the modern era.
func (o *operation) do(ctx context.Context, params wire.Object, name string) (json.RawMessage, error) {
	session := o.l.c.session
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(session.calling, func() { cancel(context.Cause(session.calling)) })()
	timed, stop := context.WithTimeoutCause(ctx, requestLimit, &transport.TimeoutError{Phase: o.method, Limit: requestLimit})
	defer stop()
	return o.l.converse(timed, o.method, func(more wire.Object) *transport.Request {
		request := &transport.Request{Method: o.method, Params: slices.Concat(params, more), OnMessage: o.l.heard}
		if name != "" && o.l.conn.Info().Era == transport.EraModern {
			request.Header = http.Header{wire.HeaderName: {catalog.EncodeHeaderValue(name)}}
		}
		return request
	})
}

// failed says how a request ended that has no result.
func (o *operation) failed(ctx context.Context, err error) error {
	return ended(ctx, o.method, err, true)
}

// Read asks for a resource: one that its server lists, that a template of it matches, or that a result of it linked to
// (CNT-20, bridge row 8). The result is not bounded by shape; content.ReadReport is what may be shown of it.
func (r *Runtime) Read(ctx context.Context, id SessionID, server, uri string) (json.RawMessage, error) {
	o, err := r.begin(id, server, wire.MethodResourcesRead, "resources")
	if err != nil {
		return nil, err
	}
	defer o.end()
	if err := o.l.readable(uri); err != nil {
		return nil, &CallError{Method: o.method, Reason: CallNotInCatalog, Err: err}
	}
	return o.do(ctx, uriParams(uri), uri)
}

// readable returns nil for a resource that the server offered in any way.
func (l *live) readable(uri string) error {
	s := l.c.session
	s.mu.Lock()
	resources, templates := l.c.view.Resources, l.c.view.Templates
	s.mu.Unlock()
	return content.Readable(resources, templates, &l.links, uri)
}

// GetPrompt asks for a prompt that its server lists, with arguments that it declares (CNT-30).
func (r *Runtime) GetPrompt(ctx context.Context, id SessionID, server, name string, arguments json.RawMessage) (
	json.RawMessage, error,
) {
	o, err := r.begin(id, server, wire.MethodPromptsGet, "prompts")
	if err != nil {
		return nil, err
	}
	defer o.end()
	entry, ok := o.l.prompts().Lookup(name)
	if !ok {
		return nil, &CallError{Method: o.method, Reason: CallNotInCatalog}
	}
	if err := content.PromptArguments(entry, arguments); err != nil {
		return nil, &CallError{Method: o.method, Reason: CallInvalid, Err: err}
	}
	params := wire.Object{{Name: "name", Value: wire.Quote(name)}}
	if arguments != nil {
		params = append(params, wire.Member{Name: "arguments", Value: arguments})
	}
	return o.do(ctx, params, name)
}

func (l *live) prompts() *content.Catalog {
	l.c.session.mu.Lock()
	defer l.c.session.mu.Unlock()
	return l.c.view.Prompts
}

// Complete asks for candidates for an argument of a prompt or a variable of a template. The order of what is refused is
// CMP-01's; at most four run at a time on a connection, each for 15 s.
func (r *Runtime) Complete(ctx context.Context, id SessionID, server string, req completion.Request) (json.RawMessage, error) {
	o, err := r.begin(id, server, wire.MethodComplete, "completions")
	if err != nil {
		return nil, err
	}
	defer o.end()
	release, err := o.l.completions.Acquire()
	if err != nil {
		return nil, &CallError{Method: o.method, Reason: CallTooMany, Err: err}
	}
	defer release()
	o.l.c.session.mu.Lock()
	prompts, templates := o.l.c.view.Prompts, o.l.c.view.Templates
	o.l.c.session.mu.Unlock()
	if err := completion.Check(req, prompts, templates); err != nil {
		return nil, &CallError{Method: o.method, Reason: CallInvalid, Err: err}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, completionLimit,
		&transport.TimeoutError{Phase: o.method, Limit: completionLimit})
	defer cancel()
	return o.do(ctx, completion.Params(req), "")
}

// Subscribe wants updates of a resource, and waits until its server confirms. What is wanted already is counted, and
// must be unsubscribed from as often (SUB-02). A refusal leaves nothing behind.
func (r *Runtime) Subscribe(ctx context.Context, id SessionID, server, uri string) error {
	o, err := r.begin(id, server, wire.MethodSubscribe, "resources")
	if err != nil {
		return err
	}
	defer o.end()
	if err := o.l.readable(uri); err != nil {
		return &CallError{Method: o.method, Reason: CallNotInCatalog, Err: err}
	}
	if info := o.l.conn.Info(); !info.Declares("resources", "subscribe") {
		return &CallError{Method: o.method, Reason: CallNotSupported}
	}
	s := o.l.c.session
	s.mu.Lock()
	err, active := o.l.c.wanted.add(uri), o.l.active[uri]
	s.mu.Unlock()
	switch {
	case err != nil:
		return &CallError{Method: o.method, Reason: CallTooMany, Err: err}
	case active:
		return nil
	}
	err = o.step(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	serving := o.l.serving()
	if serving && o.l.active[uri] {
		return nil
	}
	o.l.c.wanted.remove(uri)
	if serving {
		o.l.c.wanted.show(o.l.c)
	}
	if err == nil {
		err = o.l.denied[uri]
	}
	if err == nil {
		err = transport.ErrClosed
	}
	return o.failed(ctx, err)
}

// step waits until the subscriptions are in step.
func (o *operation) step(ctx context.Context) error {
	done := make(chan error, 1)
	o.l.subscribers.add(done)
	o.l.mark(listSubscriptions)
	return o.l.await(ctx, done)
}

// Unsubscribe takes one Subscribe back. What is not wanted is no error, nor is a resource that is listed no more (SUB-03).
func (r *Runtime) Unsubscribe(ctx context.Context, id SessionID, server, uri string) error {
	o, err := r.begin(id, server, wire.MethodUnsubscribe, "resources")
	if err != nil {
		return err
	}
	defer o.end()
	s := o.l.c.session
	s.mu.Lock()
	wanted := o.l.c.wanted.made[uri] > 0
	if wanted {
		o.l.c.wanted.remove(uri)
	}
	s.mu.Unlock()
	if !wanted {
		return nil
	}
	if err := o.step(ctx); err != nil {
		return o.failed(ctx, err)
	}
	return nil
}

// ended says how a request ended that has no result.
func ended(ctx context.Context, method string, err error, sent bool) *CallError {
	out := &CallError{Method: method, Reason: CallConnectionLost, Sent: sent, Err: err}
	var (
		rpc     *wire.Error
		status  *transport.StatusError
		timeout *transport.TimeoutError
		broken  *transport.ProtocolError
		moved   *transport.RedirectError
	)
	switch {
	case errors.As(err, &moved): // it was not executed here, and goes nowhere else
		out.Reason, out.Answered = CallRejected, true
	case errors.Is(err, errTotal):
		out.Reason = CallTimeout
	case errors.Is(err, errIdle):
		out.Reason = CallIdle
	case errors.As(err, &timeout):
		out.Reason = CallTimeout
	case ctx.Err() != nil && !errors.Is(err, transport.ErrClosed):
		out.Reason = CallAborted
	case errors.As(err, &status) && !status.Answered:
		// A server that refuses a request has not executed it; behind a 5xx anything may have happened.
		out.Reason, out.Answered = CallRejected, status.Status < http.StatusInternalServerError
	case errors.As(err, &rpc):
		out.Reason, out.Answered = CallRPCError, true
	case errors.As(err, &broken):
		out.Reason = CallRejected
	}
	return out
}
