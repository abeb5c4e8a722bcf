// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"net"

	"github.com/mooring-dev/mooring/internal/mcp/transport"
)

// dialConfig says how the transport reaches the server.
func (c *connection) dialConfig() transport.Config {
	opts := &c.session.rt.opts
	cfg := transport.Config{
		URL: c.server.HTTP.URL, Header: c.server.HTTP.Header, RootCAs: c.server.HTTP.RootCAs,
		ClientName: opts.ClientName, ClientVersion: opts.ClientVersion,
	}
	if opts.Egress != nil {
		cfg.Dialer = opts.Egress
	}
	if opts.Ask != nil {
		cfg.ClientCapabilities, cfg.OnRequest = opts.Capabilities, c.answer
	}
	era := c.server.HTTP.Era
	switch c.server.Transport {
	case TransportSSE:
		cfg.Kind = transport.KindSSE
	case TransportStdio:
		cfg.Kind, era = transport.KindStdio, c.server.Stdio.Era
		cfg.Stdio = c.openStdio
	case TransportHTTP:
	}
	if era == EraLegacy {
		cfg.Era = transport.EraLegacy
	}
	return cfg
}

// openStdio asks the bridge for a process.
func (c *connection) openStdio(ctx context.Context) (net.Conn, error) {
	open := c.session.rt.opts.Stdio
	if open == nil {
		return nil, &transport.ConfigError{What: "no bridge to a process may be used"}
	}
	return open(ctx, c.server.Stdio)
}
