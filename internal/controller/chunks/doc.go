// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chunks stores what a server said about its tools once, for all the sessions that use it.
//
// A catalog is kept per (McpServer, catalog digest) in immutable ConfigMaps of at most 768 KiB, owned by the McpServer
// alone; sessions only name them. Names are made from the digest, so any number of sessions and replicas that store the
// same catalog store it once, and an object that exists already needs no write.
//
// Lifetime. A chunk that no session's status names for a grace time is swept, with preconditions on its UID and resource
// version. A session that starts to name an old chunk touches it first (annotation named-at), which moves the resource
// version: between "nobody names it" and the deletion no session can begin to.
//
// Locking. One lock guards the table of chunks that were verified; nothing is called under it that blocks.
package chunks
