// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp/transport"
)

// probe looks whether the server still answers on this very connection, one look at a time, the next one an interval
// after the last has ended (REC-40 to REC-43). Failures in a row degrade the connection, and end it at the threshold.
func (l *live) probe(ctx context.Context) {
	failures := 0
	for {
		policy := l.c.current().Health
		if !l.pauseOrGoverned(ctx, policy.Interval) {
			if ctx.Err() != nil {
				return
			}
			continue // another policy
		}
		if policy.Off {
			failures = 0
			continue
		}
		err := l.look(ctx, policy.Timeout)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && failures > 0:
			failures = 0
			l.degrade(nil)
		case err == nil:
		default:
			if failures++; failures >= policy.FailureThreshold {
				l.lose(&unhealthyError{err})
				return
			}
			l.degrade(err)
		}
	}
}

// look is one probe. Any answer is good, but for one that the server has forgotten us or wants another credential.
func (l *live) look(ctx context.Context, timeout time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, &transport.TimeoutError{Phase: "the health check", Limit: timeout})
	defer cancel()
	err := l.conn.Check(ctx)
	l.observe(err)
	if answered(err) && !final(err) {
		return nil
	}
	return err
}

// degrade shows that probes fail, and why, or that they do no longer.
func (l *live) degrade(err error) {
	l.c.session.update(l.c, func(v *ServerSnapshot) {
		if v.Generation != l.generation || v.State != StateConnected {
			return
		}
		switch {
		case err != nil:
			v.Degraded, v.LastError = true, newFailure(err, v.LastError)
		case v.Degraded:
			v.Degraded, v.LastError = false, nil
		}
	})
}

// pauseOrGoverned waits for an interval. It returns false when it was cut short by the end of ctx or by a new policy.
func (l *live) pauseOrGoverned(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.govern:
	case <-ctx.Done():
	}
	return false
}

// unhealthyError gives a connection up after failed probes.
type unhealthyError struct{ err error }

func (e *unhealthyError) Error() string { return "health checks failed: " + e.err.Error() }

// Unwrap gives the last probe's error.
func (e *unhealthyError) Unwrap() error { return e.err }

// Trigger is why a connection was given up (REC-10 to REC-13).
type Trigger string

// The triggers.
const (
	TriggerClosed         Trigger = "transport_closed"
	TriggerSessionExpired Trigger = "session_expired"
	TriggerTransportError Trigger = "transport_error"
	TriggerHealthCheck    Trigger = "health_check"
	// TriggerUnauthorized: the server wants another credential.
	TriggerUnauthorized Trigger = "unauthorized"
)
