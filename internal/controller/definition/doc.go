// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

// Package definition says whether a spec can be acted upon. Fields that exist and are not acted upon yet are refused when
// set, and nothing connects: a spec never fails open. Pure functions; docs/reference/not-implemented.md lists the fields.
package definition
