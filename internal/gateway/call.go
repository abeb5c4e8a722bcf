// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/mooring-dev/mooring/internal/mcp"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

var hopMeta = wire.HopMeta()

// toolsCall sends a call to the session's Runtime and relays what comes back.
func (x *exchange) toolsCall() *problem {
	request, token, p := x.callRequest()
	if p != nil {
		return p
	}
	if x.modern {
		if p := x.checkToolHeaders(request.Tool, request.Arguments); p != nil {
			return p
		}
	}
	request.Notify = x.notify(token)
	if !x.limits.takeCall(x.session.ID) {
		return callProblem(&mcp.CallError{Reason: mcp.CallTooMany}, x.modern, request.Tool)
	}
	defer x.limits.giveCall(x.session.ID)

	ctx, done := x.callContext()
	defer done()
	x.reply.streamAfter(x.opts.StreamAfter)
	result, err := x.opts.Runtime.Call(ctx, x.session.ID, request)
	if err != nil {
		return callProblem(err, x.modern, request.Tool)
	}
	x.reply.result(x.message.ID, x.identity.settle(result.Result, x.modern, result.ProtocolVersion == wire.Version20260728)...)
	return nil
}

// callContext gives the context of a call. A modern client cancels by going away; a legacy one may come back, so that
// its call lives on without it, and ends early only when told to.
func (x *exchange) callContext() (context.Context, func()) {
	if x.modern {
		return x.request.Context(), func() {}
	}
	ctx, cancel := context.WithCancel(x.life)
	remove := x.inflight.add(x.flight(x.message.ID.String()), cancel)
	return ctx, func() {
		remove()
		cancel()
	}
}

// callRequest reads the parameters of a call, and the agent's progress token. Members that no tool sees are ignored.
func (x *exchange) callRequest() (mcp.CallRequest, json.RawMessage, *problem) {
	name, ok := x.params.String("name")
	if !ok || name == "" {
		return mcp.CallRequest{}, nil, invalid(http.StatusOK, wire.CodeInvalidParams, "tools/call needs name, a string.")
	}
	request := mcp.CallRequest{Tool: name}
	switch arguments := x.params.Get("arguments"); {
	case len(arguments) == 0 || string(arguments) == "null":
	case arguments[0] != '{':
		return request, nil, invalid(http.StatusOK, wire.CodeInvalidParams, "arguments must be an object.")
	default:
		request.Arguments = arguments
	}
	token := x.meta.Get(wire.MetaProgressToken)
	if token != nil && !isToken(token) {
		return request, nil, invalid(http.StatusOK, wire.CodeInvalidParams, "progressToken must be a string or an integer.")
	}
	if meta := x.meta.Without(hopMeta...); len(meta) > 0 {
		request.Meta = meta.Raw()
	}
	if len(request.Meta) > wire.MaxMetaBytes {
		return request, nil, invalid(http.StatusOK, wire.CodeInvalidParams, "_meta may not be larger than 64 KiB.")
	}
	return request, token, nil
}

// isToken accepts what JSON-RPC accepts for an id, and bounds it.
func isToken(raw json.RawMessage) bool {
	if len(raw) > 1024 {
		return false
	}
	for i, c := range raw {
		if c == '"' {
			return i == 0
		}
		if (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}

// notify returns what takes the notifications of a call, or nil where the agent can or wants to hear none.
func (x *exchange) notify(token json.RawMessage) func(*wire.Message) {
	least := 0
	if x.modern {
		least = severity(x.meta.Get(wire.MetaLogLevel))
	}
	if !x.reply.sse || (token == nil && least < 0) {
		return nil
	}
	return func(m *wire.Message) {
		params, err := wire.ParseObject(m.Params)
		if err != nil {
			return
		}
		switch m.Method {
		case wire.MethodProgress:
			if token == nil {
				return
			}
			params = params.With("progressToken", token)
		case wire.MethodMessage:
			if least < 0 || severity(params.Get("level")) < least {
				return
			}
		default:
			return
		}
		x.reply.notify(&wire.Message{Method: m.Method, Params: withoutHopMeta(params).Raw()})
	}
}

func withoutHopMeta(params wire.Object) wire.Object {
	meta, err := wire.ParseObject(params.Get("_meta"))
	if err != nil {
		return params
	}
	if meta = meta.Without(hopMeta...); len(meta) == 0 {
		return params.Without("_meta")
	}
	return params.With("_meta", meta.Raw())
}
