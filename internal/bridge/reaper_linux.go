// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// reaper waits for processes that nobody waits for: what a command started and left behind becomes the child of PID 1
// or of the nearest subreaper, and stays in the process table until that one has waited for it. The command itself is
// exec.Cmd's to wait for, and the reaper leaves it alone.
//
// A nil reaper only starts.
type reaper struct {
	mu   sync.Mutex
	own  int // process id of the command, or 0
	quit chan struct{}
	done chan struct{}
}

// newReaper makes this process the parent of its descendants' orphans.
func newReaper() (*reaper, error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, os.NewSyscallError("prctl", err)
	}
	r := &reaper{quit: make(chan struct{}), done: make(chan struct{})}
	go r.run()
	return r, nil
}

func (r *reaper) run() {
	defer close(r.done)
	died := make(chan os.Signal, 1)
	signal.Notify(died, syscall.SIGCHLD)
	defer signal.Stop(died)
	for {
		select {
		case <-died:
			r.reap()
		case <-r.quit:
			return
		}
	}
}

func (r *reaper) stop() {
	if r != nil {
		close(r.quit)
		<-r.done
	}
}

// start starts cmd. The lock keeps the reaper from taking a command that ends before its id is noted.
func (r *reaper) start(cmd *exec.Cmd) error {
	if r == nil {
		return cmd.Start()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	err := cmd.Start()
	if err == nil {
		r.own = cmd.Process.Pid
	}
	return err
}

// ended says that the command was waited for.
func (r *reaper) ended() {
	if r == nil {
		return
	}
	r.mu.Lock()
	r.own = 0
	r.mu.Unlock()
	r.reap() // what the command's remains were in front of
}

// reap takes the orphans that have ended.
func (r *reaper) reap() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		pid := endedChild()
		if pid == 0 || pid == r.own {
			return
		}
		_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
	}
}

// endedChild returns the id of a child that has ended and was not waited for, or 0. It does not wait for it either.
func endedChild() int {
	var info struct { // siginfo_t as waitid fills it in; its union is aligned like a pointer
		signo, errno, code int32
		_                  [unsafe.Sizeof(uintptr(0)) - 4]byte
		pid                int32
		_                  [128]byte // at least what is left
	}
	to := (*unix.Siginfo)(unsafe.Pointer(&info)) //nolint:gosec // x/sys does not show the field
	if unix.Waitid(unix.P_ALL, 0, to, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil) != nil {
		return 0
	}
	return int(info.pid)
}

// sweepTime bounds killOrphans.
const sweepTime = time.Second

// killOrphans ends what the command started and put into another group, where its own group's end did not reach it. A
// killed orphan's children become orphans, so it looks until there are none.
func (r *reaper) killOrphans() {
	if r == nil {
		return
	}
	for deadline := time.Now().Add(sweepTime); time.Now().Before(deadline); {
		r.reap()
		if !r.killChildren() {
			return
		}
		timer := time.NewTimer(time.Millisecond)
		<-timer.C
	}
}

// killChildren reports whether there were any. Under the lock nothing is reaped, so no id becomes another's.
func (r *reaper) killChildren() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	pids := children()
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	return len(pids) > 0
}

// children returns the ids of this process's children.
func children() []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	self := os.Getpid()
	var out []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if parent, err := parentOf(pid); err == nil && parent == self {
			out = append(out, pid)
		}
	}
	return out
}

var errStat = errors.New("malformed stat")

// parentOf reads the fourth field of /proc/pid/stat. The second is a name in parentheses that may hold anything.
func parentOf(pid int) (int, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, err
	}
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 2 {
		return 0, errStat
	}
	return strconv.Atoi(string(fields[1]))
}
