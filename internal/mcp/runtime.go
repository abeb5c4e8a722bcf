// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"encoding/json"
	"net"
	"sync"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp/wire"
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
	// Stdio asks a bridge for a process; without it servers behind bridges cannot be reached.
	Stdio func(ctx context.Context, bridge Bridge) (net.Conn, error)
	// Ask answers what servers ask; nil leaves every question unanswered. It is called on goroutines of connections, several
	// at a time, and must heed ctx. An error is sent to the server as it is.
	Ask func(ctx context.Context, q Question) (json.RawMessage, *wire.Error)
	// Capabilities are declared to servers with Ask: what it can answer (CON-03).
	Capabilities wire.Object
	// Artifacts keeps what results hold too much of; without it large texts are cut, and binaries not kept.
	Artifacts Artifacts
	// Now is the clock that revisions start from; time.Now.
	Now func() time.Time
	// OnChange is told that a session's snapshot or teardown changed. Calls are coalesced, come one at a time and never
	// under a lock; it must not block for long.
	OnChange func(SessionID)
	// MaxCallsPerSession and MaxCallsPerConnection bound calls in flight; 64 each.
	MaxCallsPerSession, MaxCallsPerConnection int
	// RestRetry is how often a connection that rests in Failed or AuthorizationRequired tries again; 5 min.
	RestRetry time.Duration
}

func (o Options) withDefaults() Options {
	if o.ClientName == "" {
		o.ClientName = "mooring"
	}
	if o.ClientVersion == "" {
		o.ClientVersion = "0"
	}
	if o.MaxCallsPerSession == 0 {
		o.MaxCallsPerSession = 64
	}
	if o.MaxCallsPerConnection == 0 {
		o.MaxCallsPerConnection = 64
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.RestRetry == 0 {
		o.RestRetry = 5 * time.Minute
	}
	return o
}

// Runtime holds sessions and their connections. It is safe for concurrent use.
type Runtime struct {
	opts   Options
	notify *notifier

	mu       sync.RWMutex
	closed   bool
	sessions map[SessionID]*session
}

// New returns a Runtime that holds nothing. Close ends it.
func New(opts Options) *Runtime {
	return &Runtime{opts: opts.withDefaults(), notify: newNotifier(opts.OnChange), sessions: map[SessionID]*session{}}
}

// Ensure makes the session what d says, starting, replacing and stopping connections by fingerprint. It is quick and
// idempotent and never dials. It does nothing for a session whose Release has begun, nor after Close.
func (r *Runtime) Ensure(id SessionID, d Desired) {
	r.mu.Lock()
	s := r.sessions[id]
	if s == nil && !r.closed {
		s = newSession(r, id, d.RevisionFloor)
		r.sessions[id] = s
	}
	r.mu.Unlock()
	if s != nil {
		s.ensure(d)
	}
}

func (r *Runtime) session(id SessionID) *session {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.sessions[id]
}

// Snapshot returns what the session looks like now. It is false for a session that is not held or is being released.
func (r *Runtime) Snapshot(id SessionID) (*Snapshot, bool) {
	s := r.session(id)
	if s == nil || s.released() {
		return nil, false
	}
	return s.look(), true
}

// AwaitSync returns once no server of the session is in its first attempt and no list is outstanding. When ctx ends
// first, it returns the latest snapshot and ctx's error.
func (r *Runtime) AwaitSync(ctx context.Context, id SessionID) (*Snapshot, error) {
	for {
		s := r.session(id)
		if s == nil || s.released() {
			return nil, ErrSessionNotFound
		}
		snapshot, changed := s.watch()
		if snapshot.synced() {
			return snapshot, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return snapshot, context.Cause(ctx)
		}
	}
}

// Release starts the ordered teardown of a session that is to be deleted, once, and reports where it stands. It never
// blocks. The teardown ends by the deadline of the first call, whatever the servers do. Of a session that is not held only
// the artifacts are deleted.
func (r *Runtime) Release(id SessionID, deadline time.Time) Teardown {
	r.mu.Lock()
	s := r.sessions[id]
	if s == nil && r.opts.Artifacts != nil && !r.closed {
		s = newSession(r, id, 0) // a predecessor's: its artifacts are there all the same
		r.sessions[id] = s
		s.inherited = true
	}
	r.mu.Unlock()
	if s == nil {
		return Teardown{Step: TeardownDone, Done: true}
	}
	return s.release(deadline, true)
}

// Forget drops the record of a finished teardown. It does nothing while the session is in use.
func (r *Runtime) Forget(id SessionID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.sessions[id]; s != nil && s.teardown().Done {
		delete(r.sessions, id)
	}
}

// Close releases every session and waits for them, at most until ctx ends; its error is ctx's. Nothing is left behind
// when it returns nil.
func (r *Runtime) Close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	sessions := make([]*session, 0, len(r.sessions))
	for _, s := range r.sessions {
		sessions = append(sessions, s)
	}
	r.mu.Unlock()
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(closeTimeout)
	}
	for _, s := range sessions {
		s.release(deadline, false)
	}
	for _, s := range sessions {
		select {
		case <-s.gone:
		case <-ctx.Done():
			r.notify.close()
			return context.Cause(ctx)
		}
	}
	r.notify.close()
	return nil
}

// Stats counts what the runtime holds.
func (r *Runtime) Stats() Stats {
	r.mu.RLock()
	defer r.mu.RUnlock()
	stats := Stats{Connections: map[State]int{}}
	for _, s := range r.sessions {
		s.count(&stats)
	}
	return stats
}
