// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"os"
	"testing"

	"github.com/mooring-dev/mooring/test/cluster"
)

var testCluster *cluster.Cluster

func TestMain(m *testing.M) {
	os.Exit(cluster.Main(m, cluster.Options{CRDs: true}, func(c *cluster.Cluster) { testCluster = c }))
}
