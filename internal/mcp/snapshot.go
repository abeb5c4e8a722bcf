// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"time"

	"github.com/mooring-dev/mooring/internal/mcp/catalog"
)

// Snapshot is what a session looks like at one moment. It is immutable, and so is all that it points to.
type Snapshot struct {
	// Revision grows with each change of the tool projection, and with nothing else (REG-08, REG-09).
	Revision int64
	// Servers in the order of Desired.
	Servers    []ServerSnapshot
	Projection *catalog.Projection
}

// State is where a connection stands (design, "internal/mcp").
type State string

// The states of a connection.
const (
	StateIdle                  State = "Idle"
	StateConnecting            State = "Connecting"
	StateConnected             State = "Connected"
	StateReconnecting          State = "Reconnecting"
	StateAuthorizationRequired State = "AuthorizationRequired"
	StateFailed                State = "Failed"
	StateClosed                State = "Closed"
)

// Settled reports whether the state changes only by an event from outside: nothing is being tried.
func (s State) Settled() bool {
	return s == StateConnected || s == StateFailed || s == StateAuthorizationRequired || s == StateClosed
}

// ServerSnapshot is one connection's part of a Snapshot.
type ServerSnapshot struct {
	Name        string
	Fingerprint string
	State       State
	// Generation grows at each connect attempt and at each manual disconnect; it never goes back within a process.
	Generation int64
	// Since is when State was entered.
	Since time.Time

	// The following describe the live connection and are zero unless State is Connected.
	ProtocolVersion string
	ServerInfo      ServerInfo
	// Capabilities are the declared capability names, sorted, e.g. "tools", "tools.listChanged".
	Capabilities []string
	// Instructions is the server's untrusted text, bounded (INS) and not cleaned for a terminal.
	Instructions string
	// Tools is the last valid catalog of this connection; nil before the first list and after a loss.
	Tools *catalog.Catalog
	// CatalogRevision is the session's revision at which Tools last changed.
	CatalogRevision int64
	// Pending says that a list is outstanding: Tools may be about to change.
	Pending bool

	// Attempt of Limit is under way or awaited while State is Connecting or Reconnecting.
	Attempt, Limit int
	// NextAttempt is when the next attempt starts; zero while one runs.
	NextAttempt time.Time
	// LastError is the last failure of this connection or of its last refresh; nil when the last one succeeded.
	LastError *Failure
}

// ServerInfo is how a server names itself. Untrusted, cut to 256 bytes a field, control characters removed.
type ServerInfo struct {
	Name, Title, Version string
}
