// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package completion

import (
	"sync"
	"sync/atomic"
)

// MaxInFlight bounds the requests that wait for an answer on one connection (CMP-01).
const MaxInFlight = 4

// Limiter counts the requests in flight on one connection. The zero value is ready for use, by any goroutine.
type Limiter struct{ inFlight atomic.Int32 }

// Acquire takes a slot, which the caller gives back by release, whatever becomes of the request (CMP-09); a second
// release does nothing. It never waits: its error is a *RefusedError when all slots are taken.
func (l *Limiter) Acquire() (release func(), err error) {
	for {
		n := l.inFlight.Load()
		if n == MaxInFlight {
			return nil, &RefusedError{TooManyRequests}
		}
		if l.inFlight.CompareAndSwap(n, n+1) {
			return sync.OnceFunc(func() { l.inFlight.Add(-1) }), nil
		}
	}
}
