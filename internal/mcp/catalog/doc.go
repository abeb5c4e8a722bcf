// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

// Package catalog reads, checks and projects tool lists.
//
// A list is accepted or refused whole, except that a single bad tool is left out and named (CAT-10 to CAT-17, bridge row
// 9). An accepted Catalog is immutable, and equal lists are one value in memory, however many sessions see them. A
// Projection joins the catalogs of one session's servers under provider names.
//
// Everything here is a pure function over bytes, except the table of live catalogs by digest, which holds weak
// references under its own lock and does no I/O.
package catalog
