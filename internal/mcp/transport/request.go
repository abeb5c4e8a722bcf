// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync/atomic"

	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// Request is one JSON-RPC request. It is used once.
type Request struct {
	Method string
	Params wire.Object
	// Header is added to the HTTP request: Mcp-Name and Mcp-Param-* of the modern era.
	Header http.Header
	// Token is the progress token in Params, when it has one, which must be a string. Where all messages share one
	// channel, notifications of progress find their request by it.
	Token string
	// OnMessage receives, in order, the notifications that belong to the request and come before its answer. Over one
	// channel, a request that lets 256 of them wait for more than a second is given up.
	OnMessage func(*wire.Message)

	id   wire.ID
	sent atomic.Bool
}

// Sent reports, once Do has returned, whether anything of the request may have left.
func (r *Request) Sent() bool { return r.sent.Load() }

// Do sends a request and waits for its answer: the result's bytes, or the *wire.Error that the server sent, alone or in a
// *StatusError. When ctx ends first, the server is told, and the error is ctx's cause.
func (c *Conn) Do(ctx context.Context, req *Request) (json.RawMessage, error) {
	req.id = c.newID()
	active := c.active
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(active, func() { cancel(context.Cause(active)) })()

	if active.Err() != nil {
		return nil, context.Cause(active)
	}
	body, err := c.encode(req)
	if err != nil {
		return nil, err
	}
	result, err := c.carrier.exchange(ctx, req, body)
	if err != nil && active.Err() != nil {
		<-ctx.Done() // it is about to be: the reason is better than what it did to the exchange
	}
	switch {
	case err != nil && ctx.Err() != nil:
		err = context.Cause(ctx)
		c.tellCancelled(req)
	case errors.Is(err, errSlow):
		c.tellCancelled(req)
	}
	return result, err
}

func (c *Conn) newID() wire.ID { return wire.NumberID(c.nextID.Add(1)) }

// encode returns the bytes of a request.
func (c *Conn) encode(req *Request) ([]byte, error) {
	params := req.Params
	if c.meta != nil {
		params = c.withMeta(params)
	}
	message := wire.Message{ID: req.id, Method: req.Method}
	if params != nil {
		message.Params = params.Raw()
	}
	body := message.Append(make([]byte, 0, len(message.Params)+128))
	if len(body) > wire.MaxMessageBytes {
		return nil, &ProtocolError{What: "the request is too large"}
	}
	return body, nil
}

// withMeta adds what the modern era carries with each request (2026-07-28 basic, "_meta").
func (c *Conn) withMeta(params wire.Object) wire.Object {
	meta, err := wire.ParseObject(orEmpty(params.Get("_meta")))
	if err != nil {
		meta = nil
	}
	for _, member := range c.meta {
		meta = meta.With(member.Name, member.Value)
	}
	if level := c.level.Load(); level != nil && *level != "" {
		meta = meta.With(wire.MetaLogLevel, wire.Quote(*level))
	}
	return params.With("_meta", meta.Raw())
}

func orEmpty(v json.RawMessage) json.RawMessage {
	if v == nil {
		return json.RawMessage("{}")
	}
	return v
}

// tellCancelled tells the server that nobody waits for an answer any more. A modern one behind HTTP sees its stream close.
func (c *Conn) tellCancelled(req *Request) {
	if !c.ready.Load() || !req.Sent() || (c.cfg.Kind == KindHTTP && c.info.Era == EraModern) {
		return
	}
	params := wire.Object{{Name: "requestId", Value: req.id.Raw()}, {Name: "reason", Value: wire.Quote("cancelled by the client")}}
	c.outbox.offer(&wire.Message{Method: wire.MethodCancelled, Params: params.Raw()}, cancelTimeout)
}

func outcome(m *wire.Message) (json.RawMessage, error) {
	if m.Error != nil {
		return nil, m.Error
	}
	return m.Result, nil
}

// broken reports whether a stream broke off, as opposed to saying something wrong.
func broken(err error) bool {
	var network *NetworkError
	return errors.As(err, &network)
}

// answered reports whether err is an answer to the request itself.
func answered(err error) bool {
	var status *StatusError
	if errors.As(err, &status) {
		return status.Answered
	}
	var rpc *wire.Error
	return errors.As(err, &rpc)
}
