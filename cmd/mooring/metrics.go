// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/mooring-dev/mooring/internal/mcp"
)

var (
	sessionsDesc = prometheus.NewDesc("mooring_sessions", "Sessions held by this replica.", []string{"state"}, nil)
	connsDesc    = prometheus.NewDesc("mooring_connections", "Connections to MCP servers, by state.", []string{"state"}, nil)
	callsDesc    = prometheus.NewDesc("mooring_calls_in_flight", "Tool calls in flight.", nil, nil)
)

// runtimeMetrics reads the runtime when it is scraped: nothing is counted twice, and no series outlives its session.
type runtimeMetrics struct{ sessions *mcp.Runtime }

func registerMetrics(sessions *mcp.Runtime) { metrics.Registry.MustRegister(runtimeMetrics{sessions}) }

// Describe implements prometheus.Collector.
func (m runtimeMetrics) Describe(ch chan<- *prometheus.Desc) {
	ch <- sessionsDesc
	ch <- connsDesc
	ch <- callsDesc
}

// Collect implements prometheus.Collector.
func (m runtimeMetrics) Collect(ch chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, n int, labels ...string) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(n), labels...)
	}
	stats := m.sessions.Stats()
	gauge(sessionsDesc, stats.Sessions, "Held")
	gauge(sessionsDesc, stats.Releasing, "Releasing")
	for _, state := range []mcp.State{
		mcp.StateIdle, mcp.StateConnecting, mcp.StateConnected, mcp.StateReconnecting,
		mcp.StateAuthorizationRequired, mcp.StateFailed, mcp.StateClosed,
	} {
		gauge(connsDesc, stats.Connections[state], string(state))
	}
	gauge(callsDesc, stats.CallsInFlight)
}
