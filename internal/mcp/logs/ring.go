// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"slices"
	"sync"
	"time"
)

// What a Ring keeps (LOG-16).
const (
	MaxPerServer  = 64
	MaxPerSession = 256
)

// Ring keeps the newest entries of a session. It is safe for concurrent use.
type Ring struct {
	mu       sync.Mutex
	revision int64
	entries  []Entry // by revision
}

// NewRing returns an empty ring. Its revisions begin at the clock in milliseconds, so that a reader who remembers one is
// served right after a restart too.
func NewRing() *Ring { return &Ring{revision: time.Now().UnixMilli()} }

// Add keeps an entry of a server and returns it with its revision. The oldest entries go where there are too many.
func (r *Ring) Add(server string, e Entry) Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.revision++
	e.Revision, e.Server = r.revision, server
	oldest, count := -1, 0
	for i := len(r.entries) - 1; i >= 0; i-- {
		if r.entries[i].Server == server {
			oldest, count = i, count+1
		}
	}
	switch {
	case count == MaxPerServer:
		r.entries = slices.Delete(r.entries, oldest, oldest+1)
	case len(r.entries) == MaxPerSession:
		r.entries = slices.Delete(r.entries, 0, 1)
	}
	r.entries = append(r.entries, e)
	return e
}

// Drop forgets the entries of a server that was removed.
func (r *Ring) Drop(server string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries = slices.DeleteFunc(r.entries, func(e Entry) bool { return e.Server == server })
}

// Snapshot returns the newest entries after a revision, in ascending order (REG-15): those of one server, or of all when
// server is empty. A limit outside of 1 to MaxPerSession means MaxPerSession, a negative revision 0.
func (r *Ring) Snapshot(server string, afterRevision int64, limit int) []Entry {
	if limit < 1 || limit > MaxPerSession {
		limit = MaxPerSession
	}
	afterRevision = max(afterRevision, 0)
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []Entry
	for i := len(r.entries) - 1; i >= 0 && len(found) < limit && r.entries[i].Revision > afterRevision; i-- {
		if server == "" || r.entries[i].Server == server {
			found = append(found, r.entries[i])
		}
	}
	slices.Reverse(found)
	return found
}

// Revision is that of the newest entry, kept or not.
func (r *Ring) Revision() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.revision
}
