// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

// Package servers starts real, third-party MCP servers on loopback, for end-to-end tests and the demo, and small fixture
// servers that count what reaches them.
//
// Each server lives from its Start function to Stop. Processes get a process group of their own, which Stop kills.
package servers
