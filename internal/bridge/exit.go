// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"encoding/json"
	"errors"
	"fmt"
)

// ExitMethod is the method of the notification that a bridge sends as its last line.
//
// The command can write such a line, too: it is passed on like any other. It deceives about itself only.
const ExitMethod = "notifications/bridge/exited"

// Reason says why a bridge ended a connection.
type Reason string

// Reasons.
const (
	// ReasonExited: the command ended, closed one of its streams, or could not be started for want of a resource.
	ReasonExited Reason = "exited"
	// ReasonLineTooLong: the command or the peer wrote a line of more than MaxLine bytes (CON-14, DEV-29).
	ReasonLineTooLong Reason = "lineTooLong"
	// ReasonStartFailed: the command, or its directory, is missing or cannot be executed. Trying again does not help
	// (DEV-23).
	ReasonStartFailed Reason = "startFailed"
	// ReasonStalled: the command did not read its standard input for 30 s.
	ReasonStalled Reason = "stalled"
)

// Exit is how a command ended.
type Exit struct {
	// Code is the exit code, or -1 when a signal ended the command or it was never started.
	Code int `json:"exitCode"`
	// Signal is the name of the signal that ended the command, such as "SIGKILL", or empty.
	Signal string `json:"signal"`
	Reason Reason `json:"reason"`
	// Stderr is the end of what the command wrote to its standard error, at most 4096 bytes of valid UTF-8. It is foreign
	// text: controls are taken out where the bridge is genuine, and only there.
	// When the command was not started it is the bridge's word on why.
	Stderr string `json:"stderr"`
}

// Bounds of an Exit, in bytes.
const (
	maxExit       = 64 << 10 // 4096 bytes, each written as \u0000, and the rest
	maxExitStderr = 4096
	maxSignal     = 16
)

// ErrExit says that bytes are not the params of an ExitMethod notification.
var ErrExit = errors.New("malformed bridge exit notification")

// ParseExit reads the params of an ExitMethod notification. The error wraps ErrExit.
func ParseExit(params json.RawMessage) (Exit, error) {
	var e Exit
	if len(params) > maxExit || json.Unmarshal(params, &e) != nil {
		return Exit{}, ErrExit
	}
	switch e.Reason {
	case ReasonExited, ReasonLineTooLong, ReasonStartFailed, ReasonStalled:
	default:
		return Exit{}, fmt.Errorf("%w: no such reason", ErrExit)
	}
	if len(e.Signal) > maxSignal || !isSignal(e.Signal) {
		return Exit{}, fmt.Errorf("%w: no such signal", ErrExit)
	}
	if len(e.Stderr) > maxExitStderr {
		return Exit{}, fmt.Errorf("%w: too much standard error", ErrExit)
	}
	return e, nil
}

// isSignal reports whether s is empty or looks like the name of a signal.
func isSignal(s string) bool {
	for _, c := range []byte(s) {
		if (c < 'A' || c > 'Z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// line returns the notification as one line.
func (e Exit) line() []byte {
	type notification struct {
		JSONRPC string `json:"jsonrpc"`
		Method  string `json:"method"`
		Params  Exit   `json:"params"`
	}
	b, _ := json.Marshal(notification{"2.0", ExitMethod, e}) // strings and numbers always marshal
	return append(b, '\n')
}
