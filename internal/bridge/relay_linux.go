// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"os"
	"time"
)

const (
	bufferSize   = 32 << 10
	drainTime    = time.Second     // for what a command wrote before it ended
	farewellTime = 5 * time.Second // for the last line
	lingerTime   = time.Second     // for the peer to read it and to close
)

// Errors of a pump, besides errLineTooLong.
var (
	errStalled = errors.New("the command does not read")
	errPeer    = errors.New("the peer does not read, or is gone")
	errStdin   = errors.New("the command has closed its standard input")
)

// pump copies one direction. When it cannot pass on what it reads it says so and goes on reading, so that the writer
// is not stuck when it is asked to end.
type pump struct {
	lineCounter
	from   io.Reader
	pass   func([]byte) error
	broken chan struct{} // closed at the first failure to pass on
	done   chan struct{} // closed at the end of from
	err    error         // why it broke; to be read after broken or done
}

func newPump(from io.Reader, pass func([]byte) error) *pump {
	return &pump{from: from, pass: pass, broken: make(chan struct{}), done: make(chan struct{})}
}

func (p *pump) run() {
	defer close(p.done)
	buf := make([]byte, bufferSize)
	for {
		n, err := p.from.Read(buf)
		if n > 0 && p.err == nil {
			if p.err = p.forward(buf[:n]); p.err != nil {
				close(p.broken)
			}
		}
		if err != nil {
			return
		}
	}
}

func (p *pump) forward(b []byte) error {
	before := p.lineCounter
	if err := p.take(b); err != nil {
		p.lineCounter = before // b does not go out
		return err
	}
	return p.pass(b)
}

// deadlineWriter is a pipe or a connection.
type deadlineWriter interface {
	io.Writer
	SetWriteDeadline(t time.Time) error
}

// watched writes to w and gives up when w takes nothing for the time given (protocol.md guard 9).
func watched(w deadlineWriter, limit time.Duration, failed error) func([]byte) error {
	return func(b []byte) error {
		if w.SetWriteDeadline(time.Now().Add(limit)) != nil {
			return failed
		}
		switch _, err := w.Write(b); {
		case err == nil:
			return nil
		case failed == errStdin && errors.Is(err, os.ErrDeadlineExceeded): //nolint:errorlint // identity, not kind
			return errStalled
		}
		return failed
	}
}

// relay runs the command for conn, until one of them ends, and closes conn. The slot is the caller's to free.
func (a *acceptor) relay(ctx context.Context, conn *tls.Conn) {
	defer func() { _ = conn.Close() }() // a second Close of a socket is harmless
	p, err := a.start(a.reaper)
	if err != nil {
		a.slot.end()
		e := startExit(err)
		a.log.Warn("Command not started", "reason", string(e.Reason), "detail", e.Stderr)
		in := newPump(conn, func([]byte) error { return errStdin })
		go in.run()
		leave(conn, in, e, false)
		return
	}
	defer p.close()
	a.log.Info("Command started", "pid", p.cmd.Process.Pid)
	stall := a.stall
	if stall == 0 {
		stall = stallTime
	}
	in := newPump(conn, watched(p.stdin, stall, errStdin))
	out := newPump(p.stdout, watched(conn, stall, errPeer))
	errs := newStderr(p.stderr, a.Stderr)
	go in.run()
	go out.run()
	go errs.run()
	select {
	case <-in.done:
	case <-in.broken:
	case <-out.done:
	case <-out.broken:
	case <-p.ended:
	case <-ctx.Done():
	}
	a.slot.end()
	p.stop()
	a.reaper.killOrphans()
	e := a.finish(p, in, out, errs)
	if errors.Is(out.err, errPeer) {
		_ = conn.NetConn().Close() // nobody reads a farewell
	}
	leave(conn, in, e, out.open > 0)
}

// finish passes on what the command left in its pipes, and returns how it ended.
func (a *acceptor) finish(p *process, in, out *pump, errs *stderrPump) Exit {
	// A process that is in nobody's reach may hold the other ends.
	deadline := time.Now().Add(drainTime)
	_ = p.stdout.SetReadDeadline(deadline)
	_ = p.stderr.SetReadDeadline(deadline)
	<-out.done
	waitFor(context.Background(), errs.done, 2*drainTime) // unless whoever should show it does not take it
	e := p.exit()
	e.Stderr = errs.tail.text(maxExitStderr)
	switch {
	case errors.Is(in.failure(), errLineTooLong), errors.Is(out.err, errLineTooLong):
		e.Reason = ReasonLineTooLong
	case errors.Is(in.failure(), errStalled):
		e.Reason = ReasonStalled
	}
	a.log.Info("Command ended", "reason", string(e.Reason), "code", e.Code, "signal", e.Signal)
	return e
}

// failure returns why the pump broke, or nil while it did not.
func (p *pump) failure() error {
	select {
	case <-p.broken:
		return p.err
	default:
		return nil
	}
}

// leave sends the last line, and says that it was the last. It lets the peer close: a socket that is closed with bytes
// unread is reset, and the line could be lost with it.
func leave(conn *tls.Conn, in *pump, e Exit, midLine bool) {
	last := e.line()
	if midLine {
		last = append([]byte("\n"), last...)
	}
	_ = conn.SetWriteDeadline(time.Now().Add(farewellTime))
	if _, err := conn.Write(last); err == nil {
		_ = conn.CloseWrite()
	}
	_ = conn.SetReadDeadline(time.Now().Add(lingerTime))
	<-in.done
	_ = conn.Close()
}

// stderrPump keeps the end of a command's standard error and shows its lines.
type stderrPump struct {
	from io.Reader
	tail tail
	log  lineLog
	done chan struct{}
}

func newStderr(from io.Reader, to io.Writer) *stderrPump {
	if to == nil {
		to = io.Discard
	}
	return &stderrPump{from: from, log: lineLog{to: to}, done: make(chan struct{})}
}

func (s *stderrPump) run() {
	defer close(s.done)
	_, _ = io.Copy(io.MultiWriter(&s.tail, &s.log), s.from) // its end is the pipe's
	s.log.end()
}
