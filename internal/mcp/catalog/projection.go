// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

// Projection is the set of tools that one session offers, in a stable order: the servers' order, then each server's
// own (REG-10). It is immutable.
type Projection struct {
	Tools []ProjectedTool
	// Digest identifies the projection: equal digests are equal projections.
	Digest string
	// Bytes sums the wire sizes of the projected tools.
	Bytes int
	index map[string]int
}

// ProjectedTool is one tool under the name that agents call it by.
type ProjectedTool struct {
	// Name is the provider name (CAT-01), unique in the projection, <= 64 characters.
	Name string
	// Server is the server's name within the session.
	Server string
	// Tool is shared with every session that sees the same catalog.
	Tool *Tool
}
