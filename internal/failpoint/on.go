// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build failpoints

package failpoint

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

var reached atomic.Int64

// Reach kills the process when name is the armed failpoint and its count is reached.
func Reach(name string) {
	armed, count, counted := strings.Cut(os.Getenv("MOORING_FAILPOINT"), ":")
	if armed != name {
		return
	}
	at := int64(1)
	if n, err := strconv.ParseInt(count, 10, 64); counted && err == nil {
		at = n
	}
	if reached.Add(1) == at {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the signal is on its way
	}
}
