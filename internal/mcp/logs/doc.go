// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

// Package logs keeps what servers log: filtered by level, limited in rate, cleaned, redacted, bounded.
//
// The way of a message: Parse reads its level, Policy.Accepts and Window.Take decide whether it is wanted, and only then
// does Message.Project spend work on it; Ring.Add keeps the newest entries of a session. What is kept is for people: no
// entry reaches a model, a transcript or the outcome of a call (LOG-17).
//
// A Window belongs to one generation of a connection and to its reader; a new connection has a new one. A Ring lives as
// long as its session: entries stay over a disconnect and go with Drop when the server is removed (LOG-16). A Ring has a
// lock of its own, under which nothing is called; its revisions order the entries of all servers. All else is values.
package logs
