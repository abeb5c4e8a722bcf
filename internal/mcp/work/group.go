// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package work

import "sync"

// Group is the goroutines of one thing. The zero value is ready. It is safe for concurrent use.
type Group struct {
	mu    sync.Mutex
	ended bool
	wg    sync.WaitGroup
}

// Go runs f in a goroutine and reports true, unless Wait has begun.
func (g *Group) Go(f func()) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended {
		return false
	}
	g.wg.Go(f)
	return true
}

// Wait refuses what comes from now on and waits for what runs. It may be called more than once.
func (g *Group) Wait() {
	g.mu.Lock()
	g.ended = true
	g.mu.Unlock()
	g.wg.Wait()
}
