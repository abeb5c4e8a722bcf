// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"encoding/json"
	"math"
	"strconv"
	"sync/atomic"

	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

var lastToken atomic.Uint64

// progressToken is unique in this process.
func progressToken() string { return "p" + strconv.FormatUint(lastToken.Add(1), 36) }

// heard takes what comes on the call's own stream, in order.
func (c *call) heard(m *wire.Message) {
	switch m.Method {
	case wire.MethodProgress:
		if c.req.Notify != nil && c.progress.accept(m.Params, c.token) {
			c.idle.Reset(c.idleTime)
			c.req.Notify(m)
		}
	case wire.MethodMessage:
		c.l.logged(m.Params)
		if c.req.Notify != nil {
			c.req.Notify(m)
		}
	default:
		c.l.heard(m)
	}
}

// progress lets through what belongs to a token and grows (bridge row 14).
type progress struct {
	any  bool
	last float64
}

func (p *progress) accept(params json.RawMessage, token string) bool {
	object, err := wire.ParseObject(params)
	if err != nil {
		return false
	}
	if got, ok := object.String("progressToken"); !ok || got != token {
		return false
	}
	value, err := strconv.ParseFloat(string(object.Get("progress")), 64)
	if err != nil || math.IsInf(value, 0) || math.IsNaN(value) || (p.any && value <= p.last) {
		return false
	}
	p.any, p.last = true, value
	return true
}
