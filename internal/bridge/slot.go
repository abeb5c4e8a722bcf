// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"sync"
	"time"
)

// Waits for the slot: a peer that reconnects at once is faster than the end of its last connection is noticed, and much
// faster than a command's end.
const (
	waitServing = 500 * time.Millisecond
	waitEnding  = 10 * time.Second
)

// slot lets one connection be served.
type slot struct {
	mu      sync.Mutex
	taken   bool
	ending  bool
	changed chan struct{} // closed when it is ending or free
}

// take reports whether the slot is the caller's now. It waits a little, longer for a connection that is ending.
func (s *slot) take(ctx context.Context) bool {
	began := time.Now()
	for {
		s.mu.Lock()
		if !s.taken {
			s.taken, s.ending, s.changed = true, false, make(chan struct{})
			s.mu.Unlock()
			return true
		}
		changed, limit := s.changed, waitServing
		if s.ending {
			limit = waitEnding
		}
		s.mu.Unlock()
		if !waitFor(ctx, changed, limit-time.Since(began)) {
			return false
		}
	}
}

func waitFor(ctx context.Context, c <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// end says that the connection is at its end, and the slot will soon be free.
func (s *slot) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ending = true
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *slot) free() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken = false
	close(s.changed)
}
