// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// processesOf returns the ids of the living processes that were given a path below dir. dir is a fresh temporary
// directory, so nobody else's process can have it. envtest does not tell the ids of what it starts. Without /proc the
// answer is empty, and envtest's own, slower stop does the work.
func processesOf(dir string) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	argument := []byte("=" + dir + string(filepath.Separator)) // as in --data-dir=DIR/etcd
	var found []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		// A process that has ended but has not been waited for has no command line any more.
		cmdline, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline"))
		if err == nil && bytes.Contains(cmdline, argument) {
			found = append(found, pid)
		}
	}
	return found
}

// killProcessesOf kills them and waits until they are gone, until deadline.
func killProcessesOf(dir string, deadline time.Time) error {
	for {
		left := processesOf(dir)
		if len(left) == 0 {
			return nil
		}
		for _, pid := range left {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("kill process %d: %w", pid, err)
			}
		}
		if !time.Now().Before(deadline) {
			return fmt.Errorf("processes %v of the control plane do not end", left)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// guardScript waits for the end of its input, which comes when the process that holds the pipe is gone, however it went.
// Then it does what Stop would have done. $1 is the directory of one control plane.
const guardScript = `
read -r _
for cmdline in /proc/[0-9]*/cmdline; do
	pid=${cmdline#/proc/}
	pid=${pid%/cmdline}
	if [ "$pid" != "$$" ] && tr '\0' '\n' <"$cmdline" 2>/dev/null | grep -qF -- "=$1/"; then
		kill -9 "$pid" 2>/dev/null
	fi
done
rm -rf "$1"
`

// exitGuard is a shell that cleans up after a test binary that was killed, panicked or timed out.
type exitGuard struct {
	cmd  *exec.Cmd
	pipe io.Closer
}

func startExitGuard(dir string) (*exitGuard, error) {
	// It must outlive everything here, and release ends it.
	cmd := exec.Command("/bin/sh", "-c", guardScript, "mooring-cluster-guard", dir) //nolint:noctx // see above
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}                           // a Ctrl-C for us is none for it
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the guard of the control plane: %w", err)
	}
	return &exitGuard{cmd: cmd, pipe: pipe}, nil
}

// release ends the guard before its input does, so that it does nothing.
func (g *exitGuard) release() error {
	if err := g.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("end the guard of the control plane: %w", err)
	}
	_ = g.cmd.Wait() // "signal: killed"
	_ = g.pipe.Close()
	return nil
}
