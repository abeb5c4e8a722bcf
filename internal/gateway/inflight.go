// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"sync"

	"github.com/mooring-dev/mooring/internal/mcp"
)

// flight identifies a legacy request by who made it and the id they gave it.
type flight struct {
	session   mcp.SessionID
	principal string
	id        string
}

// inflight finds the call that a legacy notifications/cancelled means. Without protocol sessions two clients of one Pod
// can use one id at the same time: then the notification names neither, and both calls go on.
type inflight struct {
	mu    sync.Mutex
	calls map[flight][]*entry
}

type entry struct{ cancel context.CancelFunc }

func newInflight() *inflight { return &inflight{calls: map[flight][]*entry{}} }

// add records a call and returns what takes it off again.
func (t *inflight) add(f flight, cancel context.CancelFunc) (remove func()) {
	e := &entry{cancel: cancel}
	t.mu.Lock()
	t.calls[f] = append(t.calls[f], e)
	t.mu.Unlock()
	return func() { t.remove(f, e) }
}

func (t *inflight) remove(f flight, e *entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	left := t.calls[f]
	for i := range left {
		if left[i] == e {
			left = append(left[:i], left[i+1:]...)
			break
		}
	}
	if len(left) == 0 {
		delete(t.calls, f)
		return
	}
	t.calls[f] = left
}

func (t *inflight) cancel(f flight) {
	t.mu.Lock()
	calls := t.calls[f]
	var only *entry
	if len(calls) == 1 {
		only = calls[0]
	}
	t.mu.Unlock()
	if only != nil {
		only.cancel()
	}
}
