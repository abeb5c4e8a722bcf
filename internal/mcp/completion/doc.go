// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

// Package completion checks what is asked of a server's completion/complete, and reports what it answers.
//
// A request names a prompt or a template that the server offers and an argument that it declares, within bounds; all of
// this is judged before anything is sent (CMP-01 to CMP-06). A report holds bounded and cleaned candidates (CMP-10 to
// CMP-14). Candidates are data: nothing in them is interpreted, and they carry no authority (CMP-15). Agents are sent what
// the server answered (bridge row 1), which does not pass through a report.
//
// Lengths are in UTF-8 bytes; control characters are U+0000 to U+001F and U+007F.
//
// Lifetime: a Limiter lives as long as one connection; all else are pure functions over values and bytes.
//
// Locking: a Limiter is one atomic counter. The deadline, cancellation and the check that the connection is still the
// same (CMP-07, CMP-08) are the caller's.
//
// Ordering: candidates keep the order in which the server sent them, the first of equal ones stays (CMP-13).
package completion
