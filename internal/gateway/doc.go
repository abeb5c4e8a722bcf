// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gateway is the agent's MCP endpoint: /v1/namespaces/{namespace}/sessions/{session}/mcp.
//
// Follow one request: Handler.ServeHTTP routes it, checks Host and Origin, authenticates the bearer token for the
// audience "mooring:{namespace}/{session}", looks the session up, decides whether the caller may use it, and only then
// reads the body. A message is parsed as an envelope (package wire), its era is decided, and the method's handler
// answers through a reply. A tools/call goes to the session's Runtime and its result comes back byte for byte, but for
// the keys that belong to one hop.
//
// Two eras share the endpoint. A request that carries per-request metadata is modern (2026-07-28) and stands for itself;
// everything else is legacy (2025-11-25 and earlier), where initialize negotiates a version. Nothing is kept between
// requests of either era, except the table of calls in flight, by which a legacy notifications/cancelled finds its call.
//
// What the cluster knows comes through ports: Authenticator, Sessions, Authorizer, Owner. What the servers know comes
// through Runtime. The package knows neither Kubernetes nor an MCP server.
//
// Lifetime. A call's context is its request's in the modern era, where a closed stream cancels. In the legacy era it is
// the Handler's: a dropped connection cancels nothing, the call goes on to its own timeout and its result is dropped.
// Handler.Abort ends what is still in flight. The handler goroutine of a request outlives its call, never the reverse,
// so that whoever waits for handlers has waited for calls.
//
// Ordering. Notifications of a call are written in the order in which the Runtime hands them over, before the result,
// and none after it.
//
// Locking. The tables of limits and of calls in flight have a lock each, held for map work only. A reply has a lock of
// its own that orders the writers of one response (the server's notifications, the keep-alive timer, the result); it is
// held across that response's writes, each of which has a deadline, and is never shared between requests.
//
// The package logs nothing. What it answers holds no foreign text but what the upstream server said.
package gateway
