// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster runs a real Kubernetes control plane on loopback for tests and for the demo: etcd, kube-apiserver and,
// where asked for, kube-controller-manager with its garbage collector, namespace and service-account controllers. There
// is no node: a Pod or a Deployment is accepted and stays as it is.
//
// # Lifetime
//
// Start returns a control plane that serves, or an error and nothing left running. The context given to Start bounds the
// start and nothing else: the processes live until Stop. Stop is idempotent, returns within StopTimeout, and leaves no
// process and no file behind; it kills instead of asking, because a polite kube-apiserver waits half a minute for open
// watches and nothing here is worth keeping. It also ends every process whose arguments name a file of the control plane,
// as in --kubeconfig=FILE: a manager that a test started and forgot. A program that dies without Stop takes its control
// plane with it: a small shell waits at the end of a pipe for just that.
//
// Usual form, one control plane per test package:
//
//	var testCluster *cluster.Cluster
//
//	func TestMain(m *testing.M) {
//		os.Exit(cluster.Main(m, cluster.Options{CRDs: true}, func(c *cluster.Cluster) { testCluster = c }))
//	}
//
// Several packages may do so at once: ports are reserved through files that all processes of the machine see, and every
// control plane has a directory of its own.
//
// # Locking
//
// A Cluster may be used by many goroutines. The fields that Start fills in never change afterwards; AddUser and Stop hold
// one lock, never across a request to the API server.
//
// # Ordering
//
// CRDs are installed before kube-controller-manager starts, because its garbage collector looks for new kinds only every
// 30 seconds: an owner of a kind that a test installs later is not collected before that. Start returns once the
// service-account controller has made its first account, so namespaces made afterwards get theirs, and the garbage
// collector may still be filling its caches: wait for effects, not for time.
//
// # Differences from a real cluster
//
// The ServiceAccount admission plugin is off (pods get no token mounted). RBAC is on. TokenRequest and TokenReview work
// with any audience; a token for another audience is no credential for the API server itself, as it should be.
package cluster
