// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net"

	"github.com/mooring-dev/mooring/internal/bridge"
	"github.com/mooring-dev/mooring/internal/egress"
	"github.com/mooring-dev/mooring/internal/mcp"
)

// bridges reaches stdio servers through bridges, wherever the egress policy lets sockets lead.
type bridges struct{ policy *egress.Policy }

func (b bridges) open(ctx context.Context, at mcp.Bridge) (net.Conn, error) {
	conn, err := b.policy.DialContext(ctx, "tcp", at.Address)
	if err != nil {
		return nil, err
	}
	secured, err := bridge.Client(ctx, conn, at.Token)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return secured, nil
}
