// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

// Package work counts the goroutines of something that ends, so that its end can wait for them.
//
// It is a sync.WaitGroup that may be added to from any goroutine at any time: what comes once the end has begun is
// refused, where a WaitGroup that is at zero and waited for must not be added to. One lock guards the counting; f runs
// without it.
package work
