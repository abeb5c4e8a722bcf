// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp"
)

const (
	// maxGrowth bounds the heap of a case over what it was before.
	maxGrowth = 64 << 20
	// maxCall bounds a call of the healthy session.
	maxCall = 2 * time.Second

	sampleEvery = 3 * time.Millisecond
	callEvery   = 5 * time.Millisecond
)

// meter finds out how much heap is in use at most.
type meter struct {
	base, peak uint64
	quit       chan struct{}
	done       sync.WaitGroup
}

// measure begins after a collection.
func measure() *meter {
	runtime.GC()
	runtime.GC() // the first leaves what has a finalizer
	m := &meter{base: inUse(), quit: make(chan struct{})}
	m.done.Go(func() {
		for tick := time.NewTicker(sampleEvery); ; {
			m.peak = max(m.peak, inUse())
			select {
			case <-tick.C:
			case <-m.quit:
				tick.Stop()
				return
			}
		}
	})
	return m
}

// inUse is the larger account of the heap: its spans, which hold garbage and gaps, too.
func inUse() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return max(stats.HeapAlloc, stats.HeapInuse)
}

func (m *meter) check(t *testing.T) {
	t.Helper()
	close(m.quit)
	m.done.Wait()
	growth := int64(m.peak) - int64(m.base) //nolint:gosec // neither is that large
	t.Logf("the heap grew by %.1f MiB at most", float64(growth)/(1<<20))
	if growth > maxGrowth {
		t.Errorf("the heap grew by %d MiB, which is more than %d", growth>>20, maxGrowth>>20)
	}
}

// neighbour is the healthy session's agent, which calls without end.
type neighbour struct {
	quit    chan struct{}
	done    sync.WaitGroup
	calls   int
	slowest time.Duration
	failed  int
	err     error
}

func callOn(rt *mcp.Runtime) *neighbour {
	n := &neighbour{quit: make(chan struct{})}
	n.done.Go(func() {
		for tick := time.NewTicker(callEvery); ; {
			begun := time.Now()
			_, err := rt.Call(context.Background(), ours, mcp.CallRequest{Tool: tool})
			n.calls, n.slowest = n.calls+1, max(n.slowest, time.Since(begun))
			if err != nil {
				n.failed, n.err = n.failed+1, err
			}
			select {
			case <-tick.C:
			case <-n.quit:
				tick.Stop()
				return
			}
		}
	})
	return n
}

func (n *neighbour) stop(t *testing.T) {
	t.Helper()
	if n == nil {
		return // the stage did not begin
	}
	close(n.quit)
	n.done.Wait()
	t.Logf("the healthy session made %d calls, the slowest took %s", n.calls, n.slowest)
	if n.failed > 0 {
		t.Errorf("%d of %d calls of the healthy session failed: %v", n.failed, n.calls, n.err)
	}
	if n.slowest > maxCall {
		t.Errorf("a call of the healthy session took %s", n.slowest)
	}
}

// show describes a server for a failure's text.
func show(c *mcp.ServerSnapshot) string {
	text := fmt.Sprintf("%s, generation %d, attempt %d of %d, trigger %q, pending %t, degraded %t",
		c.State, c.Generation, c.Attempt, c.Limit, c.Trigger, c.Pending, c.Degraded)
	if c.LastError != nil {
		text += fmt.Sprintf(", %s: %s", c.LastError.Reason, c.LastError.Message)
	}
	return text
}
