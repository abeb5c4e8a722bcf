// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"
)

// Errors of Client.
var (
	// ErrPeer says that the peer does not hold the same token.
	ErrPeer = errors.New("the bridge's peer does not hold the token")
	// ErrHandshake says that no secure connection came about for another reason. It wraps the context's error or the
	// operating system's, if there is one.
	ErrHandshake = errors.New("the handshake with the bridge failed")
)

// deadPeer is the time after which TCP itself ends a connection whose peer has gone without a word.
const deadPeer = 30 * time.Second

// keepAlive adds up to deadPeer.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: deadPeer / 2, Interval: deadPeer / 6, Count: 3}

// Client secures conn, a socket that is connected to a Server, and returns a connection that carries lines. ctx bounds
// the handshake only. On error conn is closed, and the error wraps ErrPeer, ErrHandshake or ErrToken.
//
// A Server that serves another connection closes this one after the handshake, without a line: the first Read fails with
// io.EOF, or with a reset if something was written. It is then worth trying again later.
func Client(ctx context.Context, conn net.Conn, token Token) (net.Conn, error) {
	c, err := config(token, client, server)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	if tcp, ok := conn.(interface {
		SetKeepAliveConfig(net.KeepAliveConfig) error
	}); ok {
		_ = tcp.SetKeepAliveConfig(keepAlive) // a socket that is gone fails in the handshake
	}
	secured := tls.Client(conn, c)
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, handshakeError(ctx, err)
	}
	return secured, nil
}

// handshakeError keeps what is known here, and none of the peer's words.
func handshakeError(ctx context.Context, err error) error {
	var errno syscall.Errno
	switch {
	case errors.Is(err, ErrPeer):
		return ErrPeer
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %w", ErrHandshake, ctx.Err())
	case errors.As(err, &errno):
		return fmt.Errorf("%w: %w", ErrHandshake, errno)
	}
	return ErrHandshake
}
