// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"math"
	"math/rand/v2"
	"time"
)

const (
	// maxAttempt is the last attempt that is counted: more say nothing more, and status has a bound.
	maxAttempt = 100
	// settledAfter is how long a connection must have lived for its loss to be no flapping.
	settledAfter = 30 * time.Second
	maxFlaps     = 5
)

// delay is the wait before attempt n, which counts from 1; random is in [0, 1). It is bounded after the jitter (REC-02,
// DEV-12).
func (r Recovery) delay(n int, random float64) time.Duration {
	jitter, bound := float64(r.JitterPercent)/100, float64(r.MaxDelay)
	base := min(float64(r.InitialDelay)*math.Exp2(float64(min(n, 32)-1)), bound)
	spread := min(base*(1-jitter+2*jitter*random), bound)
	return time.Duration(math.Round(spread/1e6)) * time.Millisecond
}

// pace decides when to try again. A server that never answered is tried without end, for it may be about to start; one
// that was lost is tried as often as its policy says and then rests. It belongs to one goroutine.
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
	// delay is zero when nothing is to be tried until somebody asks for it.
	delay time.Duration
}

// lost records that a connection that lived for a while was lost.
func (p *pace) lost(lived time.Duration) {
	p.recovering, p.failed = true, 0
	if p.flaps++; lived > settledAfter {
		p.flaps = 0
	}
}

// after decides what follows a loss or a failed attempt. rest is how often a connection that rests is looked at again.
func (p *pace) after(err error, policy Recovery, rest time.Duration) wait {
	cause := classify(err)
	p.failed++
	jittered := time.Duration(float64(rest) * (0.8 + 0.4*rand.Float64())) //nolint:gosec // spreading, not secrecy
	switch {
	case cause.reason == FailureUnauthorized:
		return wait{state: StateAuthorizationRequired, delay: jittered}
	case p.recovering && policy.Off:
		return wait{state: StateFailed}
	case cause.final:
		return wait{state: StateFailed, delay: jittered}
	case p.recovering && p.failed > policy.MaxAttempts:
		return wait{state: StateFailed, attempt: policy.MaxAttempts, limit: policy.MaxAttempts, delay: jittered}
	}
	w := wait{state: StateConnecting, attempt: min(p.failed+1, maxAttempt)}
	n := p.failed
	if p.recovering {
		w = wait{state: StateReconnecting, attempt: p.failed, limit: policy.MaxAttempts}
		n += min(max(p.flaps-1, 0), maxFlaps) // the first loss of a young connection may be chance
	}
	w.delay = max(policy.delay(n, rand.Float64()), cause.retryAfter) //nolint:gosec // spreading, not secrecy
	return w
}
