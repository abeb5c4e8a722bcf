// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"time"

	"github.com/mooring-dev/mooring/internal/mcp/catalog"
	"github.com/mooring-dev/mooring/internal/mcp/content"
	"github.com/mooring-dev/mooring/internal/mcp/logs"
)

// Policy is how a server is treated. A change of it keeps the connection. Zero values take the defaults named here; what
// is out of bounds is the caller's to refuse (CON-02).
type Policy struct {
	Calls    CallLimits
	Recovery Recovery
	Health   Health
	Logging  Logging
	Lists    ListLimits
}

// CallLimits bounds a tools/call (CALL-01, CALL-02, bridge row 13).
type CallLimits struct {
	// Total is 1 s to 30 min; zero means 5 min.
	Total time.Duration
	// Idle is 1 s to Total and runs from the first progress; zero means the smaller of 60 s and Total.
	Idle time.Duration
}

// Recovery is how a lost connection is tried again (REC-01).
type Recovery struct {
	// Off leaves a lost connection lost, until the definition changes or somebody connects it again.
	Off bool
	// MaxAttempts after a loss is 1 to 20; zero means 5.
	MaxAttempts int
	// InitialDelay is 10 ms to 5 min, zero means 1 s; MaxDelay is InitialDelay to 5 min, zero means 30 s.
	InitialDelay, MaxDelay time.Duration
	// JitterPercent spreads delays both ways, 0 to 100; negative means none, zero means 20.
	JitterPercent int
	// FailureThreshold is how many transport errors in a row are a loss, 1 to 10; zero means 3.
	FailureThreshold int
}

// Health is how a connection is probed (REC-40).
type Health struct {
	Off bool
	// Interval is 10 ms to 5 min, zero means 30 s; Timeout is 10 ms to 1 min, zero means 10 s.
	Interval, Timeout time.Duration
	// FailureThreshold is how many failed probes in a row are a loss, 1 to 10; zero means 3.
	FailureThreshold int
}

// Logging is which of a server's log messages are wanted (LOG-01).
type Logging struct {
	Off bool
	// Level is the least severe level that is wanted; empty means warning.
	Level logs.Level
}

// ListLimits bounds what a server may list, within the built-in bounds, which zero values mean.
type ListLimits struct {
	MaxTools, MaxResources, MaxTemplates, MaxPrompts int
	// MaxBytes bounds each list as compact JSON.
	MaxBytes int
}

const (
	defaultTotal = 5 * time.Minute // CALL-01
	defaultIdle  = time.Minute

	defaultAttempts     = 5 // REC-01
	defaultInitialDelay = time.Second
	defaultMaxDelay     = 30 * time.Second
	defaultJitter       = 20
	defaultThreshold    = 3

	defaultInterval = 30 * time.Second // REC-40
	defaultTimeout  = 10 * time.Second
)

// orDefault is p with every value filled in.
func (p Policy) orDefault() Policy {
	p.Calls.Total = or(p.Calls.Total, defaultTotal)
	p.Calls.Idle = min(or(p.Calls.Idle, defaultIdle), p.Calls.Total)
	p.Recovery.MaxAttempts = or(p.Recovery.MaxAttempts, defaultAttempts)
	p.Recovery.InitialDelay = or(p.Recovery.InitialDelay, defaultInitialDelay)
	p.Recovery.MaxDelay = max(or(p.Recovery.MaxDelay, defaultMaxDelay), p.Recovery.InitialDelay)
	p.Recovery.JitterPercent = max(or(p.Recovery.JitterPercent, defaultJitter), 0)
	p.Recovery.FailureThreshold = or(p.Recovery.FailureThreshold, defaultThreshold)
	p.Health.Interval = or(p.Health.Interval, defaultInterval)
	p.Health.Timeout = or(p.Health.Timeout, defaultTimeout)
	p.Health.FailureThreshold = or(p.Health.FailureThreshold, defaultThreshold)
	if p.Logging.Level == "" {
		p.Logging.Level = logs.Warning
	}
	p.Lists.MaxTools = or(p.Lists.MaxTools, catalog.MaxTools)
	p.Lists.MaxResources = or(p.Lists.MaxResources, content.MaxEntries)
	p.Lists.MaxTemplates = or(p.Lists.MaxTemplates, content.MaxEntries)
	p.Lists.MaxPrompts = or(p.Lists.MaxPrompts, content.MaxEntries)
	p.Lists.MaxBytes = or(p.Lists.MaxBytes, content.MaxBytes)
	return p
}

func or[T comparable](value, byDefault T) T {
	var absent T
	if value == absent {
		return byDefault
	}
	return value
}
