// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

// Package api tests the API on a real API server: each validation rule both ways, each frozen field, what happens to
// garbage, objects of the worst size, and the objects of earlier releases.
//
// Lifetime: one control plane for the package, from TestMain to its end; objects are left where they are.
// Locking and ordering: none, each test works in a namespace of its own.
package api
