// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

// Package task converges McpTasks: one tool call each, at most once.
//
// A call is written down before it is sent: status.execution, under the resource version that was read, names the process
// and its fence. Only the process that wrote it, and that still holds the same fence in memory, sends the call. Whoever
// else finds a record without an answer says OutcomeUnknown; nobody ever sends again. A terminal state is final.
//
// Lifetime. The Executor holds one goroutine for each running call; it ends with the call, its deadline, or the process.
// An entry is dropped once the task is stored as terminal, or gone. A stale read after that finds a record without an entry,
// and its verdict is refused by the resource version.
//
// Locking. One lock guards the table of entries; no call is made under it. A finished call wakes its task's queue entry.
package task
