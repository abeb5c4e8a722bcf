// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp/clean"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

const (
	// methodExited is the last message of a bridge.
	methodExited  = "notifications/bridge/exited"
	maxExitWord   = 64
	maxExitStderr = 4096
	lineBuffer    = 16 << 10
	writeChunk    = 64 << 10 // within writeTimeout, however large the message is
	maxBadLines   = 100
)

// lines reads newline-delimited messages (CON-14, DEV-29).
type lines struct {
	in  *bufio.Reader
	max int // bytes of a line
	bad int // lines in a row that are no message
}

func newLines(r io.Reader, maxBytes int) *lines {
	return &lines{in: bufio.NewReaderSize(r, lineBuffer), max: maxBytes}
}

// next returns the next message. Up to 100 lines in a row that are none are skipped, for programs print to their
// standard output what does not belong there. What no newline ends is no line.
func (l *lines) next() (*wire.Message, error) {
	for {
		line, err := l.line()
		if err != nil {
			return nil, err
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		m, err := wire.Parse(line)
		if err == nil {
			l.bad = 0
			return m, nil
		}
		if l.bad++; l.bad > maxBadLines {
			return nil, &ProtocolError{What: "the process writes lines that are no JSON-RPC messages"}
		}
	}
}

// line returns the next line; its bytes are valid until the next call.
func (l *lines) line() ([]byte, error) {
	var long []byte
	for {
		part, err := l.in.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, &NetworkError{Err: err}
		}
		if len(long)+len(part) > l.max+1 {
			return nil, &ProtocolError{What: "the process wrote a line that is too long"}
		}
		if err == nil && long == nil {
			return part, nil
		}
		if long = append(long, part...); err == nil {
			return long, nil
		}
	}
}

// stdio is a channel of lines over a connection to a bridge, which is one process.
type stdio struct {
	c     *Conn
	lines *lines
	out   chan *parcel
	over  chan struct{} // closed by close
	once  sync.Once

	mu   sync.Mutex
	conn net.Conn
}

// parcel is a letter in the writer's hands.
type parcel struct {
	body []byte
	done chan error // 1
}

func newStdio(c *Conn) *stdio {
	return &stdio{c: c, out: make(chan *parcel), over: make(chan struct{})}
}

func (s *stdio) open(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, openTimeout, &TimeoutError{Phase: "opening the process", Limit: openTimeout})
	defer cancel()
	conn, err := s.c.cfg.Stdio(ctx)
	if err != nil {
		var config *ConfigError
		if errors.As(err, &config) {
			return err
		}
		return &NetworkError{Dialing: true, Err: dialCause(ctx, err)}
	}
	s.mu.Lock()
	s.conn = conn
	s.mu.Unlock()
	s.lines = newLines(conn, wire.MaxMessageBytes)
	if !s.c.work.Go(func() { s.writeAll(conn) }) {
		return ErrClosed
	}
	return nil
}

func (s *stdio) read() (*wire.Message, error) {
	m, err := s.lines.next()
	if err == nil && m.Method == methodExited && m.IsNotification() {
		return nil, exited(m.Params)
	}
	return m, err
}

// exited makes an error of the bridge's last message. What could not be started will not start the next time (DEV-23).
func exited(params json.RawMessage) error {
	e := &ExitError{Code: -1}
	if object, err := wire.ParseObject(orEmpty(params)); err == nil {
		if json.Unmarshal(orNull(object.Get("exitCode")), &e.Code) != nil {
			e.Code = -1
		}
		text := func(name string) string { s, _ := object.String(name); return s }
		e.Signal, e.Reason = clean.Text(text("signal"), maxExitWord), clean.Text(text("reason"), maxExitWord)
		e.Stderr = clean.Multiline(text("stderr"), maxExitStderr)
	}
	if e.Reason == reasonStartFailed {
		return &ConfigError{What: "the process could not be started", Err: e}
	}
	return &NetworkError{Err: e}
}

// write hands a message to the writer, so that a process which does not read holds up nobody but it.
func (s *stdio) write(ctx context.Context, l *letter) error {
	body := l.body
	for i, b := range body {
		if b == '\n' || b == '\r' { // between tokens, for within strings they are escaped
			body[i] = ' '
		}
	}
	p := &parcel{body: append(body, '\n'), done: make(chan error, 1)}
	select {
	case s.out <- p:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.over:
		return ErrClosed
	}
	if l.sent != nil {
		l.sent.Store(true)
	}
	select {
	case err := <-p.done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.over:
		return ErrClosed
	}
}

// writeAll writes one message after the other, each to its end. A process that takes nothing for writeTimeout is given up.
func (s *stdio) writeAll(conn net.Conn) {
	for {
		select {
		case <-s.over:
			return
		case p := <-s.out:
			err := writeChunks(conn, p.body)
			if err != nil {
				s.c.stopActive(err)
				s.close()
			}
			p.done <- err
		}
	}
}

func writeChunks(conn net.Conn, body []byte) error {
	for len(body) > 0 {
		chunk := body[:min(len(body), writeChunk)]
		body = body[len(chunk):]
		_ = conn.SetWriteDeadline(time.Now().Add(writeTimeout)) // a connection that is gone fails in Write
		if _, err := conn.Write(chunk); err != nil {
			var timeout net.Error
			if errors.As(err, &timeout) && timeout.Timeout() {
				err = &TimeoutError{Phase: "writing to the process", Limit: writeTimeout}
			}
			return &NetworkError{Err: err}
		}
	}
	return nil
}

// end closes the process's standard input, where the connection can say so, and waits for the process (CON-13).
func (s *stdio) end(ctx context.Context, gone <-chan struct{}) error {
	s.mu.Lock()
	conn := s.conn
	s.mu.Unlock()
	half, ok := conn.(interface{ CloseWrite() error })
	if !ok {
		return nil // closing the connection says it as well
	}
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetWriteDeadline(deadline)
	}
	if err := half.CloseWrite(); err != nil {
		return nil //nolint:nilerr // it is gone already
	}
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *stdio) close() {
	s.once.Do(func() { close(s.over) })
	s.mu.Lock()
	conn := s.conn
	s.conn = nil
	s.mu.Unlock()
	if conn != nil {
		_ = conn.Close()
	}
}

func (s *stdio) sockets() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil {
		return 0
	}
	return 1
}

var _ channel = (*stdio)(nil)
