// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

import "sync"

// notifier hands the ids of changed sessions to a callback, on a goroutine of its own: whoever reports a change neither
// waits for it nor runs it under its locks. What changes twice before it is told is told once.
type notifier struct {
	tell func(SessionID)
	wake chan struct{} // 1
	done chan struct{}

	mu     sync.Mutex
	dirty  map[SessionID]struct{}
	closed bool
}

func newNotifier(tell func(SessionID)) *notifier {
	n := &notifier{tell: tell, wake: make(chan struct{}, 1), done: make(chan struct{}), dirty: map[SessionID]struct{}{}}
	if tell == nil {
		n.closed = true
		close(n.done)
		return n
	}
	go n.run()
	return n
}

func (n *notifier) add(id SessionID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return
	}
	n.dirty[id] = struct{}{}
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

func (n *notifier) run() {
	defer close(n.done)
	for range n.wake {
		n.mu.Lock()
		dirty := n.dirty
		n.dirty = map[SessionID]struct{}{}
		n.mu.Unlock()
		for id := range dirty {
			n.tell(id)
		}
	}
}

// close waits until what was added has been told.
func (n *notifier) close() {
	n.mu.Lock()
	if !n.closed {
		n.closed = true
		close(n.wake)
	}
	n.mu.Unlock()
	<-n.done
}
