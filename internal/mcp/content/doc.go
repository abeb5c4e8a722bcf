// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

// Package content reads, checks and reports what servers offer beside tools: resources, resource templates and prompts,
// and what reading them returns.
//
// A list is accepted or refused whole (CNT-03 to CNT-07). Its entries keep the bytes that the server sent, for the wire
// (bridge row 1), and hold their fields checked and cleaned, for reports. Reports of resources/read and prompts/get hold
// no base64, no _meta and no hidden characters (CNT-21 to CNT-26, CNT-31, CNT-32, DEV-26); the wire does not pass here.
//
// Characters are Unicode code points, bytes are UTF-8 bytes, and control characters are U+0000 to U+001F and U+007F.
//
// Lifetime: a Catalog and a report own their bytes. Equal catalogs are one value in memory for as long as somebody holds
// it: the process-wide table that shares them holds weak references. A Builder reads one list and is thrown away.
//
// Locking: everything is a pure function over bytes, except that table and a LinkRing. Each has a lock of its own, held
// for one look-up, never while something is parsed. A Builder belongs to one goroutine at a time.
//
// Ordering: entries and parts keep the order in which their server sent them.
package content
