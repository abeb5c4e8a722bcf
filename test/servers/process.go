// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package servers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/mooring-dev/mooring/test/cluster"
)

// Process is a server that runs as a process.
type Process struct {
	// URL is its MCP endpoint.
	URL  string
	cmd  *exec.Cmd
	port int
	done chan struct{}
}

// EverythingGo starts the everything example of the official Go SDK over Streamable HTTP (2025-11-25), at the given port or,
// with 0, at any. make builds it to bin/everything.
func EverythingGo(ctx context.Context, port int, log *os.File) (*Process, error) {
	root, err := cluster.Root()
	if err != nil {
		return nil, err
	}
	if port == 0 {
		if port, err = freePort(); err != nil {
			return nil, err
		}
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	cmd := exec.Command(filepath.Join(root, "bin", "everything"), "-http", address) //nolint:noctx // outlives ctx
	return start(ctx, cmd, port, "/mcp", log)
}

// ConformanceGo starts the conformance server of the official Go SDK, which keeps no sessions and so speaks 2026-07-28. make
// builds it to bin/everything-server.
func ConformanceGo(ctx context.Context, log *os.File) (*Process, error) {
	root, err := cluster.Root()
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	cmd := exec.Command(filepath.Join(root, "bin", "everything-server"), "-http", address) //nolint:noctx // outlives ctx
	return start(ctx, cmd, port, "/mcp", log)
}

func start(ctx context.Context, cmd *exec.Cmd, port int, path string, log *os.File) (*Process, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if log != nil {
		cmd.Stdout, cmd.Stderr = log, log
	}
	p := &Process{URL: fmt.Sprintf("http://127.0.0.1:%d%s", port, path), cmd: cmd, port: port}
	if err := p.run(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

// run starts the process and waits until it listens.
func (p *Process) run(ctx context.Context) error {
	// Whoever listens there already would be taken for the server.
	var d net.Dialer
	if c, err := d.DialContext(ctx, "tcp", p.address()); err == nil {
		return errors.Join(fmt.Errorf("port %d is in use by another process", p.port), c.Close())
	}
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", filepath.Base(p.cmd.Path), err)
	}
	done := make(chan struct{})
	p.done = done
	go func(cmd *exec.Cmd) {
		_ = cmd.Wait()
		close(done)
	}(p.cmd)
	if err := p.awaitListening(ctx); err != nil {
		p.Stop()
		return err
	}
	return nil
}

// Restart kills the server and starts another one like it at the same port, which knows nothing of the first one's clients.
func (p *Process) Restart(ctx context.Context) error {
	p.Stop()
	old := p.cmd
	p.cmd = exec.Command(old.Path, old.Args[1:]...) //nolint:noctx // outlives ctx
	p.cmd.Env, p.cmd.SysProcAttr, p.cmd.Stdout, p.cmd.Stderr = old.Env, old.SysProcAttr, old.Stdout, old.Stderr
	return p.run(ctx)
}

// Signal sends the server a signal.
func (p *Process) Signal(signal syscall.Signal) error {
	return syscall.Kill(-p.cmd.Process.Pid, signal)
}

func (p *Process) address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.port)) }

func (p *Process) awaitListening(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var d net.Dialer
	for {
		if c, err := d.DialContext(ctx, "tcp", p.address()); err == nil {
			return c.Close()
		}
		select {
		case <-p.done:
			return errors.New("the server ended before it listened")
		case <-ctx.Done():
			return errors.New("the server does not listen in time")
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Stop kills the server and waits for its end.
func (p *Process) Stop() {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	<-p.done
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // nothing to wait for
	if err != nil {
		return 0, err
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().(*net.TCPAddr).Port, nil //nolint:forcetypeassert // a TCP listener's
}
