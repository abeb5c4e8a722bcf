// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

// Package artifact keeps what is too large, or too binary, for a report or a message: content-addressed, private to a
// session, bound by a quota, and verified whenever it is read (RES-20 to RES-26, DEV-01).
//
// An object's key is mcp-artifacts/sha256(session)/sha256(content) and an extension that stands for its MIME type; nothing
// that a server, a tool or a person wrote is in it. A Store is a directory of this process's user, or a bucket of an
// S3-compatible store, which replicas share. What is used is what the listing says: the first write of a SessionStore
// reads it, and a replica that takes a session over reads it again. A session has one writer at a time, its owner.
//
// Lifetime: a Store lasts as long as the process. All SessionStores of one session are one value for as long as somebody
// holds it, so that they share its quota; the table that shares them holds weak references.
//
// Locking: a Store and a SessionStore have a lock each, held for look-ups and sums, never across I/O. A write reserves
// its share of the quota before it starts (DEV-33); whoever writes the same content meanwhile waits for it. Scans of a
// session take turns. Every operation ends with its context, or after a minute.
//
// Ordering: List is in the order of ids. What Put has returned, Get of any replica finds.
package artifact
