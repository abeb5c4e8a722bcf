// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e tests the whole: the manager as a process, on a real API server and controller manager, with real MCP
// servers of others, used by a real MCP client. Build tag e2e.
//
// One control plane and one manager serve all tests, one after the other, for some tests kill the manager. Each test has
// namespaces of its own and leaves them behind for the control plane's end, unless ending them is what it tests.
//
// MOORING_E2E_IDLE lengthens how long an idle manager is watched; 60s by default.
package e2e
