// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"unicode/utf8"

	"github.com/mooring-dev/mooring/internal/mcp"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// Reason names an error of ours in data.reason. Values are API: agents may act on them.
type Reason string

// The reasons of errors that the gateway makes itself. Those of calls are mcp.CallReason's.
const (
	ReasonUnauthenticated  Reason = "Unauthenticated"
	ReasonOriginRefused    Reason = "OriginRefused"
	ReasonHostRefused      Reason = "HostRefused"
	ReasonNotFound         Reason = "NotFound"
	ReasonMethodNotAllowed Reason = "MethodNotAllowed"
	ReasonNotAcceptable    Reason = "NotAcceptable"
	ReasonTooLarge         Reason = "TooLarge"
	ReasonMediaType        Reason = "UnsupportedMediaType"
	ReasonOverloaded       Reason = "Overloaded"
	ReasonNotReady         Reason = "SessionNotReady"
	ReasonNotOwner         Reason = "NotOwner"
	ReasonUnavailable      Reason = "Unavailable"
)

// Codes of our own errors in calls: the HTTP status that says the same. They are positive, so that nobody takes them
// for a code of JSON-RPC or of the protocol (bridge row 16).
const (
	codeTooMany      = http.StatusTooManyRequests
	codeCancelled    = 499 // as reverse proxies say it; net/http has no name for it
	codeUnsupported  = http.StatusNotImplemented
	codeUpstream     = http.StatusBadGateway
	codeNotConnected = http.StatusServiceUnavailable
	codeTimeout      = http.StatusGatewayTimeout
)

// maxErrorText bounds the text of an upstream's error (bridge row 4).
const maxErrorText = 64 << 10

// problem is an error on its way to the agent.
type problem struct {
	// status is the HTTP status, where no event stream has begun.
	status int
	rpc    wire.Error
	// retryAfter is in seconds; zero for none.
	retryAfter int
}

// refusal is an error of the HTTP exchange: its code is its status.
func refusal(status int, reason Reason, message string) *problem {
	return &problem{status: status, rpc: wire.Error{Code: int64(status), Message: message, Data: reasonData(string(reason), "")}}
}

// later is a refusal that ends by itself.
func later(reason Reason, message string) *problem {
	p := refusal(http.StatusServiceUnavailable, reason, message)
	p.retryAfter = 1
	return p
}

// invalid is a standard JSON-RPC error about what the agent sent.
func invalid(status int, code int64, message string) *problem {
	return &problem{status: status, rpc: wire.Error{Code: code, Message: message}}
}

func reasonData(reason, outcome string) json.RawMessage {
	data := wire.Object{{Name: "reason", Value: wire.Quote(reason)}}
	if outcome != "" {
		data = data.With("outcome", wire.Quote(outcome))
	}
	return data.Raw()
}

// callEnds says how each end of a call without a result is told. Unknown tools and refused arguments are not here: they
// are the agent's own, -32602 in both eras.
var callEnds = map[mcp.CallReason]struct {
	code    int64
	message string
}{
	mcp.CallNotConnected: {codeNotConnected, "The tool's server is not connected at the moment; nothing was sent to it."},
	mcp.CallTooMany:      {codeTooMany, "Too many calls are in flight for this session or server; nothing was sent. Wait for one to end."},
	mcp.CallTimeout:      {codeTimeout, "The tool did not answer within the time that a call may take."},
	mcp.CallIdle:         {codeTimeout, "The tool stopped reporting progress and did not answer in time."},
	mcp.CallAborted:      {codeCancelled, "The call was cancelled."},
	mcp.CallConnectionLost: {
		codeUpstream,
		"The connection to the tool's server was lost before it answered. The call is not repeated.",
	},
	mcp.CallRejected:    {codeUpstream, "The tool's server answered with something that is not a result."},
	mcp.CallUnsupported: {codeUnsupported, "The tool asked for something that this session does not offer."},
}

// callProblem turns the error of Runtime.Call into what the agent is told.
func callProblem(err error, modern bool, tool string) *problem {
	var failed *mcp.CallError
	if !errors.As(err, &failed) {
		return &problem{status: http.StatusOK, rpc: wire.Error{Code: wire.CodeInternal, Message: "The call failed inside the gateway."}}
	}
	var upstream *wire.Error
	if failed.Reason == mcp.CallRPCError && errors.As(failed.Err, &upstream) {
		return upstreamProblem(upstream, modern)
	}
	switch failed.Reason {
	case mcp.CallSessionNotFound:
		return later(ReasonNotReady, "The session is not ready yet.")
	case mcp.CallToolNotFound:
		return &problem{status: http.StatusOK, rpc: wire.Error{
			Code:    wire.CodeInvalidParams,
			Message: "Unknown tool: " + cut(tool, 256), Data: reasonData(string(failed.Reason), ""),
		}}
	case mcp.CallInvalid:
		return &problem{status: http.StatusOK, rpc: wire.Error{
			Code:    wire.CodeInvalidParams,
			Message: "The arguments cannot be sent to the tool's server.", Data: reasonData(string(failed.Reason), ""),
		}}
	}
	end, ok := callEnds[failed.Reason]
	if !ok {
		end.code, end.message = codeUpstream, "The call ended without a result."
	}
	if !modern {
		end.code = wire.CodeInternal
	}
	return &problem{status: http.StatusOK, rpc: wire.Error{
		Code: end.code, Message: end.message, Data: reasonData(string(failed.Reason), outcome(failed)),
	}}
}

// outcome tells an agent whether it may call again: what was not sent has not happened.
func outcome(e *mcp.CallError) string {
	switch {
	case !e.Sent:
		return "NotSent"
	case e.OutcomeUnknown():
		return "Unknown"
	default:
		return ""
	}
}

// upstreamProblem relays an upstream's JSON-RPC error (bridge row 16): code, message and data stay, but where the code
// means something else, or nothing, in the agent's era.
func upstreamProblem(e *wire.Error, modern bool) *problem {
	p := &problem{status: http.StatusOK, rpc: wire.Error{Code: e.Code, Message: cut(e.Message, maxErrorText), Data: e.Data}}
	protocol := e.Code == wire.CodeHeaderMismatch || e.Code == wire.CodeMissingCapability || e.Code == wire.CodeUnsupportedVersion
	switch {
	case !modern && protocol:
		p.rpc.Code = wire.CodeInternal
	case modern && protocol:
		p.status = http.StatusBadRequest
	case modern && e.Code == wire.CodeResourceNotFound:
		p.rpc.Code = wire.CodeInvalidParams
	case modern && e.Code == wire.CodeURLElicitation:
		// To become an input-required result once questions are relayed; this code may not be emitted in this era.
		p.rpc.Code, p.rpc.Data = codeUnsupported, reasonData(string(mcp.CallUnsupported), "")
	}
	return p
}

// append appends the response; an id that is not known is left out, as both eras' schemas want.
func (p *problem) append(b []byte, id wire.ID) []byte {
	if !id.IsZero() {
		return (&wire.Message{ID: id, Error: &p.rpc}).Append(b)
	}
	b = strconv.AppendInt(append(b, `{"jsonrpc":"2.0","error":{"code":`...), p.rpc.Code, 10)
	b = append(append(b, `,"message":`...), wire.Quote(p.rpc.Message)...)
	if p.rpc.Data != nil {
		b = append(append(b, `,"data":`...), p.rpc.Data...)
	}
	return append(b, "}}"...)
}

// cut shortens s to at most n bytes between characters.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
