// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const patience = 30 * time.Second

// noPause keeps a test binary that was built with -race from sleeping for a second when it ends.
const noPause = "GORACE=atexit_sleep_ms=0"

var testToken = Token(bytes.Repeat([]byte("t"), minToken))

// command returns a Server of one of the servers.
func command(mode string, args ...string) *Server {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return &Server{Token: testToken, Command: append([]string{self}, args...), Env: []string{childMode + "=" + mode, noPause}}
}

// serve runs s until the test ends and returns its address.
func serve(t *testing.T, s *Server) string {
	t.Helper()
	var config net.ListenConfig
	ln, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("Serve: %v", err)
			}
		case <-time.After(patience):
			t.Error("Serve does not return")
		}
	})
	return ln.Addr().String()
}

// peer is a runtime's end.
type peer struct {
	net.Conn
	t *testing.T
	r *bufio.Reader
}

func dialTCP(t *testing.T, addr string) net.Conn {
	t.Helper()
	var d net.Dialer
	conn, err := d.DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return conn
}

func dial(t *testing.T, addr string) *peer {
	t.Helper()
	conn, err := Client(t.Context(), dialTCP(t, addr), testToken)
	if err != nil {
		t.Fatal(err)
	}
	return &peer{Conn: conn, t: t, r: bufio.NewReader(conn)}
}

func (p *peer) send(s string) {
	p.t.Helper()
	if _, err := p.Write([]byte(s)); err != nil {
		p.t.Fatal(err)
	}
}

// line returns the next line without its newline.
func (p *peer) line() string {
	p.t.Helper()
	s, err := p.r.ReadString('\n')
	if err != nil {
		p.t.Fatalf("after %.100q: %v", s, err)
	}
	return strings.TrimSuffix(s, "\n")
}

func (p *peer) decode(v any) {
	p.t.Helper()
	if line := p.line(); json.Unmarshal([]byte(line), v) != nil {
		p.t.Fatalf("got %.200q", line)
	}
}

func (p *peer) pid() int {
	p.t.Helper()
	var pid int
	p.decode(&pid)
	return pid
}

// exit skips lines until the bridge's own, which must be the last.
func (p *peer) exit() Exit {
	p.t.Helper()
	for {
		var n struct {
			JSONRPC string          `json:"jsonrpc"`
			Method  string          `json:"method"`
			Params  json.RawMessage `json:"params"`
		}
		if json.Unmarshal([]byte(p.line()), &n) != nil || n.Method != ExitMethod {
			continue
		}
		e, err := ParseExit(n.Params)
		if err != nil || n.JSONRPC != "2.0" {
			p.t.Fatalf("%s: %v", n.Params, err)
		}
		if rest, err := p.r.ReadString('\n'); err == nil || rest != "" {
			p.t.Fatalf("after the last line comes %q", rest)
		}
		return e
	}
}

// alive reports whether a process runs; a zombie does not.
func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && syscall.Kill(pid, 0) == nil && !bytes.Contains(b[bytes.LastIndexByte(b, ')'):], []byte(" Z "))
}

func waitGone(t *testing.T, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		eventually(t, "process "+strconv.Itoa(pid)+" is gone", func() bool { return !alive(pid) })
	}
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not so: %s", what)
		}
	}
}
