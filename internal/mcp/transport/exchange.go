// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp/sse"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// maxBadEvents bounds the events of one stream that are no message; fewer are skipped.
const maxBadEvents = 100

// Request is one JSON-RPC request. It is used once.
type Request struct {
	Method string
	Params wire.Object
	// Header is added to the HTTP request: Mcp-Name and Mcp-Param-* of the modern era.
	Header http.Header
	// OnMessage receives, in order, the notifications that come on the request's own stream before its answer.
	OnMessage func(*wire.Message)

	id   wire.ID
	sent atomic.Bool
}

// Sent reports, once Do has returned, whether anything of the request may have left.
func (r *Request) Sent() bool { return r.sent.Load() }

// Do sends a request and waits for its answer: the result's bytes, or the *wire.Error that the server sent, alone or in a
// *StatusError. When ctx ends first, the server is told, and the error is ctx's cause.
func (c *Conn) Do(ctx context.Context, req *Request) (json.RawMessage, error) {
	result, _, err := c.do(ctx, req)
	return result, err
}

// do is Do, and returns the response's header too.
func (c *Conn) do(ctx context.Context, req *Request) (json.RawMessage, http.Header, error) {
	req.id = wire.NumberID(c.nextID.Add(1))
	active := c.active
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(active, func() { cancel(context.Cause(active)) })()

	result, header, err := c.exchange(ctx, req)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
		c.tellCancelled(req)
	}
	return result, header, err
}

// tellCancelled tells a legacy server that nobody waits for an answer any more. A modern one sees its stream close.
func (c *Conn) tellCancelled(req *Request) {
	if !c.ready.Load() || c.info.Era != EraLegacy || !req.Sent() {
		return
	}
	params := wire.Object{{Name: "requestId", Value: req.id.Raw()}, {Name: "reason", Value: wire.Quote("cancelled by the client")}}
	c.outbox.offer(&wire.Message{Method: wire.MethodCancelled, Params: params.Raw()})
}

func (c *Conn) exchange(ctx context.Context, req *Request) (json.RawMessage, http.Header, error) {
	res, err := c.post(ctx, req)
	if err != nil {
		return nil, nil, err
	}
	switch mediaType(res.Response) {
	case mediaJSON:
		defer res.close()
		result, err := c.fromJSON(res, req)
		return result, res.Header, err
	case mediaStream:
		result, err := c.fromStream(ctx, res, req)
		return result, res.Header, err
	}
	res.close()
	return nil, nil, &ProtocolError{What: "the response is neither JSON nor an event stream"}
}

// post sends the request; the response that it returns is a success.
func (c *Conn) post(ctx context.Context, req *Request) (*response, error) {
	params, header := req.Params, req.Header
	if c.meta != nil {
		params, header = c.modern(req)
	}
	message := wire.Message{ID: req.id, Method: req.Method}
	if params != nil {
		message.Params = params.Raw()
	}
	body := message.Append(make([]byte, 0, len(message.Params)+128))
	if len(body) > wire.MaxMessageBytes {
		return nil, &ProtocolError{What: "the request is too large"}
	}
	res, err := c.send(ctx, &outgoing{method: http.MethodPost, body: body, header: header, sent: &req.sent})
	if err != nil {
		return nil, err
	}
	if err := c.triage(res, req.id); err != nil {
		res.close()
		return nil, err
	}
	return res, nil
}

// modern adds what the modern era carries with each request (2026-07-28 basic, "_meta"; transports, "Request Metadata").
func (c *Conn) modern(req *Request) (wire.Object, http.Header) {
	header := make(http.Header, len(req.Header)+1)
	for name, values := range req.Header {
		header[name] = values
	}
	header[wire.HeaderMethod] = []string{req.Method}
	meta, err := wire.ParseObject(orEmpty(req.Params.Get("_meta")))
	if err != nil {
		meta = nil
	}
	for _, member := range c.meta {
		meta = meta.With(member.Name, member.Value)
	}
	return req.Params.With("_meta", meta.Raw()), header
}

func orEmpty(v json.RawMessage) json.RawMessage {
	if v == nil {
		return json.RawMessage("{}")
	}
	return v
}

func (c *Conn) fromJSON(res *response, req *Request) (json.RawMessage, error) {
	m, err := readMessage(res.Response)
	if err != nil {
		return nil, err
	}
	// An error without an id can only mean this request: the body has room for one answer.
	if !m.IsResponse() || (m.ID != req.id && (m.Error == nil || !m.ID.IsZero())) {
		return nil, &ProtocolError{What: "the response does not answer the request"}
	}
	return outcome(m)
}

func outcome(m *wire.Message) (json.RawMessage, error) {
	if m.Error != nil {
		return nil, m.Error
	}
	return m.Result, nil
}

// fromStream reads the request's stream until its answer, and resumes it where the era has that.
func (c *Conn) fromStream(ctx context.Context, res *response, req *Request) (json.RawMessage, error) {
	resumption := &resumption{c: c}
	for {
		reader := sse.NewReader(res.Body, wire.MaxMessageBytes)
		m, err := c.readAnswer(ctx, reader, req)
		if err == nil {
			c.finish(res)
			return outcome(m)
		}
		res.close()
		if !broken(err) || c.info.Era == EraModern {
			return nil, err
		}
		if res, err = resumption.next(ctx, reader, err); err != nil {
			return nil, err
		}
	}
}

// broken reports whether a stream broke off, as opposed to saying something wrong.
func broken(err error) bool {
	var network *NetworkError
	return errors.As(err, &network)
}

// readAnswer reads messages until the answer to req.
func (c *Conn) readAnswer(ctx context.Context, reader *sse.Reader, req *Request) (*wire.Message, error) {
	stream := &messages{events: reader}
	for {
		m, err := stream.next()
		switch {
		case err != nil:
			return nil, err
		case m.IsResponse():
			if m.ID == req.id {
				return m, nil
			}
		case m.IsRequest():
			c.answerRequest(ctx, m)
		case req.OnMessage != nil:
			req.OnMessage(m)
		}
	}
}

// messages reads the messages of one stream.
type messages struct {
	events *sse.Reader
	bad    int // events so far that should have been messages
}

// next returns the next message. Events of another type carry none; of those that should and do not, a few are skipped.
func (s *messages) next() (*wire.Message, error) {
	for {
		event, err := s.events.Next()
		switch {
		case errors.Is(err, sse.ErrTooLarge):
			return nil, &ProtocolError{What: "an event is too large"}
		case errors.Is(err, io.EOF):
			return nil, &NetworkError{Err: io.ErrUnexpectedEOF}
		case err != nil:
			return nil, &NetworkError{Err: err}
		case event.Name != "" && event.Name != "message":
			continue
		}
		m, err := wire.Parse(event.Data)
		if err == nil {
			return m, nil
		}
		if s.bad++; s.bad > maxBadEvents {
			return nil, &ProtocolError{What: "an event is no JSON-RPC message"}
		}
	}
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

// finish gives a response back. Its answer was read; if the rest of the body is empty, its socket can be used again. That
// is found out aside, for the caller need not wait for it.
func (c *Conn) finish(res *response) {
	res.detach()
	taken := c.work.Go(func() {
		timer := time.AfterFunc(drainTimeout, func() { res.cancel(ErrClosed) })
		defer timer.Stop()
		_, _ = io.CopyN(io.Discard, res.Body, maxErrorBody)
		res.close()
	})
	if !taken {
		res.close() // the connection is ending, and its sockets with it
	}
}
