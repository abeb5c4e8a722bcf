// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var unconfirmedCleanups = prometheus.NewCounter(prometheus.CounterOpts{
	Name: "mooring_session_cleanups_unconfirmed_total",
	Help: "Sessions that ended although a server did not confirm the end of its part.",
})

func init() { metrics.Registry.MustRegister(unconfirmedCleanups) } //nolint:gochecknoinits // how controller-runtime's registry is used
