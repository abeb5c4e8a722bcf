// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"errors"
	"fmt"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

var (
	// ErrSessionLost says that the server no longer knows the legacy session.
	ErrSessionLost = errors.New("the server no longer knows the session")
	// ErrNoStream says that the server offers no stream to listen on. It is a fact about the server, not a fault.
	ErrNoStream = errors.New("the server offers no stream to listen on")
	// ErrListening says that the one stream of a legacy server is being listened to already.
	ErrListening = errors.New("the stream is being listened to already")
	// ErrBusy says that as many requests are open as one channel carries; this one was not sent.
	ErrBusy = errors.New("too many requests are open")
	// ErrClosed says that the connection was closed on our side.
	ErrClosed = errors.New("connection closed")
)

// StatusError is an HTTP answer other than success.
type StatusError struct {
	Status int
	// RetryAfter is how long the server asked to wait, at most maxRetryAfter; zero when it did not.
	RetryAfter time.Duration
	// RPC is the body when it was a JSON-RPC error, and Answered says that it carried the id of the request.
	RPC      *wire.Error
	Answered bool
	// Session says that the request named a legacy session.
	Session bool
}

// Error implements error.
func (e *StatusError) Error() string {
	if e.RPC != nil {
		return fmt.Sprintf("HTTP status %d with JSON-RPC error %d", e.Status, e.RPC.Code)
	}
	return fmt.Sprintf("HTTP status %d", e.Status)
}

// Unwrap gives the JSON-RPC error.
func (e *StatusError) Unwrap() error {
	if e.RPC == nil {
		return nil
	}
	return e.RPC
}

// Is makes a 404 within a session ErrSessionLost, unless it answers the request itself.
func (e *StatusError) Is(target error) bool {
	return target == ErrSessionLost && e.Status == 404 && e.Session && !e.Answered
}

// RedirectError is a 3xx answer. Redirects are never followed: they would carry credentials and bodies elsewhere.
type RedirectError struct{ Status int }

// Error implements error.
func (e *RedirectError) Error() string {
	return fmt.Sprintf("HTTP status %d: redirects are not followed", e.Status)
}

// ProtocolError is an answer that breaks the protocol or a bound.
type ProtocolError struct{ What string }

// Error implements error.
func (e *ProtocolError) Error() string { return "protocol error: " + e.What }

// TimeoutError says which phase ran out of time.
type TimeoutError struct {
	Phase string
	Limit time.Duration
}

// Error implements error.
func (e *TimeoutError) Error() string { return fmt.Sprintf("%s took longer than %s", e.Phase, e.Limit) }

// Timeout implements net.Error's method of that name.
func (e *TimeoutError) Timeout() bool { return true }

// NetworkError is a connection that could not be made or broke. Err's text may name addresses: it is for errors.As, not
// for showing.
type NetworkError struct {
	// Dialing says that no connection was made at all.
	Dialing bool
	Err     error
}

// Error implements error.
func (e *NetworkError) Error() string {
	if e.Dialing {
		return "no connection could be made"
	}
	return "the connection broke"
}

// Unwrap gives the cause.
func (e *NetworkError) Unwrap() error { return e.Err }

// VersionError says that there is no protocol version in common.
type VersionError struct{}

// Error implements error.
func (*VersionError) Error() string { return "no protocol version in common with the server" }

// ConfigError says what in the configuration cannot work.
type ConfigError struct {
	What string
	// Err is what it was found out by: an *ExitError, or nil.
	Err error
}

// Unwrap gives the cause.
func (e *ConfigError) Unwrap() error { return e.Err }

// Error implements error.
func (e *ConfigError) Error() string { return "invalid configuration: " + e.What }

// Reasons of an ExitError that mean something to this package.
const (
	reasonExited      = "exited"
	reasonStartFailed = "startFailed"
)

// ExitError says how a process behind a bridge ended, as far as the bridge can be believed: the process can pretend to
// be it, about itself.
type ExitError struct {
	// Code is the exit code, or -1 when a signal ended the process or it was never started.
	Code int
	// Signal and Reason are at most 64 bytes, cleaned. Reason is exited, lineTooLong, startFailed or stalled.
	Signal, Reason string
	// Stderr is the end of what the process wrote to its standard error: foreign text, cleaned, at most 4096 bytes.
	Stderr string
}

// Error implements error. None of the process's text is in it.
func (e *ExitError) Error() string { return fmt.Sprintf("the process ended with code %d", e.Code) }
