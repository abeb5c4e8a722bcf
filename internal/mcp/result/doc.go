// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

// Package result makes the two projections of what a tool returned (bridge row 1).
//
// Normalize makes the report: what people, objects, logs and restricted clients may see. It is bounded and clean, and
// holds no base64, no _meta, no annotations and nothing unknown (RES-01 to RES-14). A result that breaks a bound has no
// report; the call it answers has succeeded or failed all the same (bridge row 2). Summarize is the report for an
// object's status, which leaves out what it cannot show instead.
//
// Wire makes what the agent gets: the bytes that the server sent, unless a part cannot be passed on, a text is too long
// to be inlined, or a failure would show a secret (bridge rows 2, 4 and 5). CheckOutput compares structured content with
// the schema that the tool advertised, for a counter: a mismatch changes nothing (bridge row 2).
//
// Large texts and binaries go to a Store, which another package implements. The ids of artifacts are the SHA-256 of
// their bytes, computed here.
//
// Lifetime: results are values, which share no memory with what was parsed. Locking: everything is a pure function over
// bytes and a Store, except a Schema, which checks one result at a time. Ordering: parts and artifacts keep the order in
// which the server sent them; nothing is stored before all bounds are checked.
package result
