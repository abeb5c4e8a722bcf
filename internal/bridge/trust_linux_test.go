// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// guarded returns a bridge whose command leaves a mark when it is started.
func guarded(t *testing.T) (addr, mark string) {
	t.Helper()
	mark = filepath.Join(t.TempDir(), "started")
	return serve(t, &Server{Token: testToken, Command: []string{"touch", mark}}), mark
}

// untouched fails if the command was started. A connection that holds the token shows that the mark would be there.
func untouched(t *testing.T, addr, mark string) {
	t.Helper()
	if _, err := os.Stat(mark); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the command was started: %v", err)
	}
	dial(t, addr).exit()
	if _, err := os.Stat(mark); err != nil {
		t.Errorf("the bridge no longer serves: %v", err)
	}
}

// ends fails unless the bridge closes conn without a byte for us but a TLS alert, which tls.Conn keeps to itself.
func ends(t *testing.T, conn net.Conn) {
	t.Helper()
	var b [1]byte
	if n, err := conn.Read(b[:]); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read %q, %v", b[:n], err)
	}
}

func TestWrongToken(t *testing.T) {
	addr, mark := guarded(t)
	wrong := bytes.Repeat([]byte("w"), minToken)
	conn := dialTCP(t, addr)
	if _, err := Client(t.Context(), conn, wrong); !errors.Is(err, ErrPeer) {
		t.Errorf("got %v", err)
	}
	if _, err := conn.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the socket is still open: %v", err)
	}
	untouched(t, addr, mark)
}

func TestNoToken(t *testing.T) {
	addr, mark := guarded(t)
	conn := dialTCP(t, addr)
	if _, err := Client(t.Context(), conn, nil); !errors.Is(err, ErrToken) {
		t.Errorf("got %v", err)
	}
	ends(t, conn)
	untouched(t, addr, mark)
}

// A client that does not care who the bridge is gets no further than one that does.
func TestStrangers(t *testing.T) {
	other, err := config(bytes.Repeat([]byte("w"), minToken), client, server)
	if err != nil {
		t.Fatal(err)
	}
	mirror, err := config(testToken, server, client) // the bridge's own key
	if err != nil {
		t.Fatal(err)
	}
	own, err := config(testToken, client, server)
	if err != nil {
		t.Fatal(err)
	}
	twice := own.Certificates[0]
	twice.Certificate = append(twice.Certificate[:1:1], twice.Certificate[0])
	for name, c := range map[string]struct {
		certificates []tls.Certificate
		version      uint16
	}{
		"no certificate":       {nil, tls.VersionTLS13},
		"other key":            {other.Certificates, tls.VersionTLS13},
		"the bridge's key":     {mirror.Certificates, tls.VersionTLS13},
		"a chain":              {[]tls.Certificate{twice}, tls.VersionTLS13},
		"TLS 1.2, genuine key": {own.Certificates, tls.VersionTLS12},
	} {
		t.Run(name, func(t *testing.T) {
			addr, mark := guarded(t)
			conn := tls.Client(dialTCP(t, addr), &tls.Config{
				InsecureSkipVerify: true, //nolint:gosec // a stranger does not care
				MaxVersion:         c.version,
				Certificates:       c.certificates,
			})
			if err := conn.HandshakeContext(t.Context()); err == nil {
				_, _ = conn.Write([]byte("{}\n"))
				ends(t, conn)
			}
			untouched(t, addr, mark)
		})
	}
}

func TestPlainTCP(t *testing.T) {
	addr, mark := guarded(t)
	conn := dialTCP(t, addr)
	if _, err := conn.Write([]byte("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}\n")); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(conn); errors.Is(err, os.ErrDeadlineExceeded) || bytes.IndexByte(got, '{') >= 0 {
		t.Errorf("got %q, %v", got, err)
	}
	untouched(t, addr, mark)
}

// Who does not finish the handshake is dropped after 5 s; until then it takes one of a few places, and no more.
func TestSlowHandshake(t *testing.T) {
	t.Parallel()
	addr, mark := guarded(t)
	began := time.Now()
	var silent []net.Conn
	for range maxPending {
		silent = append(silent, dialTCP(t, addr))
	}
	ends(t, dialTCP(t, addr))
	if took := time.Since(began); took > handshakeTime {
		t.Errorf("refused after %v", took)
	}
	for _, conn := range silent {
		ends(t, conn)
	}
	if took := time.Since(began); took < handshakeTime-time.Second || took > 3*handshakeTime {
		t.Errorf("dropped after %v", took)
	}
	untouched(t, addr, mark)
}

// The client is no more trusting than the bridge.
func TestClientRefuses(t *testing.T) {
	impostor, err := config(testToken, client, server) // the client's own key
	if err != nil {
		t.Fatal(err)
	}
	theirs, ours := net.Pipe()
	done := make(chan error)
	go func() {
		impostor.VerifyConnection = nil
		done <- tls.Server(theirs, impostor).HandshakeContext(t.Context())
	}()
	if _, err := Client(t.Context(), ours, testToken); !errors.Is(err, ErrPeer) {
		t.Errorf("got %v", err)
	}
	if err := <-done; err == nil {
		t.Error("the impostor's handshake succeeded")
	}
}

func TestClientHasADeadline(t *testing.T) {
	theirs, ours := net.Pipe()
	defer func() { _ = theirs.Close() }()
	go func() { _, _ = io.Copy(io.Discard, theirs) }()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := Client(ctx, ours, testToken); !errors.Is(err, ErrHandshake) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestClientErrorsHoldNoForeignText(t *testing.T) {
	theirs, ours := net.Pipe()
	go func() { _, _ = io.Copy(io.Discard, theirs) }()
	go func() { _, _ = theirs.Write([]byte("HTTP/1.1 400 secret-word\r\n\r\n")) }()
	if _, err := Client(t.Context(), ours, testToken); err != ErrHandshake { //nolint:errorlint // nothing around it
		t.Errorf("got %v", err)
	}
	_ = theirs.Close()
}
