// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bench measures the gateway against what else an agent could talk to: the MCP server itself, a tuned
// httputil.ReverseProxy in front of it, and a gateway built of mcp-go's typed server and client. Each runs as a process
// of its own, so that its processor time is its own; all are measured in turns in one run, and what counts are the
// ratios (make bench; docs/decisions/gateway.md).
package bench
