// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// grace is how long a command may take to end after its standard input was closed, and again after SIGTERM (CON-13).
const grace = 2 * time.Second

// process is a running command and our ends of its streams.
type process struct {
	stdin, stdout, stderr *os.File
	cmd                   *exec.Cmd
	ended                 chan struct{} // closed when the command was reaped

	mu     sync.Mutex
	reaped bool // or about to be: its id may become another's
}

// start runs the command without a shell, in a process group of its own (CON-12, CON-13, DEV-45).
func (s *Server) start(r *reaper) (*process, error) {
	path := s.Command[0]
	if !strings.Contains(path, "/") { // otherwise it counts from Dir
		var err error
		if path, err = exec.LookPath(path); err != nil {
			return nil, err
		}
	}
	p := &process{ended: make(chan struct{})}
	p.cmd = &exec.Cmd{
		Path: path,
		Args: s.Command,
		Dir:  s.Dir,
		Env:  append([]string{}, s.Env...), // never nil, which would be the bridge's own environment
		// Without the bridge nobody would end the command.
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	}
	theirs, err := p.pipes()
	if err == nil {
		started := make(chan error)
		go p.run(r, started)
		err = <-started
	}
	for _, f := range theirs {
		_ = f.Close()
	}
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// pipes makes the command's streams and returns its ends of them.
func (p *process) pipes() (theirs []*os.File, err error) {
	inRead, inWrite, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.cmd.Stdin, p.stdin = inRead, inWrite
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		return []*os.File{inRead}, err
	}
	p.cmd.Stdout, p.stdout = outWrite, outRead
	errRead, errWrite, err := os.Pipe()
	if err != nil {
		return []*os.File{inRead, outWrite}, err
	}
	p.cmd.Stderr, p.stderr = errWrite, errRead
	return []*os.File{inRead, outWrite, errWrite}, nil
}

// run starts the command and waits for its end. The kernel sends the parent-death signal when the thread ends that
// started the command, so that thread stays with it.
func (p *process) run(r *reaper, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := r.start(p.cmd)
	started <- err
	if err != nil {
		return
	}
	p.await()
	// The command has ended but still holds its id, so the group is still its own. What it left there goes with it.
	p.mu.Lock()
	p.reaped = true
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	p.mu.Unlock()
	_ = p.cmd.Wait() // its state tells
	r.ended()
	close(p.ended)
}

// await blocks until the command has ended, and does not reap it.
func (p *process) await() {
	for {
		err := unix.Waitid(unix.P_PID, p.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// stop ends the command with its group, politely first (CON-13). On return it is gone and reaped.
func (p *process) stop() {
	_ = p.stdin.Close()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if p.endsWithin(grace) {
			return
		}
		p.signal(sig)
	}
	// Nothing refuses SIGKILL; the kernel may delay it, and until then no other command may run.
	<-p.ended
}

func (p *process) endsWithin(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.ended:
		return true
	case <-timer.C:
		return false
	}
}

// signal signals the group, unless its id may be another's by now.
func (p *process) signal(sig syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		_ = syscall.Kill(-p.cmd.Process.Pid, sig)
	}
}

// close closes our ends of the streams.
func (p *process) close() {
	for _, f := range []*os.File{p.stdin, p.stdout, p.stderr} {
		if f != nil {
			_ = f.Close() // stdin may be closed already
		}
	}
}

// exit tells how the command ended, after it did.
func (p *process) exit() Exit {
	e := Exit{Code: p.cmd.ProcessState.ExitCode(), Reason: ReasonExited}
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		if e.Signal = unix.SignalName(status.Signal()); e.Signal == "" {
			e.Signal = "SIGRT" // the kernel's real-time signals have numbers only
		}
	}
	return e
}

// startExit tells why the command was not started.
func startExit(err error) Exit {
	e := Exit{Code: -1, Reason: ReasonStartFailed, Stderr: "cannot be started"}
	var errno syscall.Errno
	switch {
	case errors.As(err, &errno):
		e.Stderr = errno.Error()
		switch errno {
		case unix.EAGAIN, unix.ENOMEM, unix.EMFILE, unix.ENFILE, unix.ETXTBSY, unix.EINTR, unix.EIO:
			e.Reason = ReasonExited // may go better next time
		}
	case errors.Is(err, exec.ErrNotFound):
		e.Stderr = "command not found"
	case errors.Is(err, os.ErrPermission):
		e.Stderr = "permission denied"
	}
	e.Stderr = "mooring-bridge: " + e.Stderr
	return e
}
