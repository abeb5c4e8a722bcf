// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"sync"

	"github.com/mooring-dev/mooring/internal/mcp"
)

// limits counts what is in flight. Every take that succeeds is matched by one give.
type limits struct {
	maxRequests, maxSessionRequests, maxCalls int
	maxBytes, maxSessionBytes                 int64

	mu       sync.Mutex
	requests int
	bytes    int64
	sessions map[mcp.SessionID]usage
}

type usage struct {
	requests int
	calls    int
	bytes    int64
}

func newLimits(o Options) *limits {
	return &limits{
		maxRequests: o.MaxRequests, maxSessionRequests: o.MaxRequestsPerSession, maxCalls: o.MaxCallsPerSession,
		maxBytes:        o.MaxBodyBytes,
		maxSessionBytes: o.MaxBodyBytesPerSession, sessions: map[mcp.SessionID]usage{},
	}
}

func (l *limits) takeRequest(id mcp.SessionID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.sessions[id]
	if l.requests >= l.maxRequests || u.requests >= l.maxSessionRequests {
		return false
	}
	l.requests++
	u.requests++
	l.sessions[id] = u
	return true
}

func (l *limits) giveRequest(id mcp.SessionID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests--
	u := l.sessions[id]
	u.requests--
	l.put(id, u)
}

func (l *limits) takeCall(id mcp.SessionID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.sessions[id]
	if u.calls >= l.maxCalls {
		return false
	}
	u.calls++
	l.sessions[id] = u
	return true
}

func (l *limits) giveCall(id mcp.SessionID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.sessions[id]
	u.calls--
	l.put(id, u)
}

// takeBytes reserves memory for a body.
func (l *limits) takeBytes(id mcp.SessionID, n int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.sessions[id]
	if l.bytes+n > l.maxBytes || u.bytes+n > l.maxSessionBytes {
		return false
	}
	l.bytes += n
	u.bytes += n
	l.sessions[id] = u
	return true
}

func (l *limits) giveBytes(id mcp.SessionID, n int64) {
	if n == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bytes -= n
	u := l.sessions[id]
	u.bytes -= n
	l.put(id, u)
}

// put keeps no entry for a session that uses nothing. Called with the lock held.
func (l *limits) put(id mcp.SessionID, u usage) {
	if u == (usage{}) {
		delete(l.sessions, id)
		return
	}
	l.sessions[id] = u
}
