// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

// Package definition says whether a spec can be acted upon. Fields that exist and are not acted upon yet are refused when
// set, and nothing connects: a spec never fails open. docs/reference/not-implemented.md lists the fields.
//
// Pure functions of the spec: there is no state, no lock and no I/O, nothing is kept or changed, and the same spec gets
// the same answer, to the letter.
package definition
