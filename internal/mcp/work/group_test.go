// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package work

import (
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// What is taken on has run when Wait returns, whoever adds at that moment.
func TestGroup(t *testing.T) {
	for range 200 {
		var g Group
		var taken, ran atomic.Int64
		var adders sync.WaitGroup
		for range 4 {
			adders.Go(func() {
				for g.Go(func() { ran.Add(1) }) {
					taken.Add(1)
				}
			})
		}
		g.Wait()
		after := ran.Load()
		adders.Wait()
		if ran.Load() != after || taken.Load() != after {
			t.Fatalf("took %d, ran %d and then %d", taken.Load(), after, ran.Load())
		}
		g.Wait()
	}
}
