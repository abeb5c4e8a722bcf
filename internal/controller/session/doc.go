// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

// Package session converges McpSessions: it resolves the layers of servers, hands the runtime what is wanted, and writes
// what the runtime is into status: servers, conditions, and the tools that the agent reads.
//
// Lifetime. The finalizer comes first and alone, before the runtime knows the session; it goes last, when the runtime has
// let go of it or its time was up. What a session left behind whose finalizer somebody took away is released when its
// name is next looked at.
//
// Ordering. A reconcile decides (layers, references), acts (Ensure), observes (Snapshot), stores large catalogs, and then
// reports once. Conditions are pure functions over what was observed. No lock is held here.
package session
