// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mooring-dev/mooring/internal/bridge"
)

// program makes the test binary the program itself.
const program = "MOORING_BRIDGE_TEST_PROGRAM"

const patience = 30 * time.Second

func TestMain(m *testing.M) {
	if os.Getenv(program) != "" {
		main()
	}
	goleak.VerifyTestMain(m)
}

var token = bridge.Token(strings.Repeat("t", 32))

func tokenFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, append([]byte(token), '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// start runs the program and returns it with the address that it prints.
func start(t *testing.T, args ...string) (cmd *exec.Cmd, addr string) {
	t.Helper()
	args = append([]string{"--token-file", tokenFile(t)}, args...)
	cmd = exec.CommandContext(context.WithoutCancel(t.Context()), self(t), args...)
	cmd.Env = append(os.Environ(), program+"=1", "SECRET=leak-me", "GIVEN=yes")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return cmd, strings.TrimSpace(line)
}

type peer struct {
	net.Conn
	t *testing.T
	r *bufio.Reader
}

func dial(t *testing.T, addr string) *peer {
	t.Helper()
	var d net.Dialer
	conn, err := d.DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	conn, err = bridge.Client(t.Context(), conn, token)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	return &peer{conn, t, bufio.NewReader(conn)}
}

func (p *peer) line() string {
	p.t.Helper()
	line, err := p.r.ReadString('\n')
	if err != nil {
		p.t.Fatal(err)
	}
	return strings.TrimSuffix(line, "\n")
}

func (p *peer) pid() int {
	p.t.Helper()
	pid, err := strconv.Atoi(p.line())
	if err != nil {
		p.t.Fatal(err)
	}
	return pid
}

func (p *peer) exit() bridge.Exit {
	p.t.Helper()
	var n struct{ Params json.RawMessage }
	if err := json.Unmarshal([]byte(p.line()), &n); err != nil {
		p.t.Fatal(err)
	}
	e, err := bridge.ParseExit(n.Params)
	if err != nil {
		p.t.Fatal(err)
	}
	return e
}

// state returns the letter of a process's state and its parent, or 0 when there is none.
func state(pid int) (letter byte, parent int) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0
	}
	_, _ = fmt.Sscanf(string(b[bytes.LastIndexByte(b, ')')+2:]), "%c %d", &letter, &parent)
	return letter, parent
}

func waitGone(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if letter, _ := state(pid); letter == 0 || letter == 'Z' {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d is still there", pid)
		}
	}
}

// zombies counts the ended children of a process that nobody has waited for.
func zombies(t *testing.T, of int) int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			if letter, parent := state(pid); letter == 'Z' && parent == of {
				n++
			}
		}
	}
	return n
}

// DEV-45: the command sees the variables that are named, and no other. CON-12: it runs in the directory given.
func TestOptionsReachTheCommand(t *testing.T) {
	dir := t.TempDir()
	_, addr := start(t, "--dir", dir, "--env", "GIVEN", "--env", "MISSING", "--", "/bin/sh", "-c", `exec env`)
	p := dial(t, addr)
	got := map[string]string{}
	for line := p.line(); !strings.HasPrefix(line, "{"); line = p.line() {
		name, value, _ := strings.Cut(line, "=")
		got[name] = value
	}
	if got["GIVEN"] != "yes" || got["PWD"] != dir {
		t.Errorf("got %v", got)
	}
	for name := range got {
		switch name {
		case "GIVEN", "PWD", "SHLVL", "OLDPWD", "_": // the others are the shell's own
		default:
			t.Errorf("the command sees %s", name)
		}
	}
}

// CON-13: whoever kills the bridge kills its command.
func TestKilledBridgeTakesItsCommand(t *testing.T) {
	cmd, addr := start(t, "--", "/bin/sh", "-c", `trap "" TERM HUP; echo $$; while :; do read x; done`)
	pid := dial(t, addr).pid()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	waitGone(t, pid)
}

