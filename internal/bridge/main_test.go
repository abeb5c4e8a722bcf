// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// childMode makes the test binary a stdio server; see servers.
const childMode = "MOORING_BRIDGE_TEST_CHILD"

func TestMain(m *testing.M) {
	if mode := os.Getenv(childMode); mode != "" {
		servers[mode]()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
