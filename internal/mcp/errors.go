// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"errors"
	"fmt"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// FailureReason classifies what went wrong with a connection, by status code and error type, never by text.
type FailureReason string

// The classes of failure. Values are stable: they are reasons in status.
const (
	// FailureUnreachable: no connection, or lost; retried.
	FailureUnreachable FailureReason = "Unreachable"
	// FailureTimeout: a phase ran out of time; retried.
	FailureTimeout FailureReason = "Timeout"
	// FailureEgressDenied: policy refuses the address; not retried.
	FailureEgressDenied FailureReason = "EgressDenied"
	// FailureUnauthorized: 401 or 403; a stable state, not retried (REC).
	FailureUnauthorized FailureReason = "Unauthorized"
	// FailureRateLimited: 429; retried after what the server asked for, bounded.
	FailureRateLimited FailureReason = "RateLimited"
	// FailureServerError: 5xx; retried.
	FailureServerError FailureReason = "ServerError"
	// FailureRedirected: a 3xx answer, which is never followed; not retried.
	FailureRedirected FailureReason = "Redirected"
	// FailureProtocol: an answer that breaks the protocol or a bound; retried.
	FailureProtocol FailureReason = "ProtocolError"
	// FailureUnsupportedVersion: no protocol version in common; not retried.
	FailureUnsupportedVersion FailureReason = "UnsupportedVersion"
	// FailureConfiguration: the definition cannot work (URL, certificates); not retried.
	FailureConfiguration FailureReason = "InvalidConfiguration"
	// FailureCatalog: the tool list broke a bound; the connection serves on with its last valid list (CAT-33).
	FailureCatalog FailureReason = "InvalidCatalog"
)

// Failure is a cleaned, bounded account of what went wrong. Message is <= 512 bytes and holds no secret, no URL and no
// control character (SEC-01 to SEC-05, REC-30).
type Failure struct {
	Reason  FailureReason
	Message string
	Time    time.Time
}

// CallReason says how a call that did not return a result ended.
type CallReason string

// The ends of a call without a result.
const (
	CallSessionNotFound CallReason = "SessionNotFound"
	CallToolNotFound    CallReason = "ToolNotFound"
	CallNotConnected    CallReason = "ServerNotConnected"
	CallInvalid         CallReason = "InvalidArguments"
	// CallServerNotFound: the session has no such server.
	CallServerNotFound CallReason = "ServerNotFound"
	// CallNotInCatalog: the server offers no such resource or prompt.
	CallNotInCatalog CallReason = "NotInCatalog"
	// CallNotSupported: the server does not declare what the request needs.
	CallNotSupported   CallReason = "NotSupported"
	CallTooMany        CallReason = "TooManyCalls"
	CallTimeout        CallReason = "Timeout"
	CallIdle           CallReason = "IdleTimeout"
	CallAborted        CallReason = "Aborted"
	CallConnectionLost CallReason = "ConnectionLost"
	// CallRejected: the server answered with something that is no result: an HTTP error or a malformed message.
	CallRejected CallReason = "Rejected"
	// CallRPCError: the server answered with a JSON-RPC error; the *wire.Error is wrapped.
	CallRPCError CallReason = "ServerError"
	// CallUnsupported: the server asked for something that this client did not declare (input required, a task).
	CallUnsupported CallReason = "Unsupported"
)

// CallError is the error of Runtime.Call and of every other request. Its text holds nothing foreign.
type CallError struct {
	// Method is the request's; empty means tools/call.
	Method string
	Reason CallReason
	// Sent says that the request may have reached the server: its outcome is unknown unless Answered.
	Sent bool
	// Answered says that the server did answer, so that the outcome is known.
	Answered bool
	Err      error
}

// Error implements error.
func (e *CallError) Error() string {
	return fmt.Sprintf("%s: %s", or(e.Method, wire.MethodToolsCall), e.Reason)
}

// Unwrap gives the cause.
func (e *CallError) Unwrap() error { return e.Err }

// OutcomeUnknown reports whether the call may have taken effect without our knowing its answer.
func (e *CallError) OutcomeUnknown() bool { return e.Sent && !e.Answered }

// ErrSessionNotFound says that the runtime holds no such session.
var ErrSessionNotFound = errors.New("no such session in this runtime")
