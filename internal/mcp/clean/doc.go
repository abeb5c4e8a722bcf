// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clean makes foreign text fit to be shown: in a status, a log, a terminal, or a report to a model.
//
// What cannot be seen is taken out, for people approve what they see and models read the rest: control characters, bidi
// controls, zero-width and other ignorable characters, variation selectors, tags, private use and unassigned code points
// (DEV-07, DEV-26; the categories are those of INS-03). Visible text of every script stays as it is, without
// normalisation, so that a report can be compared with what was sent.
//
// All functions are pure, take time linear in their input and allocate no more than their result. They are idempotent.
package clean
