// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp/catalog"
	"github.com/mooring-dev/mooring/internal/mcp/content"
	"github.com/mooring-dev/mooring/internal/mcp/naming"
	"github.com/mooring-dev/mooring/internal/mcp/result"
	"github.com/mooring-dev/mooring/internal/mcp/transport"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// requestLimit bounds every request that has no limit of its own (CON-18).
const requestLimit = time.Minute

var (
	errTotal = errors.New("the call's total time is up")
	errIdle  = errors.New("no progress for the call's idle time")
)

// Call sends one tools/call and waits for its end. Errors are *CallError. When ctx ends first, the server is told.
func (r *Runtime) Call(ctx context.Context, id SessionID, req CallRequest) (*CallResult, error) {
	s := r.session(id)
	if s == nil {
		return nil, &CallError{Reason: CallSessionNotFound, Err: ErrSessionNotFound}
	}
	l, tool, err := s.admit(&req)
	if err != nil {
		return nil, err
	}
	defer s.dismiss(l)
	c := &call{l: l, tool: tool.Tool, req: &req}
	raw, err := c.run(ctx)
	if err != nil {
		return nil, err
	}
	out := &CallResult{
		Server: tool.Server, Tool: tool.Tool.Name, Generation: l.generation, ProtocolVersion: l.conn.Info().ProtocolVersion,
	}
	// What was answered is not lost because the caller goes away now.
	kept, cancel := context.WithTimeout(context.WithoutCancel(ctx), artifactTimeout)
	defer cancel()
	out.Result = result.Wire(kept, raw, result.WireOptions{
		InlineBytes: s.inline(), Store: s.store(), Secrets: l.c.secrets,
	}).Result
	if req.Report {
		if report, err := result.Normalize(kept, raw, result.Options{Store: s.store()}); err == nil {
			out.Report = report
		}
	}
	return out, nil
}

// admit finds the tool and its connection, and takes a place in flight. It fails before anything is sent.
func (s *session) admit(req *CallRequest) (*live, *catalog.ProjectedTool, error) {
	if err := req.check(); err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending != nil {
		return nil, nil, &CallError{Reason: CallSessionNotFound, Err: ErrSessionNotFound}
	}
	tool, ok := s.snapshot.Projection.Lookup(req.Tool)
	if !ok {
		return nil, nil, &CallError{Reason: s.missing(req.Tool)}
	}
	c := s.conns[tool.Server]
	if c == nil || c.live == nil {
		return nil, nil, &CallError{Reason: CallNotConnected}
	}
	if err := s.occupy(c.live); err != nil {
		return nil, nil, err
	}
	return c.live, tool, nil
}

// occupy takes a place in flight, which dismiss gives back. It is called with mu held.
func (s *session) occupy(l *live) *CallError {
	if s.calls >= s.rt.opts.MaxCallsPerSession || l.calls >= s.rt.opts.MaxCallsPerConnection {
		return &CallError{Reason: CallTooMany}
	}
	s.calls++
	l.calls++
	s.inflight.Add(1)
	return nil
}

func (s *session) dismiss(l *live) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls--
	l.calls--
	s.inflight.Done()
}

// missing says why no tool of that name is projected: its server may only be away.
func (s *session) missing(name string) CallReason {
	for _, c := range s.order {
		if c.view.State != StateConnected && strings.HasPrefix(name, naming.ServerPrefix(c.server.Name)) {
			return CallNotConnected
		}
	}
	return CallToolNotFound
}

// check refuses what cannot be sent.
func (req *CallRequest) check() error {
	if len(req.Meta) > wire.MaxMetaBytes {
		return &CallError{Reason: CallInvalid, Err: errors.New("_meta is too large")}
	}
	for _, part := range []json.RawMessage{req.Arguments, req.Meta} {
		if part == nil {
			continue
		}
		if _, err := wire.ParseObject(part); err != nil {
			return &CallError{Reason: CallInvalid, Err: err}
		}
	}
	return nil
}

// call is one tools/call in flight.
type call struct {
	l    *live
	tool *catalog.Tool
	req  *CallRequest

	cancel   context.CancelCauseFunc
	idle     *time.Timer // armed by the first progress (bridge row 13)
	idleTime time.Duration
	token    string
	progress progress
}

func (c *call) run(ctx context.Context) (json.RawMessage, error) {
	limits := c.l.c.current().Calls
	ctx, c.cancel = context.WithCancelCause(ctx)
	defer c.cancel(nil)
	timed, stop := context.WithTimeoutCause(ctx, limits.Total, errTotal)
	defer stop()
	session := c.l.c.session
	defer context.AfterFunc(session.calling, func() { c.cancel(context.Cause(session.calling)) })()
	c.idleTime = limits.Idle
	c.idle = time.AfterFunc(limits.Total, func() { c.cancel(errIdle) })
	c.idle.Stop()
	defer c.idle.Stop()

	raw, err := c.l.converse(timed, wire.MethodToolsCall, c.request)
	if err != nil {
		return nil, err
	}
	return c.accept(raw)
}

// request builds the message. Everything that belongs to a hop is made here, from the body (bridge row 3).
func (c *call) request(more wire.Object) *transport.Request {
	params := wire.Object{{Name: "name", Value: wire.Quote(c.tool.Name)}}
	if c.req.Arguments != nil {
		params = append(params, wire.Member{Name: "arguments", Value: c.req.Arguments})
	}
	var meta wire.Object
	if c.req.Meta != nil {
		meta, _ = wire.ParseObject(c.req.Meta) // it was checked
		meta = meta.Without(wire.HopMeta()...)
	}
	if c.req.Notify != nil {
		c.token = progressToken()
		meta = meta.With(wire.MetaProgressToken, wire.Quote(c.token))
	}
	if len(meta) > 0 {
		params = append(params, wire.Member{Name: "_meta", Value: meta.Raw()})
	}
	request := &transport.Request{Method: wire.MethodToolsCall, Params: append(params, more...), OnMessage: c.heard, Token: c.token}
	if c.l.conn.Info().Era == transport.EraModern {
		request.Header = c.header()
	}
	return request
}

// header mirrors parts of the body (2026-07-28 transports, "Standard Request Headers").
func (c *call) header() http.Header {
	header := http.Header{wire.HeaderName: {catalog.EncodeHeaderValue(c.tool.Name)}}
	for _, param := range c.tool.HeaderParams {
		if value, ok := catalog.HeaderValue(c.req.Arguments, param); ok {
			header[http.CanonicalHeaderKey(wire.HeaderParamPrefix+param.Header)] = []string{value}
		}
	}
	return header
}

// accept takes a result as it is. What it links to may be read from now on (bridge row 8).
func (c *call) accept(raw json.RawMessage) (json.RawMessage, error) {
	if _, err := wire.ParseObject(raw); err != nil {
		return nil, &CallError{Reason: CallRejected, Sent: true, Err: err}
	}
	for _, uri := range content.Links(raw) {
		c.l.links.Add(uri)
	}
	return raw, nil
}
