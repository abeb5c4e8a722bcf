// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/go-logr/logr"

	"github.com/mooring-dev/mooring/test/cluster"
)

var testCluster *cluster.Cluster

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(cluster.Main(leakChecked{m}, cluster.Options{CRDs: true}, func(c *cluster.Cluster) { testCluster = c }))
}

// leakChecked looks for goroutines that the tests left, once they have passed.
type leakChecked struct{ *testing.M }

// Run implements cluster.Main's tests.
func (m leakChecked) Run() int {
	before := goleak.IgnoreCurrent()
	code := m.M.Run()
	if code != 0 {
		return code
	}
	// Clients of the API server share connections, in HTTP/2, that live on. Connections to MCP servers are HTTP/1.1.
	err := goleak.Find(before,
		goleak.IgnoreAnyFunction("net/http.(*http2ClientConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*http2clientConnReadLoop).run"),
		goleak.IgnoreAnyFunction("golang.org/x/net/http2.(*ClientConn).readLoop"),
		goleak.IgnoreAnyFunction("golang.org/x/net/http2.(*clientConnReadLoop).run"),
		// A cache's watch that ends while an event is on its way keeps it: controller-runtime's.
		goleak.IgnoreTopFunction("k8s.io/apimachinery/pkg/watch.(*filteredWatch).loop"),
		// A cache that stops leaves the filter of its watch behind, blocked on an event that nobody takes.
		goleak.IgnoreTopFunction("k8s.io/apimachinery/pkg/watch.(*filteredWatch).loop"),
	)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
