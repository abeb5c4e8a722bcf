// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"net"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"
)

// CON-13: the process is gone after the disconnect, and a new connection has a new one.
func TestOneProcessPerConnection(t *testing.T) {
	addr := serve(t, command("pid"))
	seen := map[int]bool{}
	for range 5 {
		p := dial(t, addr)
		pid := p.pid()
		if seen[pid] || !alive(pid) {
			t.Errorf("process %d: seen before %t, alive %t", pid, seen[pid], alive(pid))
		}
		seen[pid] = true
		_ = p.Close()
		waitGone(t, pid)
	}
}

// CON-13: close of standard input, 2 s, SIGTERM, 2 s, SIGKILL, and each of them is enough for who heeds it.
func TestShutdown(t *testing.T) {
	for mode, c := range map[string]struct {
		atLeast, atMost time.Duration
		signal          string
		last            string
	}{
		"farewell": {0, 2 * time.Second, "", `"goodbye"`},
		"deaf":     {2 * time.Second, 4 * time.Second, "", `"terminated"`},
		"stubborn": {4 * time.Second, 8 * time.Second, "SIGKILL", ""},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			p := dial(t, serve(t, command(mode)))
			pid := p.pid()
			began := time.Now()
			if err := p.Conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			if c.last != "" {
				if line := p.line(); line != c.last {
					t.Errorf("got %q, want %q", line, c.last)
				}
			}
			if e := p.exit(); e.Signal != c.signal || e.Reason != ReasonExited {
				t.Errorf("got %+v", e)
			}
			if took := time.Since(began); took < c.atLeast || took > c.atMost {
				t.Errorf("took %v", took)
			}
			if alive(pid) {
				t.Error("the process is still there")
			}
		})
	}
}

// CON-13: who reconnects while the last process is ending waits for that, and then has one of its own.
func TestReconnectWaitsForTheEnd(t *testing.T) {
	t.Parallel()
	addr := serve(t, command("stubborn"))
	p := dial(t, addr)
	first := p.pid()
	_ = p.Close()
	second := dial(t, addr).pid()
	if alive(first) || !alive(second) || first == second {
		t.Errorf("first alive %t, second alive %t", alive(first), alive(second))
	}
}

// A connection is not taken over: the one that is served stays, the other is closed without a word.
func TestSecondConnectionIsRefused(t *testing.T) {
	addr := serve(t, command("pid"))
	p := dial(t, addr)
	pid := p.pid()
	second := dial(t, addr)
	if line, err := second.r.ReadString('\n'); err == nil || line != "" {
		t.Errorf("the second connection read %q", line)
	}
	p.send("still mine\n")
	if line := p.line(); line != "still mine" || !alive(pid) {
		t.Errorf("got %q", line)
	}
}

// CON-13: what the command started goes with it.
func TestGrandchildIsKilled(t *testing.T) {
	s := command("parent")
	s.Env = append(s.Env, "PATH="+os.Getenv("PATH"))
	p := dial(t, serve(t, s))
	var pids []int
	p.decode(&pids)
	if len(pids) != 2 || !alive(pids[1]) {
		t.Fatalf("got %v", pids)
	}
	_ = p.Close()
	waitGone(t, pids...)
}

// The bridge's end is its command's.
func TestServeEndsWithContext(t *testing.T) {
	var pid int
	t.Run("serve", func(t *testing.T) { // its cleanup ends the bridge, and waits for it
		pid = dial(t, serve(t, command("pid"))).pid()
	})
	if alive(pid) {
		t.Error("the process is still there")
	}
}

// CON-13: a thousand connections leave no process, no goroutine and no descriptor.
func TestNothingIsLeft(t *testing.T) {
	cycles := 1000
	if testing.Short() {
		cycles = 100
	}
	addr := serve(t, &Server{Token: testToken, Command: []string{"cat"}})
	cycle := func(i int) {
		conn, err := net.Dial("tcp", addr) //nolint:noctx // on the same host
		if err != nil {
			t.Fatal(err)
		}
		conn, err = Client(t.Context(), conn, testToken)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		_ = conn.SetDeadline(time.Now().Add(patience))
		b := make([]byte, 3)
		if _, err := conn.Write([]byte("hi\n")); err != nil {
			t.Fatalf("cycle %d: %v", i, err)
		}
		if n, err := conn.Read(b); err != nil || string(b[:n]) != "hi\n" {
			t.Fatalf("cycle %d: %q, %v", i, b[:n], err)
		}
	}
	cycle(0)
	idle := func() (goroutines, descriptors, processes int) {
		fds, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return runtime.NumGoroutine(), len(fds), len(children())
	}
	settled := func() bool { _, _, n := idle(); return n == 0 }
	eventually(t, "no process", settled)
	time.Sleep(100 * time.Millisecond) // for the connection's end
	goroutines, descriptors, _ := idle()
	for i := range cycles {
		cycle(i + 1)
	}
	eventually(t, "as before", func() bool {
		g, d, p := idle()
		return g <= goroutines && d <= descriptors && p == 0
	})
}

// closedListener notes that it was closed.
type closedListener struct {
	net.Listener
	closed bool
}

func (l *closedListener) Close() error { l.closed = true; return nil }

// safeBuffer is a buffer for two.
type safeBuffer struct {
	mu sync.Mutex
	b  []byte
}

func (s *safeBuffer) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.b = append(s.b, b...)
	return len(b), nil
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.b)
}
