// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

// Package interop tests the runtime against MCP servers of others, over every transport and in both protocol eras, without
// a cluster. Build tag e2e; it needs npm ci in test/e2e.
//
// Each test has a runtime with one session on one server. What a server has is used in a fixed order, for what changes its
// lists comes last; then the session is released, and nothing of it may be left, neither socket nor process.
package interop
