// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

// Package failpoint kills the process at named places, in builds for tests only (-tags failpoints). In any other build
// Reach does nothing and is inlined away.
//
// The environment variable MOORING_FAILPOINT names the place, as "name" or "name:n" for the n-th time it is reached. The
// process ends as if killed: no deferred call runs, nothing is flushed, no connection is closed in order.
package failpoint
