// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clean makes foreign text fit to be shown: in a status, a log, a terminal, or a report to a model.
//
// What cannot be seen is taken out, for people approve what they see and models read the rest: control characters, bidi
// controls, zero-width and other ignorable characters, variation selectors, tags, private use and unassigned code points
// (DEV-07, DEV-26; the categories are those of INS-03). Text, Multiline and Description leave visible text of every
// script as it is, without normalisation, so that a report can be compared with what was sent.
//
// What is said of failures is redacted as well: ConnectionError, ToolError and TaskText normalise, strip, redact and cut,
// in this order (SEC-01 to SEC-06, DEV-24). Redaction goes by how credentials look and may take too much. Secrets is its
// counterpart on the wire: it takes out values that are known, and nothing else (bridge row 4).
//
// All functions are pure and take time linear in what they may read. They are idempotent.
package clean
