// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sse reads server-sent event streams from peers that are not trusted.
//
// A Reader holds at most one event of a stream in memory: a line and an event are bounded by the size it was made with,
// and fields that no caller uses are not kept. It follows the event stream format of the HTML standard, except that
// events without data are not returned; their ids and retry hints count all the same, which is how a server primes a
// stream for resumption.
//
// Lifetime: a Reader lives as long as its stream and does not close it. Events own their bytes. A Reader is used by one
// goroutine and has no locks.
package sse
