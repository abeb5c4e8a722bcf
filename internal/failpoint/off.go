// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !failpoints

package failpoint

// Reach does nothing in this build.
func Reach(string) {}
