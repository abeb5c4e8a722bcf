// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

// Package instructions makes what servers say about themselves fit for an agent's model: clean, bounded, and marked as the
// words of a third party.
//
// A server's text is read once per handshake (INS-01) and lives as long as that generation of its connection: Normalize,
// then Budget.Take on connect and Budget.Release on loss. Whoever connects gets what the others leave; what becomes free
// later is not handed out again, for a text that changes under a running agent is worse than a short one (INS-05).
//
// A Text is immutable and holds no more than what is shown. All functions are pure. A Budget has no lock of its own: it
// belongs to a session and is used with the session's lock held.
package instructions
