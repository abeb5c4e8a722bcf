// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"
)

// CON-12: lines go both ways, the command gets its arguments without a shell and its directory as resolved.
// DEV-45: it sees the variables it was given, and none of the bridge's.
func TestCommandStartsAsGiven(t *testing.T) {
	t.Setenv("MOORING_OPERATOR_SECRET", "leak-me")
	args := []string{"$(touch x)", "*", "a b", "; exit 1", ""}
	s := command("about", args...)
	s.Dir = t.TempDir()
	s.Env = append(s.Env, "GIVEN=1")
	p := dial(t, serve(t, s))
	var got struct {
		Args []string
		Dir  string
		Env  []string
	}
	p.decode(&got)
	if !slices.Equal(got.Args, args) {
		t.Errorf("arguments %q, want %q", got.Args, args)
	}
	if dir, _ := filepath.EvalSymlinks(s.Dir); got.Dir != dir {
		t.Errorf("directory %q, want %q", got.Dir, dir)
	}
	if !slices.Equal(got.Env, s.Env) {
		t.Errorf("environment %q, want %q", got.Env, s.Env)
	}
	p.send("one\ntwo\n")
	if a, b := p.line(), p.line(); a != "one" || b != "two" {
		t.Errorf("got %q, %q", a, b)
	}
}

// DEV-45: no list of variables is an empty one, not the bridge's environment.
func TestNoEnvironment(t *testing.T) {
	t.Setenv("MOORING_OPERATOR_SECRET", "leak-me")
	s := &Server{Token: testToken, Command: []string{"env"}}
	p := dial(t, serve(t, s))
	if line := p.line(); !strings.Contains(line, ExitMethod) {
		t.Errorf("got %q", line)
	}
}

// DEV-23: what is missing or cannot be executed is told apart from what ended.
func TestStartFails(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	badFormat := filepath.Join(dir, "format")
	if err := os.WriteFile(badFormat, []byte("text"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		command, dir string
		want         string
	}{
		"CON-12 missing command": {"mooring-no-such-command", "", "command not found"},
		"CON-12 missing path":    {"/no/such/command", "", "no such file or directory"},
		"not executable":         {text, "", "permission denied"},
		"not a program":          {badFormat, "", "exec format error"},
		"missing directory":      {"true", filepath.Join(dir, "missing"), "no such file or directory"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &Server{Token: testToken, Command: []string{c.command}, Dir: c.dir}
			addr := serve(t, s)
			for range 2 { // the slot is free again
				p := dial(t, addr)
				want := Exit{Code: -1, Reason: ReasonStartFailed, Stderr: "mooring-bridge: " + c.want}
				if got := p.exit(); got != want {
					t.Errorf("got %+v, want %+v", got, want)
				}
				_ = p.Close()
			}
		})
	}
}

