// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"os"
)

// tests is what Main needs of *testing.M.
type tests interface{ Run() int }

// Main is the body of a TestMain: it starts a control plane, hands it to use, runs the tests, stops the control plane and
// returns the exit code.
func Main(m tests, options Options, use func(*Cluster)) int {
	c, err := Start(context.Background(), options)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	use(c)
	code := m.Run()
	if err := c.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}
