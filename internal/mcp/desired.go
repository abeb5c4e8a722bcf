// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"net/http"
)

// SessionID identifies a session: the UID of its McpSession. A re-created session of the same name is another one.
type SessionID string

// Desired is what one session wants. It is an immutable value: whoever passes it on does not change it afterwards.
type Desired struct {
	// Servers in the order in which they are projected; names are unique.
	Servers []Server
	Tools   ToolFilter
	// InlineBytes bounds each text that a result carries itself; zero means 1 MiB (bridge row 5).
	InlineBytes int
	// Subscriptions are wanted from the start, beside those that are made through the Runtime; at most 100 a server.
	Subscriptions []Subscription
	// RevisionFloor is the largest revision that was ever published for this session. Revisions continue above it, and
	// above the clock in milliseconds, so that they never go back over a restart (REG-08 and the preface).
	RevisionFloor int64
	// Reconnect and Refresh are commands that are carried out once for each new value.
	Reconnect, Refresh Command
}

// Subscription is a resource of a server whose updates are wanted.
type Subscription struct{ Server, URI string }

// Command asks for something to be done once. A value that is empty, or was Done already, asks for nothing.
type Command struct {
	// Value names the command; it is echoed in Snapshot when it was carried out.
	Value string
	// Done is the last value that is known to have been carried out, by this process or another.
	Done string
}

func (c Command) open() bool { return c.Value != "" && c.Value != c.Done }

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
	// Fingerprint changes with everything that must replace the connection: the definition's UID, how it is reached and
	// the values of its Secrets. Equal fingerprints keep the connection. Policy is not part of it.
	Fingerprint string
	// Unresolved says that the rest could not be found out now: a connection that there is stays as it is, and none begins.
	Unresolved bool
	Transport  Transport
	// HTTP says how the server is reached by TransportHTTP and TransportSSE, Stdio by TransportStdio.
	HTTP   Endpoint
	Stdio  Bridge
	Policy Policy
}

// Transport is a way to reach a server.
type Transport string

// The transports; empty means TransportHTTP.
const (
	// TransportHTTP is Streamable HTTP.
	TransportHTTP Transport = "HTTP"
	// TransportSSE is the legacy HTTP+SSE transport of 2024-11-05.
	TransportSSE Transport = "SSE"
	// TransportStdio is a process behind a bridge.
	TransportStdio Transport = "Stdio"
)

// Bridge is where a process can be had that speaks on its standard streams.
type Bridge struct {
	// Address is host:port.
	Address string
	// Token is what the bridge and its client know of each other, at least 32 bytes.
	Token []byte
	// Era restricts the era, as with HTTP.
	Era Era
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
