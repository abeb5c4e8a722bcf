// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

// Package operator runs the manager binary as a real process beside a cluster, for end-to-end tests and for the demo.
//
// It is installed as a person would: kubectl apply -k config/default, and then it runs outside the cluster with a token of
// its own ServiceAccount, so that a right which is missing in config/rbac is missing here too.
//
// Lifetime: an Operator lives from Start to Stop or Kill; Restart after Kill is a new process with the same ports. A
// process that ends unasked is seen through Done. One goroutine owns each process; fields are set before it starts.
package operator
