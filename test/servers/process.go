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
	// Whoever listens there already would be taken for the server.
	var d net.Dialer
	if c, err := d.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
		return nil, errors.Join(fmt.Errorf("port %d is in use by another process", port), c.Close())
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if log != nil {
		cmd.Stdout, cmd.Stderr = log, log
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", filepath.Base(cmd.Path), err)
	}
	p := &Process{URL: fmt.Sprintf("http://127.0.0.1:%d%s", port, path), cmd: cmd, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		close(p.done)
	}()
	if err := p.awaitListening(ctx, port); err != nil {
		p.Stop()
		return nil, err
	}
	return p, nil
}

func (p *Process) awaitListening(ctx context.Context, port int) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var d net.Dialer
	for {
		if c, err := d.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
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
