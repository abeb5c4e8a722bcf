// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

// Package catalog reads, checks and projects tool lists.
//
// A list is accepted or refused whole, except that a single bad tool is left out and named (CAT-10 to CAT-17, bridge row
// 9). An accepted Catalog is immutable, and equal lists are one value in memory, however many sessions see them. A
// Projection joins the catalogs of one session's servers under provider names; equal inputs share one, too.
//
// Lifetime: a Catalog and a Projection own their bytes, and live as long as somebody holds them: the process-wide tables
// that share them hold weak references. A Builder reads one list and is thrown away.
//
// Locking: everything is a pure function over bytes, except these two tables. Each has a lock of its own, held for one
// look-up, never while something is parsed or built. A Builder belongs to one goroutine at a time.
//
// Ordering: tools keep the order in which their server listed them, servers the order in which Project is given them
// (REG-10).
package catalog
