// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report writes status: the one place that does, for every kind.
//
// A reconcile computes the whole status it wants from what it observed and hands it over once. Nothing is written when
// nothing changed, so that a quiet object costs nothing; every write carries the resource version that it was computed
// from, so that a stale computation is refused and done again. Pure but for that one write; no locks, no state.
package report
