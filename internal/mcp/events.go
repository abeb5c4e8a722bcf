// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"sync"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp/content"
	"github.com/mooring-dev/mooring/internal/mcp/logs"
)

// EventKind says what an Event tells.
type EventKind string

// The kinds of events (REG-16).
const (
	// EventStatus: From became To.
	EventStatus EventKind = "Status"
	// EventTools: the projected tools of a server changed. Names are provider names, sorted.
	EventTools EventKind = "Tools"
	// EventContent: a list of List changed. Names are URIs, templates or prompt names, sorted.
	EventContent EventKind = "Content"
	// EventInstructions: a server's instructions came or went (Reason).
	EventInstructions EventKind = "Instructions"
	// EventConnected: a server serves.
	EventConnected EventKind = "Connected"
	// EventRecovery: a lost connection is Phase.
	EventRecovery EventKind = "Recovery"
	// EventResourceUpdated: the resource URI changed; nothing was read (SUB-07).
	EventResourceUpdated EventKind = "ResourceUpdated"
	// EventRefreshFailed: a list could not be had; the last valid one stays (CAT-33).
	EventRefreshFailed EventKind = "RefreshFailed"
	// EventSubscriptionFailed: a wanted subscription was refused; it is tried again later (SUB-06).
	EventSubscriptionFailed EventKind = "SubscriptionFailed"
	// EventLog: a server wrote a log message.
	EventLog EventKind = "Log"
	// EventLogLevel: the wanted level changed, or could not be set (Failure).
	EventLogLevel EventKind = "LogLevel"
)

// Reason is why a list changed (REG-11).
type Reason string

// The reasons.
const (
	ReasonConnection    Reason = "connection"
	ReasonDisconnection Reason = "disconnection"
	ReasonNotification  Reason = "notification"
	ReasonManual        Reason = "manual"
	// ReasonPolicy: the session's own filter changed.
	ReasonPolicy Reason = "policy"
)

// Phase is how a recovery stands (REC-22 to REC-25).
type Phase string

// The phases.
const (
	PhaseReconnecting Phase = "reconnecting"
	PhaseRecovered    Phase = "recovered"
	PhaseFailed       Phase = "failed"
)

// Event is one thing that happened to a session. It shares nothing that changes (REG-17).
type Event struct {
	// Seq orders the events of a session.
	Seq    uint64
	Kind   EventKind
	Server string
	// Revision is that of the counter that the event moved; zero when it moved none.
	Revision int64
	Reason   Reason

	Added, Removed, Updated []string
	// List is what EventContent is about.
	List content.Kind

	From, To       State
	Phase          Phase
	Trigger        Trigger
	Attempt, Limit int
	NextAttempt    time.Time
	// Failure is cleaned and bounded; agents see Phase, Trigger and Attempt only (REC-30).
	Failure *Failure

	URI   string
	Log   *logs.Entry
	Level logs.Level
}

// lane is a queue of a Watcher.
type lane int

// The lanes, in the order in which they are drained (CAT-41).
const (
	laneTools lane = iota
	laneContent
	laneResources
	laneConnection
	laneLogs
	laneInstructions
	lanes
)

// laneBounds are how many events a lane holds; the oldest go first (REG-33).
var laneBounds = [lanes]int{32, 32, 32, 32, 64, 32}

func (e *Event) lane() lane {
	switch e.Kind {
	case EventTools:
		return laneTools
	case EventContent, EventRefreshFailed:
		return laneContent
	case EventResourceUpdated, EventSubscriptionFailed:
		return laneResources
	case EventLog, EventLogLevel:
		return laneLogs
	case EventInstructions:
		return laneInstructions
	case EventStatus, EventConnected, EventRecovery:
	}
	return laneConnection
}

// Watcher receives the events of one session, from Watch to Stop. It holds a bounded number of them, and who is slow
// loses the oldest: a Watcher never holds the session up.
type Watcher struct {
	session *session
	wake    chan struct{} // 1

	mu    sync.Mutex
	queue [lanes][]Event
	ended bool
}

// Watch begins to collect the events of a session, and returns it with the snapshot that they follow.
func (r *Runtime) Watch(id SessionID) (*Watcher, *Snapshot, error) {
	s := r.session(id)
	if s == nil {
		return nil, nil, ErrSessionNotFound
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending != nil {
		return nil, nil, ErrSessionNotFound
	}
	w := &Watcher{session: s, wake: make(chan struct{}, 1)}
	s.watchers[w] = struct{}{}
	return w, s.snapshot, nil
}

// Wake delivers a value when there is something to drain, and is closed when the session ends.
func (w *Watcher) Wake() <-chan struct{} { return w.wake }

// Drain returns what was collected since the last Drain: tools, content, resource updates, connections, logs,
// instructions, each in order (CAT-41).
func (w *Watcher) Drain() []Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []Event
	for i := range w.queue {
		out = append(out, w.queue[i]...)
		w.queue[i] = nil
	}
	return out
}

// Stop ends the collection. It may be called more than once.
func (w *Watcher) Stop() {
	w.session.mu.Lock()
	delete(w.session.watchers, w)
	w.session.mu.Unlock()
	w.end()
}

func (w *Watcher) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ended {
		w.ended = true
		close(w.wake)
	}
}

func (w *Watcher) add(e Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	at := e.lane()
	queue := w.queue[at]
	if e.Kind == EventResourceUpdated {
		for i := range queue { // one word about a resource is enough (REG-34); it bears the newest revision (DEV-52)
			if queue[i].Kind == e.Kind && queue[i].Server == e.Server && queue[i].URI == e.URI {
				queue[i].Revision = e.Revision
				return
			}
		}
	}
	if len(queue) == laneBounds[at] {
		queue = append(queue[:0], queue[1:]...)
	}
	w.queue[at] = append(queue, e)
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// emit tells the watchers. It is called with mu held.
func (s *session) emit(e Event) {
	s.seq++
	e.Seq = s.seq
	for w := range s.watchers {
		w.add(e)
	}
}
