// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"errors"

	"github.com/mooring-dev/mooring/internal/mcp/transport"
)

// Commands of people: reconnect, refresh, disconnect, connect. Those of a session come with Desired, once for each value;
// those for one server come through the Runtime.

// commands is where the commands of Desired stand.
type commands struct{ reconnect, refresh command }

// command is carried out once for each value. It is done when nothing of it is outstanding.
type command struct {
	acted string // the value that was begun last
	done  string // the value that was carried out last
}

// take reports whether a command is to be begun.
func (c *command) take(asked Command) bool {
	if !asked.open() || asked.Value == c.acted {
		return false
	}
	c.acted = asked.Value
	return true
}

// command begins what d commands. It is called with mu held.
func (s *session) command(d *Desired) {
	reconnect, refresh := s.commands.reconnect.take(d.Reconnect), s.commands.refresh.take(d.Refresh)
	for i, c := range s.order {
		switch {
		case reconnect && c.view.State != StateIdle: // a connection that has not begun is new
			s.order[i] = s.restart(c)
		case refresh && c.live != nil:
			c.live.asks.add(make(chan error, 1))
			c.live.mark(c.live.declared())
			c.view.Pending = true
		}
	}
	if reconnect || refresh {
		s.publish(false)
		s.settle()
	}
}

// restart connects a server anew. Subscriptions that were made by agents are forgotten (REC-25).
func (s *session) restart(old *connection) *connection {
	server := old.server
	server.Policy = old.policy
	old.wanted.made = nil
	c := s.start(server, old)
	s.conns[server.Name] = c
	return c
}

// settle marks commands as done once every server has left its first attempt and no list is outstanding. It is called
// with mu held, after the snapshot was replaced.
func (s *session) settle() {
	if s.commands.reconnect.done == s.commands.reconnect.acted && s.commands.refresh.done == s.commands.refresh.acted {
		return
	}
	if !s.snapshot.synced() {
		return
	}
	s.commands.reconnect.done, s.commands.refresh.done = s.commands.reconnect.acted, s.commands.refresh.acted
	next := *s.snapshot
	next.Reconnected, next.Refreshed = s.commands.reconnect.done, s.commands.refresh.done
	s.replace(&next)
}

// Errors of commands for one server.
var (
	// ErrServerNotFound says that the session has no such server (REG-05).
	ErrServerNotFound = errors.New("no such server in the session")
	// ErrServerNotConnected says that the server is not connected (REG-07).
	ErrServerNotConnected = errors.New("the server is not connected")
)

// Reconnect connects a server anew, whatever state it is in: its connection is ended in good order and another begins.
// Subscriptions made through Subscribe are forgotten.
func (r *Runtime) Reconnect(id SessionID, server string) error {
	return r.steer(id, server, func(s *session, c *connection) {
		s.swap(c, s.restart(c))
	})
}

// Disconnect ends a server's connection and keeps it ended until Connect or Reconnect (REC-27). It is idempotent, and
// disconnecting an unknown server is no error (REG-05).
func (r *Runtime) Disconnect(id SessionID, server string) error {
	err := r.steer(id, server, func(s *session, c *connection) {
		if c.parked {
			return
		}
		definition := c.server
		definition.Policy = c.policy
		s.retire(c)
		parked := newConnection(s, definition, c.view.Generation+1)
		parked.parked, parked.view.State, parked.wanted.declared = true, StateClosed, c.wanted.declared
		close(parked.done)
		s.conns[definition.Name] = parked
		s.swap(c, parked)
	})
	if errors.Is(err, ErrServerNotFound) {
		return nil
	}
	return err
}

// Connect begins to connect a server that was disconnected or rests; for any other it does nothing (CON-04).
func (r *Runtime) Connect(id SessionID, server string) error {
	return r.steer(id, server, func(s *session, c *connection) {
		switch {
		case c.parked:
			definition := c.server
			definition.Policy = c.policy
			fresh := s.start(definition, c)
			s.conns[definition.Name] = fresh
			s.swap(c, fresh)
		case c.view.State == StateFailed, c.view.State == StateAuthorizationRequired:
			c.wake()
		}
	})
}

// swap puts a connection into another's place.
func (s *session) swap(old, fresh *connection) {
	for i := range s.order {
		if s.order[i] == old {
			s.order[i] = fresh
		}
	}
	s.publish(false)
}

func (r *Runtime) steer(id SessionID, server string, do func(*session, *connection)) error {
	s := r.session(id)
	if s == nil {
		return ErrSessionNotFound
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending != nil {
		return ErrSessionNotFound
	}
	c := s.conns[server]
	if c == nil {
		return ErrServerNotFound
	}
	do(s, c)
	return nil
}

// Refresh lists what a server offers anew and waits for it. Unlike a refresh that the server asks for, it reports what
// went wrong (CAT-33, DEV-20); the last valid lists stay.
func (r *Runtime) Refresh(ctx context.Context, id SessionID, server string) error {
	var l *live
	err := r.steer(id, server, func(_ *session, c *connection) { l = c.live })
	if err != nil {
		return err
	}
	if l == nil {
		return ErrServerNotConnected
	}
	done := make(chan error, 1)
	l.asks.add(done)
	l.changed(l.declared())
	return l.await(ctx, done)
}

// await waits for a refresh, as long as there is somebody to make it.
func (l *live) await(ctx context.Context, done <-chan error) error {
	select {
	case err := <-done:
		return err
	case <-l.over:
		return transport.ErrClosed
	case <-l.c.session.calling.Done():
		return context.Cause(l.c.session.calling)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
