// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controller converges the three kinds. Each has a package of its own: server, session and task; beside them
// definition (what can be acted upon), chunks (stored catalogs), report (the one status writer) and wake (events from
// outside the cluster). This package wires them to a manager.
//
// Reconcilers read, decide, act and report, and return within a second: they never dial, wait or sleep. What is live is
// the runtime's; a reconciler hands it an immutable wish and reads an immutable snapshot. There is one controller for
// each kind and one writer for each status; the queue's exclusion of a key is the only lock over an object.
package controller
