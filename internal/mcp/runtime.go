// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"net"
	"sync"
	"time"
)

// Dialer opens the sockets of connections and decides where they may lead: an *egress.Policy.
type Dialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// Options configure a Runtime. Zero values take the defaults named here.
type Options struct {
	// ClientName and ClientVersion identify this client to servers; "mooring" and "0".
	ClientName, ClientVersion string
	// Egress dials; without it nothing can be reached.
	Egress Dialer
	// OnChange is told that a session's snapshot or teardown changed. Calls are coalesced, come one at a time and never
	// under a lock; it must not block for long.
	OnChange func(SessionID)
	// MaxCallsPerSession and MaxCallsPerConnection bound calls in flight; 64 each.
	MaxCallsPerSession, MaxCallsPerConnection int
	// RestRetry is how often a connection that rests in Failed after its recovery gave up tries again; 5 min.
	RestRetry time.Duration
}

// Runtime holds sessions and their connections. It is safe for concurrent use.
type Runtime struct {
	opts     Options
	mu       sync.RWMutex
	sessions map[SessionID]*session
}

// New returns a Runtime that holds nothing.
func New(opts Options) *Runtime {
	return &Runtime{opts: opts, sessions: map[SessionID]*session{}}
}

// Ensure makes the session what d says, starting, replacing and stopping connections by fingerprint. It is quick and
// idempotent and never dials. It does nothing for a session whose Release has begun.
func (r *Runtime) Ensure(id SessionID, d Desired) {}

// Snapshot returns what the session looks like now.
func (r *Runtime) Snapshot(id SessionID) (*Snapshot, bool) { return nil, false }

// AwaitSync returns once no server of the session is in its first attempt and no list is outstanding. When ctx ends
// first, it returns the latest snapshot and ctx's error.
func (r *Runtime) AwaitSync(ctx context.Context, id SessionID) (*Snapshot, error) {
	return nil, ErrSessionNotFound
}

// Call sends one tools/call and waits for its end. Errors are *CallError.
func (r *Runtime) Call(ctx context.Context, id SessionID, req CallRequest) (*CallResult, error) {
	return nil, &CallError{Reason: CallSessionNotFound}
}

// Release starts the ordered teardown of a session, once, and reports where it stands. It never blocks. The teardown
// ends by the deadline of the first call, whatever the servers do; a session that is not held is Done at once.
func (r *Runtime) Release(id SessionID, deadline time.Time) Teardown {
	return Teardown{Step: TeardownDone, Done: true}
}

// Forget drops the record of a finished teardown.
func (r *Runtime) Forget(id SessionID) {}

// Close releases every session and waits for them, at most until ctx ends.
func (r *Runtime) Close(ctx context.Context) error { return nil }

// Stats counts what the runtime holds.
func (r *Runtime) Stats() Stats { return Stats{} }

type session struct{}