// CON-13: the bridge's polite end is its command's.
func TestTerminatedBridge(t *testing.T) {
	cmd, addr := start(t, "--", "/bin/sh", "-c", `echo $$; cat >/dev/null; exit 4`)
	p := dial(t, addr)
	pid := p.pid()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if e := p.exit(); e.Code != 4 || e.Reason != bridge.ReasonExited {
		t.Errorf("got %+v", e)
	}
	_ = p.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("the bridge ended with %v", err)
	}
	waitGone(t, pid)
}

// What a command leaves behind is reaped while it runs, and its own end is not taken for that: its exit code arrives.
func TestOrphansAreReaped(t *testing.T) {
	cmd, addr := start(t, "--env", "PATH", "--", "/bin/sh", "-c",
		`for i in 1 2 3 4 5 6 7 8 9 10; do sh -c 'sleep 0.01 &'; done; echo $$; read x; exit 7`)
	for range 3 {
		p := dial(t, addr)
		pid := p.pid()
		for deadline := time.Now().Add(patience); zombies(t, cmd.Process.Pid) > 0; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("zombies stay")
			}
		}
		if letter, _ := state(pid); letter == 0 || letter == 'Z' {
			t.Error("the command has ended")
		}
		if _, err := p.Write([]byte("end\n")); err != nil {
			t.Fatal(err)
		}
		if e := p.exit(); e.Code != 7 {
			t.Errorf("got %+v", e)
		}
		_ = p.Close()
	}
}

// A process that left the command's group does not reach the next connection either.
func TestDaemonIsKilled(t *testing.T) {
	cmd, addr := start(t, "--env", "PATH", "--", "/bin/sh", "-c", `setsid sh -c 'echo $$; exec sleep 1000' & cat >/dev/null`)
	for range 2 {
		p := dial(t, addr)
		pid := p.pid()
		_ = p.Close()
		waitGone(t, pid)
	}
	if letter, _ := state(cmd.Process.Pid); letter == 0 || letter == 'Z' {
		t.Error("the bridge has ended")
	}
}

func TestUsage(t *testing.T) {
	file := tokenFile(t)
	missing := filepath.Join(t.TempDir(), "missing")
	for name, c := range map[string]struct {
		args []string
		want int
	}{
		"help":                  {[]string{"--help"}, 0},
		"nothing":               {nil, exitUsage},
		"no command":            {[]string{"--token-file", file}, exitUsage},
		"no token file":         {[]string{"--", "cat"}, exitUsage},
		"unknown flag":          {[]string{"--token", "x", "--", "cat"}, exitUsage},
		"variable with a value": {[]string{"--token-file", file, "--env", "A=b", "--", "cat"}, exitUsage},
		"copy with a command":   {[]string{"--copy-to", missing, "--", "cat"}, exitUsage},
		"missing token file":    {[]string{"--token-file", missing, "--", "cat"}, exitFailed},
		"copy to nowhere":       {[]string{"--copy-to", filepath.Join(missing, "x")}, exitFailed},
	} {
		var stdout, stderr bytes.Buffer
		if got := run(t.Context(), c.args, &stdout, &stderr); got != c.want || stderr.Len() == 0 || stdout.Len() > 0 {
			t.Errorf("%s: got %d, %q, want %d", name, got, stderr.String(), c.want)
		}
	}
}

func TestBadAddress(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), self(t), "--token-file", tokenFile(t), "--listen", "nowhere", "--", "cat")
	cmd.Env = append(os.Environ(), program+"=1")
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != exitFailed {
		t.Errorf("got %v", err)
	}
}

// The copy is the program, and replaces an older one whole.
func TestCopyTo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bridge")
	if err := os.WriteFile(path, []byte("old"), 0o400); err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	if code := run(t.Context(), []string{"--copy-to", path}, &stderr, &stderr); code != 0 || stderr.Len() > 0 {
		t.Fatalf("%d: %s", code, stderr.String())
	}
	cmd := exec.CommandContext(t.Context(), path)
	cmd.Env = []string{program + "=1"}
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != exitUsage {
		t.Errorf("the copy: %v", err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}
