// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mcp is the runtime: it holds each session's live connections to its MCP servers.
//
// Follow one tool call: Runtime.Call finds the session and the projected tool, hands the request to the connection that
// the tool belongs to, and returns what the server answered, byte for byte.
//
// Packages, lowest first: wire (JSON-RPC envelope as bytes), sse (event streams), naming (provider names), catalog
// (tool lists and their projection), transport (Streamable HTTP, guarded), and this one (sessions, connections, calls).
// None of them knows Kubernetes.
//
// Lifetime. A session lives from its first Ensure to the end of its Release; a connection from the Ensure that first
// names its fingerprint to the one that no longer does. Contexts of connections come from the Runtime, never from a
// caller of Ensure. Release is bounded by its deadline, whatever the server does.
//
// Ordering. One goroutine owns one connection and is the only one to change its state. Every attempt has a generation;
// what arrives for another generation is dropped. On loss the server's tools leave the projection first, then calls in
// flight fail, then the next attempt waits. A snapshot is built from all connections of a session and replaced whole.
//
// Locking. The registry lock and a session's lock guard maps and pointers only: no lock is held across I/O, a callback
// or a channel send. OnChange is called without locks and carries no data: it says "look again".
//
// The package logs nothing. Errors are typed; their texts hold no foreign bytes, no URL and no secret.
package mcp
