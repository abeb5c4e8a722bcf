// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"math"
	"math/rand/v2"
	"time"
)

// The recovery policy (REC-01, REC-02).
const (
	recoveryAttempts = 5
	initialDelay     = time.Second
	maxDelay         = 30 * time.Second
	jitterRatio      = 0.2
	// maxAttempt is the last attempt that is counted: more say nothing more, and status has a bound.
	maxAttempt = 100
	// settledAfter is how long a connection must have lived for its loss to be no flapping.
	settledAfter = 30 * time.Second
)

// delay is the wait before attempt n, which counts from 1; random is in [0, 1).
func delay(n int, random float64) time.Duration {
	base := min(float64(initialDelay)*math.Exp2(float64(min(n, 32)-1)), float64(maxDelay))
	return time.Duration(math.Round(base*(1-jitterRatio+2*jitterRatio*random)/1e6)) * time.Millisecond
}

// pace decides when to try again. A server that never answered is tried without end, for it may be about to start; one
// that was lost is tried recoveryAttempts times and then rests. It belongs to one goroutine.
type pace struct {
	// recovering says that the connection was lost, as opposed to never made.
	recovering bool
	// failed counts the attempts since the start or the loss.
	failed int
	// flaps counts losses in a row of connections that did not live.
	flaps int
}

// wait is what to do until the next attempt.
type wait struct {
	state          State
	attempt, limit int
	delay          time.Duration
}

// lost records that a connection that lived for a while was lost.
func (p *pace) lost(lived time.Duration) {
	p.recovering, p.failed = true, 0
	if p.flaps++; lived > settledAfter {
		p.flaps = 0
	}
}

// after decides what follows a loss or a failed attempt.
func (p *pace) after(err error, rest time.Duration) wait {
	cause := classify(err)
	p.failed++
	jittered := time.Duration(float64(rest) * (1 - jitterRatio + 2*jitterRatio*rand.Float64())) //nolint:gosec // spreading, not secrecy
	switch {
	case cause.reason == FailureUnauthorized:
		return wait{state: StateAuthorizationRequired, delay: jittered}
	case cause.final, p.recovering && p.failed > recoveryAttempts:
		return wait{state: StateFailed, delay: jittered}
	}
	w := wait{state: StateConnecting, attempt: min(p.failed+1, maxAttempt)}
	n := p.failed
	if p.recovering {
		w = wait{state: StateReconnecting, attempt: p.failed, limit: recoveryAttempts}
		n += min(p.flaps, recoveryAttempts)
	}
	w.delay = max(delay(n, rand.Float64()), cause.retryAfter) //nolint:gosec // spreading, not secrecy
	return w
}
