// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"strings"
	"testing"
)

// The golden vectors of what is kept of a server's instructions.
func TestINSInstructionsAreCut(t *testing.T) {
	for text, want := range map[string]int{
		strings.Repeat("a", 8192): 8192, strings.Repeat("a", 8193): 8192, strings.Repeat("你", 4000): 8190, "": 0,
	} {
		if got := cut(text, maxInstructions); len(got) != want || !strings.HasPrefix(text, got) {
			t.Errorf("%d bytes are cut to %d, want %d", len(text), len(got), want)
		}
	}
}
