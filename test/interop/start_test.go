// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package interop

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/mooring-dev/mooring/internal/mcp"
	"github.com/mooring-dev/mooring/test/cluster"
	"github.com/mooring-dev/mooring/test/servers"
)

// started is a server that runs, or that its bridge runs for whoever connects.
type started struct {
	server  mcp.Server
	process *servers.Process // of servers that listen
	bridge  *servers.Bridged // of stdio servers
}

// starter starts a server that ends with the test.
type starter func(t *testing.T) started

// over starts a server that listens, with that transport.
func over(transport mcp.Transport, start func(context.Context, *os.File) (*servers.Process, error)) starter {
	return func(t *testing.T) started {
		t.Helper()
		p, err := start(t.Context(), output(t))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Stop)
		return started{server: mcp.Server{Transport: transport, HTTP: mcp.Endpoint{URL: p.URL}}, process: p}
	}
}

// bridged starts a bridge for a command.
func bridged(command func(t *testing.T) (argv, env []string, err error)) starter {
	return func(t *testing.T) started {
		t.Helper()
		argv, env, err := command(t)
		if err != nil {
			t.Fatal(err)
		}
		b, err := servers.StartBridged(servers.BridgedOptions{
			Binary: bridgeBinary(t), Dir: t.TempDir(), Command: argv, Env: env, Log: output(t),
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.Stop)
		return started{
			server: mcp.Server{Transport: mcp.TransportStdio, Stdio: mcp.Bridge{Address: b.Address, Token: b.Token}},
			bridge: b,
		}
	}
}

// of starts a reference server behind a bridge.
func of(p servers.Package, args ...string) starter {
	return bridged(func(*testing.T) (argv, env []string, err error) {
		argv, err = p.Command(args...)
		return argv, nil, err
	})
}

// modernStdio starts the modern server behind a bridge.
func modernStdio(*testing.T) (argv, env []string, err error) {
	argv, err = servers.ModernCommand("stdio")
	return argv, nil, err
}

// bridgeBinary builds mooring-bridge.
func bridgeBinary(t *testing.T) string {
	t.Helper()
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "mooring-bridge")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./cmd/mooring-bridge")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return binary
}
