// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp"
)

const (
	cyclesVariable = "MOORING_CYCLES"
	defaultCycles  = 300
	// warmUp cycles fill what is filled once.
	warmUp = 30
	// maxLeft bounds the live heap after all cycles over that after the first ones, whatever their number.
	maxLeft = 2 << 20
)

// TestConnectDropCycles connects and drops, again and again, and leaves nothing of it (CON-06): while it goes on, goroutines,
// sockets and the live heap are at the end what they were after the first cycles, and then nothing is left at all.
func TestConnectDropCycles(t *testing.T) {
	cycles := defaultCycles
	if text := os.Getenv(cyclesVariable); text != "" {
		var err error
		if cycles, err = strconv.Atoi(text); err != nil {
			t.Fatalf("%s: %v", cyclesVariable, err)
		}
	}
	eras(t, func(t *testing.T, modern bool) {
		policy := probed()
		policy.Health.Interval = 10 * time.Millisecond
		policy.Recovery.FailureThreshold, policy.Recovery.MaxDelay = 1, 10*time.Millisecond
		s := begin(t, play{modern: modern, policy: policy})
		s.connects("a good beginning")
		for range warmUp {
			s.cycle()
		}
		before := s.rest()
		for range cycles {
			s.cycle()
		}
		after := s.rest()
		// Each idle socket of the healthy session, which may keep some, is two descriptors and three goroutines.
		more := max(after.kept-before.kept, 0)
		if after.goroutines > before.goroutines+3*more || after.files > before.files+2*more || after.sockets > before.sockets {
			t.Errorf("%d cycles: %+v became %+v", cycles, before, after)
		}
		if after.heap > before.heap+maxLeft {
			t.Errorf("%d cycles: the live heap grew from %d KiB to %d KiB", cycles, before.heap>>10, after.heap>>10)
		}
		t.Logf("%d cycles: %+v became %+v", cycles, before, after)
	})
}

// cycle loses the connection, and waits until there is another. What is in flight is cut off.
func (s *stage) cycle() {
	s.t.Helper()
	before := s.look(theirs).Generation
	s.foe.forget()
	s.foe.refuse(true)
	s.awaits(theirs, "the loss", func(c *mcp.ServerSnapshot) bool { return !connected(c) && c.Tools == nil })
	s.foe.refuse(false)
	s.awaits(theirs, "another connection", func(c *mcp.ServerSnapshot) bool { return connected(c) && c.Generation > before })
}

// residue is what is in use: goroutines, the hostile and the healthy session's sockets, descriptors, and the live heap.
type residue struct {
	goroutines, sockets, kept, files int
	heap                             uint64
}

// rest is what is in use once it is as little as it gets.
func (s *stage) rest() residue {
	s.t.Helper()
	s.eventually("the stream is open", s.foe.listened)
	s.neighbour.stop(s.t)
	least := residue{goroutines: 1 << 30, sockets: 1 << 30, files: 1 << 30, kept: s.friend.sockets()}
	for end := time.Now().Add(300 * time.Millisecond); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		least.goroutines = min(least.goroutines, runtime.NumGoroutine())
		least.sockets = min(least.sockets, s.foe.sockets())
		least.files = min(least.files, descriptors(s.t))
	}
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	least.heap = stats.HeapAlloc
	s.neighbour = callOn(s.rt)
	return least
}
