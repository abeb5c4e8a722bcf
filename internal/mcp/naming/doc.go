// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

// Package naming makes the names that agents call tools by, out of names that servers chose (CAT-01 to CAT-03).
//
// Names are made by pure functions: no state, no locks, no I/O. A name is stable over processes and versions, since
// agents, policies and transcripts keep it.
package naming
