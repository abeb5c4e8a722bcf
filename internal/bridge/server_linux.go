// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	handshakeTime = 5 * time.Second
	maxPending    = 8 // connections that are not served: in the handshake, or waiting for the slot
	acceptPause   = 100 * time.Millisecond
	stallTime     = 30 * time.Second
)

// ErrCommand says that a Server has no command.
var ErrCommand = errors.New("a bridge needs a command")

// Server runs a command for one connection at a time. Its fields are not to be changed once Serve was called.
type Server struct {
	Token Token
	// Command is the command and its arguments. No shell sees them. A command without a slash is looked for in the
	// bridge's own PATH.
	Command []string
	// Dir is the command's working directory; empty means the bridge's own.
	Dir string
	// Env is the command's whole environment, as KEY=value (DEV-45).
	Env []string
	// Stderr receives the command's standard error as cleaned lines of at most 1 KiB, at most 50 in a second. Nil means
	// nowhere.
	Stderr io.Writer
	// Log receives events; they hold no text of the command or of a peer. Nil means nowhere.
	Log *slog.Logger
	// Subreaper makes this process the parent of what the command leaves behind, reaps that, and kills what is left of it
	// when a connection ends. Set it in a program that has no other children: it speaks for the whole process.
	Subreaper bool

	stall time.Duration // for tests; 0 means stallTime
}

// Serve accepts connections until ctx is done, which is no error, or ln fails. It closes ln, and returns when every
// connection and every process is gone.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	defer func() { _ = ln.Close() }() // closed twice when ctx ends
	if len(s.Command) == 0 || s.Command[0] == "" {
		return ErrCommand
	}
	c, err := config(s.Token, server, client)
	if err != nil {
		return err
	}
	a := &acceptor{Server: s, tls: c, log: s.Log, pending: make(chan struct{}, maxPending)}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	if s.Subreaper {
		if a.reaper, err = newReaper(); err != nil {
			return err
		}
		defer a.reaper.stop()
	}
	defer a.running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = ln.Close() })()
	return a.accept(ctx, ln)
}

// acceptor is one run of Serve.
type acceptor struct {
	*Server
	tls     *tls.Config
	log     *slog.Logger
	reaper  *reaper
	slot    slot
	pending chan struct{}
	running sync.WaitGroup
}

func (a *acceptor) accept(ctx context.Context, ln net.Listener) error {
	for {
		conn, err := ln.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				_ = conn.Close()
			}
			return nil
		case isPassing(err):
			waitFor(ctx, nil, acceptPause)
			continue
		case err != nil:
			return fmt.Errorf("accept: %w", err)
		}
		select {
		case a.pending <- struct{}{}:
			a.running.Go(func() { a.handle(ctx, conn) })
		default: // strangers may not use up what is needed to serve
			a.log.Debug("Refused a connection", "reason", "too many are pending")
			_ = conn.Close()
		}
	}
}

// isPassing reports whether accepting may go better in a moment.
func isPassing(err error) bool {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return false
	}
	switch errno {
	case unix.ECONNABORTED, unix.EMFILE, unix.ENFILE, unix.ENOBUFS, unix.ENOMEM, unix.EINTR:
		return true
	}
	return false
}

// handle authenticates a connection and serves it when its turn has come.
func (a *acceptor) handle(ctx context.Context, raw net.Conn) {
	defer func() { _ = raw.Close() }() // closed already unless refused
	noticeDeath(raw)
	conn := tls.Server(raw, a.tls)
	admitted := a.admit(ctx, conn)
	<-a.pending
	if !admitted {
		return
	}
	defer a.slot.free()
	a.relay(ctx, conn)
}

// admit reports whether the peer holds the token and the slot is its own now.
func (a *acceptor) admit(ctx context.Context, conn *tls.Conn) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	timed, done := context.WithTimeout(ctx, handshakeTime)
	defer done()
	if err := conn.HandshakeContext(timed); err != nil {
		a.log.Debug("Refused a connection", "reason", handshakeError(timed, err).Error())
		return false
	}
	if a.slot.take(ctx) {
		return true
	}
	a.log.Info("Refused a connection", "reason", "another one is served")
	_ = conn.Close()
	return false
}

// noticeDeath makes TCP end a connection whose peer is gone, whether nothing is sent (keepalive) or what is sent is not
// acknowledged (RFC 5482), which would otherwise take a quarter of an hour. Where it cannot be set the socket is gone.
func noticeDeath(conn net.Conn) {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return
	}
	_ = tcp.SetKeepAliveConfig(keepAlive)
	if raw, err := tcp.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) {
			_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(deadPeer.Milliseconds()))
		})
	}
}
