// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"errors"
	"slices"
	"time"
)

// Level is the severity of a message, as RFC 5424 names it (LOG-01).
type Level string

// The levels, from the least to the most severe.
const (
	Debug     Level = "debug"
	Info      Level = "info"
	Notice    Level = "notice"
	Warning   Level = "warning"
	Error     Level = "error"
	Critical  Level = "critical"
	Alert     Level = "alert"
	Emergency Level = "emergency"
)

var levels = []Level{Debug, Info, Notice, Warning, Error, Critical, Alert, Emergency}

// ErrLevel says that a name is not that of a level.
var ErrLevel = errors.New("unknown log level")

// ParseLevel returns the level of that name; levels have no other spelling. The error is ErrLevel.
func ParseLevel(name string) (Level, error) {
	if l := Level(name); slices.Contains(levels, l) {
		return l, nil
	}
	return "", ErrLevel
}

// Compare orders levels by severity: negative when l is less severe than other. What is no level is below all.
func (l Level) Compare(other Level) int { return slices.Index(levels, l) - slices.Index(levels, other) }

// Policy says which messages are wanted. The zero value wants none.
type Policy struct {
	Enabled bool
	Level   Level
}

// DefaultPolicy wants warnings and what is worse (LOG-01).
func DefaultPolicy() Policy { return Policy{Enabled: true, Level: Warning} }

// Accepts reports whether a message of that level is wanted (LOG-04): servers may send what they were not asked for.
func (p Policy) Accepts(l Level) bool {
	return p.Enabled && slices.Contains(levels, l) && l.Compare(p.Level) >= 0
}

// The rate limit (LOG-06).
const (
	windowLength = time.Second
	windowLimit  = 64
)

// Verdict is what becomes of a message.
type Verdict int

// The verdicts.
const (
	// Accept: project and keep it.
	Accept Verdict = iota
	// Mark: drop it, and keep a Dropped entry in its place. This is said once a window.
	Mark
	// Drop: drop it.
	Drop
)

// Window limits the rate of one connection's messages: 64 in each fixed second (LOG-06). The zero value is ready for use;
// a new connection begins with it. It is not safe for concurrent use.
type Window struct {
	start time.Time
	count int
}

// Take counts a message that arrived at now.
func (w *Window) Take(now time.Time) Verdict {
	if elapsed := now.Sub(w.start); elapsed < 0 || elapsed >= windowLength {
		*w = Window{start: now}
	}
	w.count = min(w.count+1, windowLimit+2)
	switch {
	case w.count <= windowLimit:
		return Accept
	case w.count == windowLimit+1:
		return Mark
	}
	return Drop
}
