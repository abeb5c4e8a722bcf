// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/mooring-dev/mooring/internal/mcp/clean"
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
	value, ok := finite(object.Get("progress"))
	if !ok || (p.any && value <= p.last) {
		return false
	}
	p.any, p.last = true, value
	return true
}

const (
	// maxReported bounds the updates of one call that are reported (CALL-11).
	maxReported = 128
	// maxProgressRunes bounds the message of an update (CALL-12).
	maxProgressRunes = 1000
)

// Progress is one update of a call as people and objects see it.
type Progress struct {
	Current float64
	// Total is zero when the server does not know.
	Total float64
	// Percent is 0 to 100, or -1 when there is no total.
	Percent int
	// Message is clean and at most 1,000 characters; never empty.
	Message string
}

// ProgressReport chooses the updates of one call that are reported; the wire passes on more (bridge row 14). It is not
// safe for concurrent use.
type ProgressReport struct {
	accepted int
	last     float64
}

// Accept reads the params of notifications/progress. It is false for an update that is malformed, goes back, or comes
// after maxReported others (CALL-11).
func (r *ProgressReport) Accept(params json.RawMessage) (Progress, bool) {
	object, err := wire.ParseObject(params)
	if err != nil || r.accepted >= maxReported {
		return Progress{}, false
	}
	p := Progress{Percent: -1}
	var ok bool
	if p.Current, ok = finite(object.Get("progress")); !ok || p.Current < 0 || p.Current < r.last {
		return Progress{}, false
	}
	if total := object.Get("total"); total != nil && string(total) != "null" {
		if p.Total, ok = finite(total); !ok || p.Total <= 0 {
			return Progress{}, false
		}
		p.Percent = int(math.Round(min(p.Current/p.Total, 1) * 100))
	}
	r.accepted, r.last = r.accepted+1, p.Current
	message, _ := object.String("message")
	p.Message = p.describe(message)
	return p, true
}

// describe cleans a message (CALL-12, DEV-56), or makes one.
func (p *Progress) describe(message string) string {
	message = strings.TrimSpace(clean.Text(message, 4*maxProgressRunes))
	if runes := []rune(message); len(runes) > maxProgressRunes {
		message = string(runes[:maxProgressRunes])
	}
	switch {
	case message != "":
		return message
	case p.Percent >= 0:
		return fmt.Sprintf("%d%%", p.Percent)
	}
	return "progress " + strconv.FormatFloat(p.Current, 'g', -1, 64)
}

func finite(raw json.RawMessage) (float64, bool) {
	value, err := strconv.ParseFloat(string(raw), 64)
	return value, err == nil && !math.IsInf(value, 0) && !math.IsNaN(value)
}
