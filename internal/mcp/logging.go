// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp/logs"
	"github.com/mooring-dev/mooring/internal/mcp/transport"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// levelChoice is a level that somebody chose for a session, which goes before the policy's (LOG-05). It outlives a loss
// (LOG-02).
type levelChoice struct{ level logs.Level }

// wantedLevel is what is wanted of a server's messages now. It is called with session.mu held.
func (c *connection) wantedLevel() logs.Policy {
	switch {
	case c.level.level != "":
		return logs.Policy{Enabled: true, Level: c.level.level}
	case c.policy.Logging.Off:
		return logs.Policy{}
	}
	return logs.Policy{Enabled: true, Level: c.policy.Logging.Level}
}

// shownLevel is the wanted level as a snapshot shows it.
func (c *connection) shownLevel() logs.Level {
	if policy := c.wantedLevel(); policy.Enabled {
		return policy.Level
	}
	return ""
}

func (l *live) wantedLevel() logs.Policy {
	l.c.session.mu.Lock()
	defer l.c.session.mu.Unlock()
	return l.c.wantedLevel()
}

// logging is what a generation does with messages.
type logging struct {
	mu     sync.Mutex
	window logs.Window
}

// negotiateLevel asks the server for the level that is wanted. Whether it can or not, the connection goes on (LOG-03).
func (l *live) negotiateLevel(ctx context.Context) {
	policy := l.wantedLevel()
	if !policy.Enabled {
		return
	}
	if err := l.setLevel(ctx, policy.Level); err != nil {
		failure := newFailure(err, nil)
		s := l.c.session
		s.mu.Lock()
		defer s.mu.Unlock()
		s.emit(Event{Kind: EventLogLevel, Server: l.c.server.Name, Level: policy.Level, Failure: failure})
		s.record(l.c.server.Name, logs.SetupFailed(time.Now()))
	}
}

// setLevel tells the server, if it logs at all. A modern server is told with each request.
func (l *live) setLevel(ctx context.Context, level logs.Level) error {
	info := l.conn.Info()
	if !info.Declares("logging", "") {
		return nil
	}
	if info.Era == transport.EraModern {
		l.conn.SetLogLevel(string(level))
		return nil
	}
	_, err := l.request(ctx, wire.MethodSetLevel, wire.Object{{Name: "level", Value: wire.Quote(string(level))}})
	return err
}

// logged takes a log message of the server (LOG-04, LOG-06).
func (l *live) logged(params json.RawMessage) {
	message, err := logs.Parse(params)
	if err != nil || !l.wantedLevel().Accepts(message.Level) {
		return
	}
	now := time.Now()
	l.logging.mu.Lock()
	verdict := l.logging.window.Take(now)
	l.logging.mu.Unlock()
	var entry logs.Entry
	switch verdict {
	case logs.Accept:
		entry = message.Project(now)
	case logs.Mark:
		entry = logs.Dropped(now)
	case logs.Drop:
		return
	}
	s := l.c.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conns[l.c.server.Name] == l.c && s.ending == nil { // also while it is being made
		s.record(l.c.server.Name, entry)
	}
}

// record keeps a message and tells the watchers. It is called with mu held.
func (s *session) record(server string, entry logs.Entry) {
	kept := s.ring.Add(server, entry)
	s.emit(Event{Kind: EventLog, Server: server, Revision: kept.Revision, Log: &kept, Level: kept.Level})
}

// governed makes a live connection follow a new policy. It is called with session.mu held.
func (l *live) governed(level bool) {
	select {
	case l.govern <- struct{}{}:
	default:
	}
	if info := l.conn.Info(); level && info.Declares("logging", "") {
		l.c.view.LogLevel = l.c.shownLevel()
		l.work.Go(func() { l.negotiateLevel(l.c.ctx) })
	}
}

// Logs returns the newest messages of a session's servers, or of one, in ascending order: those after a revision, at
// most limit, which is 1 to 256 (REG-15). A session that is not held has none.
func (r *Runtime) Logs(id SessionID, server string, after int64, limit int) []logs.Entry {
	s := r.session(id)
	if s == nil {
		return nil
	}
	return s.ring.Snapshot(server, after, limit)
}

// SetLogLevel asks a server for other messages, for this session and until it ends (LOG-05).
func (r *Runtime) SetLogLevel(ctx context.Context, id SessionID, server string, level logs.Level) error {
	o, err := r.begin(id, server, wire.MethodSetLevel, "logging")
	if err != nil {
		return err
	}
	defer o.end()
	if err := o.l.setLevel(ctx, level); err != nil {
		return o.failed(ctx, err)
	}
	s := o.l.c.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if !o.l.serving() {
		return &CallError{Method: wire.MethodSetLevel, Reason: CallNotConnected}
	}
	o.l.c.level = levelChoice{level}
	o.l.c.view.LogLevel = level
	s.emit(Event{Kind: EventLogLevel, Server: server, Level: level})
	s.publish(false)
	return nil
}
