// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controller tests the reconcilers on a real API server. Most tests call Reconcile themselves, on an uncached
// client, and count what it writes; a few run a whole manager, for the watches between the kinds.
//
// Lifetime: one control plane for the package, from TestMain to its end, which also looks for goroutines that were left
// behind. Locking and ordering: each test works in a namespace of its own; no test waits for time but for effects.
package controller
