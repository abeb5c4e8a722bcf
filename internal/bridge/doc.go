// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bridge carries one stdio MCP server over TCP (design.md §9).
//
// A Server listens beside a command. It accepts one authenticated connection at a time, starts the command for it, pipes
// newline-delimited JSON both ways and, when the connection ends, ends the command with all that it started: one
// connection is one fresh process. Client is the other end. The bridge counts the bytes of a line and looks at nothing
// else: what a line means, and whether it is JSON at all, is for the runtime to judge (CON-14).
//
// Trust: both ends know one token, 32 random bytes or more. From it each derives two Ed25519 keys, its own and its
// peer's; they speak TLS 1.3 and accept exactly the peer's key. So no certificate has to be issued or renewed, a wrong
// token starts no process, and what was recorded stays unreadable when the token becomes known.
//
// Lifetime: Serve owns its listener, its connections and its processes, and returns when all of them are gone. Every
// wait has a deadline but two: an idle connection may stay idle, for TCP itself notices a dead peer within deadPeer;
// and after SIGKILL the kernel alone decides when a process ends, and nothing is started until it did.
//
// Order of an ending: standard input is closed, then SIGTERM, then SIGKILL to the group (CON-13); what the command wrote
// until then is passed on; then comes one line of the bridge's own, the notification that ParseExit reads; then the end
// of the stream. A JSON object's text is never the beginning of another's, so a line that was cut cannot pass for a
// whole message, and bytes may flow before their line is complete: the bridge needs no more memory than its buffers.
//
// Locks guard single fields and are held across no I/O; the reaper's is held while a process is started, for a process
// whose id is not yet known must not be reaped by it.
//
// Server exists on Linux only; everything else is portable.
package bridge
