// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

// Package transport is a client of MCP's Streamable HTTP in both protocol eras, for servers that are not trusted.
//
// Dial negotiates the era and returns a Conn: one server, spoken to in one version, within one legacy session at most.
// A Conn never becomes another session or version; who wants that closes it and dials again.
//
// # Era
//
// The modern era is tried first, with one server/discover. Only an answer that a modern server would not give leads to
// the legacy handshake: a 4xx or a JSON-RPC error that is no modern one, or a result that is no discover result. What may
// pass (no connection, timeout, 401, 403, 429, 5xx) fails the attempt instead: it must not silently downgrade.
//
// # Guards
//
// Each Conn has sockets of its own, dialled through the Dialer, which is where policy on addresses lives; no proxy is
// taken from the environment, no redirect is followed, nothing is decompressed. Messages, events and error bodies are
// bounded, ids are checked, answers to nobody are dropped, and a request body is never sent twice: a request is repeated
// only when the HTTP client says that it wrote nothing of it. Requests of the server are answered one at a time.
//
// # Time
//
// Each phase has a limit: dialling, TLS, response headers, the whole request. A stream that is open has none. A legacy
// stream that breaks off is resumed at its last event id, after the delay that the server asked for.
//
// # Lifetime and locking
//
// A Conn lives from Dial to Close or Abort, which return when its goroutines are gone and its sockets closed. Its fields
// are fixed by Dial. Callbacks run on the goroutine that reads the stream in question and hold up that stream alone. No
// lock is held while anything is sent, received or called back. Errors are typed and hold no foreign text; the
// *wire.Error of a JSON-RPC answer is reachable through errors.As.
package transport
