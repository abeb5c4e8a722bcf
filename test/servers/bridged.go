// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package servers

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Bridged is a mooring-bridge, as a process, that runs a stdio server for whoever connects.
type Bridged struct {
	// Address is host:port, Token what a client has to know.
	Address string
	Token   []byte
	cmd     *exec.Cmd
	done    chan struct{}
}

// BridgedOptions say how a bridge is run.
type BridgedOptions struct {
	// Binary is mooring-bridge, built.
	Binary string
	// Dir takes the token's file; it is the caller's to remove.
	Dir string
	// Command is the server's command line, Env (NAME=value) all that it sees of the environment.
	Command, Env []string
	// Log takes what the bridge and the server write to standard error; nil discards it.
	Log *os.File
}

// announceTimeout is how long a bridge may take to say where it listens.
const announceTimeout = 10 * time.Second

// StartBridged starts a bridge. The server itself starts with each connection.
func StartBridged(o BridgedOptions) (*Bridged, error) {
	b := &Bridged{Token: []byte(rand.Text() + rand.Text()), done: make(chan struct{})}
	file := filepath.Join(o.Dir, "token")
	if err := os.WriteFile(file, b.Token, 0o600); err != nil {
		return nil, err
	}
	args := []string{"--token-file", file}
	for _, variable := range o.Env {
		name, _, _ := strings.Cut(variable, "=")
		args = append(args, "--env", name)
	}
	b.cmd = exec.Command(o.Binary, append(append(args, "--"), o.Command...)...) //nolint:noctx // Stop ends it
	b.cmd.Env = append(os.Environ(), o.Env...)
	b.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if o.Log != nil {
		b.cmd.Stderr = o.Log
	}
	out, err := b.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := b.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the bridge: %w", err)
	}
	late := time.AfterFunc(announceTimeout, func() { _ = b.cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	late.Stop()
	go func() { // the bridge says one line only, so that nothing is lost when Wait closes the pipe
		_ = b.cmd.Wait()
		close(b.done)
	}()
	if err != nil {
		b.Stop()
		return nil, errors.New("the bridge does not say where it listens")
	}
	b.Address = strings.TrimSpace(line)
	return b, nil
}

// Servers returns the process ids of the servers that run now.
func (b *Bridged) Servers() ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "stat"))
		if err != nil {
			continue // it ended meanwhile
		}
		// The command's name, in parentheses, may hold anything; behind it come the state and the parent.
		rest := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(rest) > 1 && rest[1] == strconv.Itoa(b.cmd.Process.Pid) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// Stop ends the bridge, and the server with it, and waits for the bridge's end.
func (b *Bridged) Stop() {
	_ = b.cmd.Process.Kill()
	<-b.done
}
