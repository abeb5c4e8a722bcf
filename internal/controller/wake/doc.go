// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

// Package wake turns "look again" from live things outside the cluster into entries of a controller's queue.
//
// An event carries no data: the reconciler reads the thing itself. Notify never blocks and may be called from any
// goroutine, with or without a running controller; before the controller starts it is dropped, since the first list
// reconciles everything. A thing that changes all the time costs at most a burst and then one entry a second.
//
// One lock guards two maps and the queue's pointer; nothing is called under it that blocks.
package wake