func TestExitIsTold(t *testing.T) {
	for mode, want := range map[string]Exit{
		"exit":   {Code: 3, Reason: ReasonExited, Stderr: "out of order\n"},
		"killed": {Code: -1, Signal: "SIGKILL", Reason: ReasonExited},
		"midway": {Reason: ReasonExited}, // the cut line does not swallow the bridge's
	} {
		t.Run(mode, func(t *testing.T) {
			if got := dial(t, serve(t, command(mode))).exit(); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

// CON-14: a line that cannot be parsed is the runtime's to report and to skip; it arrives as it was sent.
func TestGarbagePassesUnchanged(t *testing.T) {
	p := dial(t, serve(t, command("garbage")))
	got := make([]byte, len(garbage))
	if _, err := io.ReadFull(p.r, got); err != nil || !bytes.Equal(got, garbage) {
		t.Fatalf("got %q, %v", got, err)
	}
	p.send(string(garbage))
	if _, err := io.ReadFull(p.r, got); err != nil || !bytes.Equal(got, garbage) {
		t.Fatalf("back came %q, %v", got, err)
	}
}

// DEV-29, CON-14: 24 MiB are a line, one byte more is the end of the connection, in either direction.
func TestLineLimit(t *testing.T) {
	t.Run("from the command, fits", func(t *testing.T) {
		p := dial(t, serve(t, command("long", strconv.Itoa(MaxLine))))
		if n := len(p.line()); n != MaxLine {
			t.Errorf("got %d bytes", n)
		}
	})
	t.Run("from the command, too long", func(t *testing.T) {
		p := dial(t, serve(t, command("long", strconv.Itoa(MaxLine+1))))
		if n := len(p.line()); n > MaxLine {
			t.Errorf("got a line of %d bytes", n)
		}
		if e := p.exit(); e.Reason != ReasonLineTooLong {
			t.Errorf("got %+v", e)
		}
	})
	for name, n := range map[string]int{"from the peer, fits": MaxLine, "from the peer, too long": MaxLine + 1} {
		t.Run(name, func(t *testing.T) {
			p := dial(t, serve(t, command("echo")))
			line := append(bytes.Repeat([]byte("y"), n), '\n')
			var sending sync.WaitGroup
			defer sending.Wait()
			sending.Go(func() { _, _ = p.Write(line) })
			if n > MaxLine {
				if e := p.exit(); e.Reason != ReasonLineTooLong {
					t.Errorf("got %+v", e)
				}
			} else if got := p.line(); got != string(line[:n]) {
				t.Errorf("back came %d other bytes", len(got))
			}
		})
	}
}

// CON-12: standard error is not part of the conversation. It is shown within bounds, and its end is kept.
func TestStderrFlood(t *testing.T) {
	var shown safeBuffer
	s := command("flood")
	s.Stderr = &shown
	p := dial(t, serve(t, s))
	if line := p.line(); line != `"flooded"` {
		t.Fatalf("got %.100q", line)
	}
	e := p.exit()
	if len(e.Stderr) > maxExitStderr || len(e.Stderr) < maxExitStderr-utf8.UTFMax || !utf8.ValidString(e.Stderr) {
		t.Errorf("%d bytes of standard error", len(e.Stderr))
	}
	if !strings.HasSuffix(e.Stderr, "red \nthe end é") || strings.ContainsAny(e.Stderr, "\x1b\x07\x00") {
		t.Errorf("standard error ends with %q", e.Stderr[len(e.Stderr)-50:])
	}
	out := shown.String()
	if strings.ContainsAny(out, "\x1b\x07\x00") || !strings.Contains(out, "lines left out]") {
		t.Errorf("shown: %.200q", out)
	}
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	for _, line := range lines {
		if !strings.HasPrefix(line, stderrPrefix) || len(line) > len(stderrPrefix)+maxStderrLine {
			t.Errorf("shown line %.100q, %d bytes", line, len(line))
		}
	}
	if len(lines) > 10000 {
		t.Errorf("%d of 20000 lines shown", len(lines))
	}
}

// A command that reads nothing is ended; so is one whose peer reads nothing.
func TestStall(t *testing.T) {
	t.Run("command", func(t *testing.T) {
		t.Parallel()
		s := command("noread")
		s.stall = 200 * time.Millisecond
		p := dial(t, serve(t, s))
		pid := p.pid()
		p.send(strings.Repeat("{}\n", 100<<10))
		if e := p.exit(); e.Reason != ReasonStalled || e.Signal != "SIGTERM" {
			t.Errorf("got %+v", e)
		}
		waitGone(t, pid)
	})
	t.Run("peer", func(t *testing.T) {
		t.Parallel()
		s := command("endless")
		s.stall = 200 * time.Millisecond
		pid := dial(t, serve(t, s)).pid()
		waitGone(t, pid)
	})
	t.Run("nobody: silence is none", func(t *testing.T) {
		t.Parallel()
		s := command("echo")
		s.stall = 50 * time.Millisecond
		p := dial(t, serve(t, s))
		for range 3 {
			time.Sleep(3 * s.stall)
			p.send("still here\n")
			if line := p.line(); line != "still here" {
				t.Errorf("got %q", line)
			}
		}
	})
}

// What a command says after its input has ended still arrives at a peer that has only stopped sending.
func TestHalfClose(t *testing.T) {
	p := dial(t, serve(t, command("farewell")))
	p.pid()
	if err := p.Conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if line := p.line(); line != `"goodbye"` {
		t.Errorf("got %q", line)
	}
	if e := p.exit(); e != (Exit{Reason: ReasonExited}) {
		t.Errorf("got %+v", e)
	}
}

func TestServeRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		server *Server
		want   error
	}{
		"no command":    {&Server{Token: testToken}, ErrCommand},
		"empty command": {&Server{Token: testToken, Command: []string{""}}, ErrCommand},
		"no token":      {&Server{Command: []string{"true"}}, ErrToken},
		"short token":   {&Server{Token: testToken[1:], Command: []string{"true"}}, ErrToken},
	} {
		ln := &closedListener{}
		if err := c.server.Serve(t.Context(), ln); !errors.Is(err, c.want) || !ln.closed {
			t.Errorf("%s: got %v, closed %t", name, err, ln.closed)
		}
	}
}
