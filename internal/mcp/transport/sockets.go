// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"net"
	"sync"
)

// sockets dials and remembers what is open, so that all of it can be closed at once. The HTTP client's own means close
// idle sockets only.
type sockets struct {
	dialer Dialer
	ctx    context.Context //nolint:containedctx // it bounds dials that outlive the request which caused them
	cancel context.CancelFunc
	mu     sync.Mutex
	open   map[*socket]struct{}
	closed bool
}

func newSockets(dialer Dialer) *sockets {
	ctx, cancel := context.WithCancel(context.Background())
	return &sockets{dialer: dialer, ctx: ctx, cancel: cancel, open: map[*socket]struct{}{}}
}

type socket struct {
	net.Conn
	owner *sockets
}

// Close implements net.Conn.
func (s *socket) Close() error {
	s.owner.mu.Lock()
	delete(s.owner.open, s)
	s.owner.mu.Unlock()
	return s.Conn.Close()
}

// DialContext opens a socket.
func (s *sockets) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, dialTimeout, &TimeoutError{Phase: "connecting", Limit: dialTimeout})
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	conn, err := s.dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, &NetworkError{Dialing: true, Err: dialCause(ctx, err)}
	}
	out := &socket{Conn: conn, owner: s}
	s.mu.Lock()
	closed := s.closed
	if !closed {
		s.open[out] = struct{}{}
	}
	s.mu.Unlock()
	if closed {
		_ = conn.Close()
		return nil, ErrClosed
	}
	return out, nil
}

// dialCause prefers our limit over the dialer's account of it.
func dialCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && cause != ctx.Err() { //nolint:errorlint // identity is meant
		return cause
	}
	return err
}

// close closes every socket and refuses new ones.
func (s *sockets) close() {
	s.cancel()
	s.mu.Lock()
	s.closed = true
	open := make([]*socket, 0, len(s.open))
	for socket := range s.open {
		open = append(open, socket)
	}
	s.mu.Unlock()
	for _, socket := range open {
		_ = socket.Close()
	}
}

func (s *sockets) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}
