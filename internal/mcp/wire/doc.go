// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

// Package wire holds MCP's JSON-RPC envelope as bytes: what a peer said stays what it said.
//
// A message is parsed only as far as its envelope; params, results, errors' data and ids keep the bytes they came
// in, so that numbers beyond 2^53, unknown fields and their order survive a relay (bridge rows 1 and 3). Parsing is
// strict: exact member names, no duplicate member at any depth, valid UTF-8, one value and nothing after it. A
// lenient reader in front of a strict one (or the other way round) is how filters are passed by.
//
// Lifetime: a Message and an Object own their bytes; nothing aliases the buffer that was parsed. Values are immutable
// after construction and safe to share between goroutines. The package holds no locks and does no I/O. Bounds on the
// size of what is parsed are the reader's to set, before it calls Parse: MaxMessageBytes is the largest anybody may.
package wire
