// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"net/http"
	"time"
)

// SessionID identifies a session: the UID of its McpSession. A re-created session of the same name is another one.
type SessionID string

// Desired is what one session wants. It is an immutable value: whoever passes it on does not change it afterwards.
type Desired struct {
	// Servers in the order in which they are projected; names are unique.
	Servers []Server
	Tools   ToolFilter
	// RevisionFloor is the largest catalog revision that was ever published for this session. Revisions continue above
	// it, so that they never go back over a restart (REG-08 and the preface).
	RevisionFloor int64
}

// ToolFilter chooses from the projected (provider) names with globs; Deny wins (REG-30).
type ToolFilter struct {
	// Allow holds globs; nil allows every tool, an empty list none.
	Allow []string
	Deny  []string
}

// Server is one server of a session, resolved: no reference is left in it. Secrets in it are never shown.
type Server struct {
	// Name is the server's name within the session (<= 63 characters).
	Name string
	// Fingerprint changes with everything that must replace the connection: the definition's UID and generation and
	// the resource versions of its Secrets. Equal fingerprints keep the connection.
	Fingerprint string
	// Unresolved says that the rest could not be found out now: a connection that there is stays as it is, and none begins.
	Unresolved bool
	HTTP       Endpoint
	Calls      CallLimits
}

// Era restricts the protocol versions that a connection may speak.
type Era string

const (
	// EraAuto speaks the modern protocol where the server does, and the handshake otherwise.
	EraAuto Era = "Auto"
	// EraLegacy uses the initialize handshake only.
	EraLegacy Era = "Legacy"
)

// Endpoint is a Streamable HTTP server.
type Endpoint struct {
	URL string
	// Header is sent with every request, values of Secrets included.
	Header http.Header
	// RootCAs holds PEM certificates that replace the system's; empty uses the system's.
	RootCAs []byte
	Era     Era
}

// CallLimits bounds a tools/call (CALL-01, bridge row 13).
type CallLimits struct {
	// Total is 1 s to 30 min; zero means 5 min.
	Total time.Duration
	// Idle is 1 s to Total and runs from the first progress; zero means the smaller of 60 s and Total.
	Idle time.Duration
}
