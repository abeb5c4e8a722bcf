// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

// Package transport is a client of MCP in both protocol eras, for servers that are not trusted, over Streamable HTTP,
// HTTP with SSE (2024-11-05), and lines to and from a process behind a bridge.
//
// Dial negotiates the era and returns a Conn: one server, spoken to in one version, within one legacy session at most.
// A Conn never becomes another session or version; who wants that closes it and dials again. Conn has what is common:
// the handshake, ids, clocks, cancellation, answers to the server. A carrier has what differs. Streamable HTTP gives each
// request a response of its own; the others share one channel, on which answers are found by id, progress by its token,
// and a subscription's messages by its id, and what belongs to none goes to whoever listens.
//
// # Era
//
// The modern era is tried first, with one server/discover. Only an answer that a modern server would not give leads to
// the legacy handshake: a 4xx or a JSON-RPC error that is no modern one, or a result that is no discover result. What may
// pass (no connection, timeout, 401, 403, 429, 5xx) fails the attempt instead: it must not silently downgrade. A process
// has nothing between it and us: its silence for 5 s, any error that is no modern one, and even its death mean legacy;
// the last is tried with a second process. HTTP with SSE is legacy.
//
// # Guards
//
// Each Conn has sockets of its own, dialled through the Dialer, which is where policy on addresses lives; no proxy is
// taken from the environment, no redirect is followed, nothing is decompressed, and messages are posted to no other
// origin than the configured one. Messages, events, lines and error bodies are bounded, ids are checked, answers to nobody
// are dropped, and a request body is never sent twice: a request is repeated only when the HTTP client says that it wrote
// nothing of it. Of the server's requests 8 are answered at a time. The reader of a shared channel waits for nobody but,
// for a second and then no more, for a request that does not take its notifications.
//
// # Time
//
// Each phase has a limit: dialling, TLS, response headers, the endpoint's event, writing without progress, the whole
// request. A stream that is open has none. A legacy stream of Streamable HTTP that breaks off is resumed at its last event
// id, after the delay that the server asked for. A shared channel that ends is the end of the Conn, and of all that is
// open, with the reason: for a process an *ExitError.
//
// # Lifetime and locking
//
// A Conn lives from Dial to Close or Abort, which return when its goroutines are gone and its sockets closed. Its fields
// are fixed by Dial. Listener callbacks run on the goroutine of Listen, OnMessage on that of Do, and each holds up its own
// stream alone; OnRequest has goroutines of its own. No lock is held while anything is sent, received or called back.
// Errors are typed and hold no foreign text; the *wire.Error of a JSON-RPC answer is reachable through errors.As.
package transport
