// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"slices"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp/catalog"
	"github.com/mooring-dev/mooring/internal/mcp/content"
	"github.com/mooring-dev/mooring/internal/mcp/instructions"
	"github.com/mooring-dev/mooring/internal/mcp/logs"
)

// Snapshot is what a session looks like at one moment. It is immutable, and so is all that it points to.
type Snapshot struct {
	// Revision grows with each change of the tool projection, and with nothing else (REG-08, REG-09).
	Revision int64
	// Revisions of everything else; each grows with what it is named after alone.
	Revisions Revisions
	// Servers in the order of Desired.
	Servers    []ServerSnapshot
	Projection *catalog.Projection
	// Reconnected and Refreshed echo the last commands that were carried out.
	Reconnected, Refreshed string
}

// Revisions are counters of a session that never go back (REG-08).
type Revisions struct {
	// Content counts changes of resources, templates and prompts, and updates of resources.
	Content int64
	// Connections counts what happens to connections, Instructions changes of what servers instruct.
	Connections, Instructions int64
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
	// Instructions is the server's untrusted text, cleaned and within its budget (INS-01 to INS-07).
	Instructions instructions.Text
	// Tools and the other lists are the last valid ones of this connection; nil before the first list and after a loss.
	// Lists that a server does not declare are empty.
	Tools                         *catalog.Catalog
	Resources, Templates, Prompts *content.Catalog
	// CatalogRevision is the session's revision at which Tools last changed.
	CatalogRevision int64
	// Pending says that a list is outstanding: one of them may be about to change.
	Pending bool
	// Degraded says that probes fail, and not enough of them yet to give the connection up (REC-42).
	Degraded bool
	// LogLevel is the least severe level that is wanted of the server; empty when none is.
	LogLevel logs.Level

	// Subscriptions are the wanted ones, by URI, also while nothing is connected.
	Subscriptions []SubscriptionSnapshot
	// Attempt of Limit is under way or awaited while State is Connecting or Reconnecting; in Failed, the attempts made.
	Attempt, Limit int
	// NextAttempt is when the next attempt starts; zero while one runs.
	NextAttempt time.Time
	// Trigger is why the connection was lost last; empty if it never was.
	Trigger Trigger
	// Recovered says that the live connection replaced one that was lost.
	Recovered bool
	// LastError is the last failure of this connection or of its last refresh; nil when the last one succeeded.
	LastError *Failure
}

// SubscriptionSnapshot is one wanted subscription.
type SubscriptionSnapshot struct {
	URI string
	// Active says that the server confirmed it on the live connection.
	Active bool
	// Updated is when an update was heard last, give or take updateGrain; zero if never.
	Updated time.Time
}

// ServerInfo is how a server names itself. Untrusted, cut to 256 bytes a field, control characters removed.
type ServerInfo struct {
	Name, Title, Version string
}

// synced reports whether every server had its first attempt and no list is outstanding.
func (s *Snapshot) synced() bool {
	return !slices.ContainsFunc(s.Servers, func(c ServerSnapshot) bool { return c.first() || c.Pending })
}

// first reports whether the first attempt is still under way: nothing has failed yet.
func (s *ServerSnapshot) first() bool {
	return s.State == StateIdle || (s.State == StateConnecting && s.LastError == nil)
}

func (s *Snapshot) equal(other *Snapshot) bool {
	return s.Projection == other.Projection && s.Revision == other.Revision && s.Revisions == other.Revisions &&
		s.Reconnected == other.Reconnected && s.Refreshed == other.Refreshed &&
		slices.EqualFunc(s.Servers, other.Servers, func(a, b ServerSnapshot) bool { return a.equal(&b) })
}

// equal compares what a Snapshot shows. What a server says of itself is fixed by a generation.
func (s *ServerSnapshot) equal(other *ServerSnapshot) bool {
	return s.Name == other.Name && s.Fingerprint == other.Fingerprint && s.State == other.State &&
		s.Generation == other.Generation && s.sameLists(other) && s.sameRecovery(other) && s.Degraded == other.Degraded &&
		s.LogLevel == other.LogLevel && slices.Equal(s.Subscriptions, other.Subscriptions)
}

func (s *ServerSnapshot) sameLists(other *ServerSnapshot) bool {
	return s.Tools == other.Tools && s.Resources == other.Resources && s.Templates == other.Templates &&
		s.Prompts == other.Prompts && s.CatalogRevision == other.CatalogRevision && s.Pending == other.Pending
}

func (s *ServerSnapshot) sameRecovery(other *ServerSnapshot) bool {
	return s.Attempt == other.Attempt && s.Limit == other.Limit && s.NextAttempt.Equal(other.NextAttempt) &&
		s.LastError == other.LastError
}
