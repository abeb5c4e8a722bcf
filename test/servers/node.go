// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package servers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/mooring-dev/mooring/test/cluster"
)

// Package is an npm package with a server, of those that test/e2e installs.
type Package string

// The reference servers. All but Everything speak on their standard streams only.
const (
	Everything         Package = "@modelcontextprotocol/server-everything"
	Filesystem         Package = "@modelcontextprotocol/server-filesystem"
	Memory             Package = "@modelcontextprotocol/server-memory"
	SequentialThinking Package = "@modelcontextprotocol/server-sequential-thinking"
)

// Command is the command line that runs the server. It needs npm ci in test/e2e.
func (p Package) Command(args ...string) ([]string, error) {
	return node(filepath.Join("test", "e2e", "node_modules", filepath.FromSlash(string(p)), "dist", "index.js"), args...)
}

// ModernCommand is the command line of test/servers/modern/server.mjs, a server on the official SDK for TypeScript 2. With
// the argument stdio it speaks on its standard streams. It needs npm ci in test/e2e.
func ModernCommand(args ...string) ([]string, error) {
	if _, err := node(filepath.Join("test", "e2e", "node_modules", "@modelcontextprotocol", "server", "package.json")); err != nil {
		return nil, err
	}
	return node(filepath.Join("test", "servers", "modern", "server.mjs"), args...)
}

// node is the command line that runs a script of the project.
func node(script string, args ...string) ([]string, error) {
	root, err := cluster.Root()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(root, script)
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("npm ci in test/e2e first: %w", err)
	}
	program, err := exec.LookPath("node")
	if err != nil {
		return nil, err
	}
	return append([]string{program, path}, args...), nil
}

// EverythingNode starts @modelcontextprotocol/server-everything over Streamable HTTP (2025-11-25). It needs npm ci in
// test/e2e.
func EverythingNode(ctx context.Context, log *os.File) (*Process, error) {
	command, err := Everything.Command("streamableHttp")
	if err != nil {
		return nil, err
	}
	return startNode(ctx, command, "/mcp", log)
}

// EverythingSSE starts @modelcontextprotocol/server-everything over the HTTP+SSE transport of 2024-11-05. It needs npm ci
// in test/e2e.
func EverythingSSE(ctx context.Context, log *os.File) (*Process, error) {
	command, err := Everything.Command("sse")
	if err != nil {
		return nil, err
	}
	return startNode(ctx, command, "/sse", log)
}

// ModernNode starts test/servers/modern/server.mjs over Streamable HTTP (2026-07-28). It needs npm ci in test/e2e.
func ModernNode(ctx context.Context, log *os.File) (*Process, error) {
	command, err := ModernCommand()
	if err != nil {
		return nil, err
	}
	return startNode(ctx, command, "/mcp", log)
}

// startNode runs a server that listens where the variable PORT says.
func startNode(ctx context.Context, command []string, path string, log *os.File) (*Process, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(command[0], command[1:]...) //nolint:noctx // outlives ctx
	cmd.Env = append(os.Environ(), "PORT="+strconv.Itoa(port))
	return start(ctx, cmd, port, path, log)
}
