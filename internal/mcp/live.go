// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp/clean"
	"github.com/mooring-dev/mooring/internal/mcp/completion"
	"github.com/mooring-dev/mooring/internal/mcp/content"
	"github.com/mooring-dev/mooring/internal/mcp/instructions"
	"github.com/mooring-dev/mooring/internal/mcp/transport"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
	"github.com/mooring-dev/mooring/internal/mcp/work"
)

const (
	// openTimeout is how long the first list waits for the stream of changes to open. Many servers only send the head of
	// that response with its first event: then a change between the two is found by listing once more.
	openTimeout = 250 * time.Millisecond
	// recheckDelay is the pause between two looks at a server that cannot be reached.
	recheckDelay = 100 * time.Millisecond

	maxCapabilities    = 64
	maxCapabilityBytes = 64
	maxInfoBytes       = 256
)

// live is one generation of a connection: from a handshake to the loss of what it made.
type live struct {
	c          *connection
	conn       *transport.Conn
	generation int64
	began      time.Time
	work       work.Group

	// What the attempt brought, until it is published.
	first        lists
	firstError   *Failure
	brought      lists // what first was, for the refresher
	instructions instructions.Text

	// lost takes the first reason to give this generation up; poke asks for a refresh.
	lost chan error    // 1
	poke chan struct{} // 1
	// stale says which of the server's lists may differ from those that were asked for last.
	stale    atomic.Uint32
	listing  atomic.Bool // the first lists were begun
	told     atomic.Bool // the server tells of changes
	opened   chan struct{}
	openOnce sync.Once
	checking atomic.Bool
	// faults counts transport errors in a row (REC-12).
	faults atomic.Int32
	// completions bounds what runs at a time (CMP-01).
	completions completion.Limiter

	asks        asks // refreshes that somebody waits for
	subscribers asks // and subscriptions
	logging     logging
	links       content.LinkRing // what its results linked to (bridge row 8)
	govern      chan struct{}    // 1; the policy changed
	over        chan struct{}    // closed when nothing more will be refreshed

	// Guarded by session.mu.
	calls  int
	active map[string]bool  // subscriptions that the server confirmed
	denied map[string]error // and those that it did not

	// The refresher's own.
	updates *updates // the stream of a modern server's resource updates
}

func newLive(c *connection, conn *transport.Conn, generation int64) *live {
	return &live{
		c: c, conn: conn, generation: generation, began: time.Now(), active: map[string]bool{},
		lost: make(chan error, 1), poke: make(chan struct{}, 1), opened: make(chan struct{}),
		govern: make(chan struct{}, 1), over: make(chan struct{}),
	}
}

// prepare does what comes between the handshake and serving (CON-10).
func (l *live) prepare(ctx context.Context) error {
	info := l.conn.Info()
	l.instructions = instructions.Normalize(info.Instructions)
	l.negotiateLevel(ctx)
	if l.c.server.Transport == TransportSSE || l.c.server.Transport == TransportStdio {
		l.work.Go(func() {
			if err := l.conn.Wait(l.c.ctx); err != nil {
				l.lose(err)
			}
		})
	}
	l.listen()
	var err error
	if l.first, err = l.fetchFirst(ctx); err != nil {
		return err
	}
	l.brought = lists{fresh: l.first.fresh, asked: l.first.asked, failed: l.first.failed}
	l.syncSubscriptions(ctx, l.first.resources, l.first.templates)
	return nil
}

// lose gives the generation up.
func (l *live) lose(err error) {
	select {
	case l.lost <- err:
	default:
	}
}

// listen keeps the server's own stream open, and gives it a moment to open before the first list.
func (l *live) listen() {
	info := l.conn.Info()
	filter := transport.Filter{
		Tools: info.Declares("tools", "listChanged"), Resources: info.Declares("resources", "listChanged"),
		Prompts: info.Declares("prompts", "listChanged"),
	}
	// A legacy stream is listened to whatever the server declares: its end is the first sign of a loss.
	if info.Era == transport.EraModern && !filter.Tools && !filter.Resources && !filter.Prompts {
		return
	}
	l.work.Go(func() { l.stayTuned(filter) })
	timer := time.NewTimer(openTimeout)
	defer timer.Stop()
	select {
	case <-l.opened:
	case <-timer.C:
	case <-l.c.ctx.Done():
	}
}

// stayTuned listens until the generation ends.
func (l *live) stayTuned(filter transport.Filter) {
	open := func() { l.openOnce.Do(func() { close(l.opened) }) }
	err := l.conn.Listen(l.c.ctx, filter, transport.Listener{
		Opened: func(gap bool, granted transport.Filter) {
			l.told.Store(granted.Tools || granted.Resources || granted.Prompts)
			if gap || l.listing.Load() {
				l.changed(l.declared())
			}
			open()
		},
		Refused: l.check,
		Message: l.heard,
	})
	open()
	if err != nil && !errors.Is(err, transport.ErrNoStream) {
		l.lose(err)
	}
}

// heard takes a notification from any stream of the server. What was not declared is ignored (CON-19).
func (l *live) heard(m *wire.Message) {
	switch m.Method {
	case wire.MethodToolsListChanged:
		l.listChanged("tools", listTools)
	case wire.MethodResourcesListChanged:
		l.listChanged("resources", listResources)
	case wire.MethodPromptsListChanged:
		l.listChanged("prompts", listPrompts)
	case wire.MethodResourceUpdated:
		l.resourceUpdated(m.Params)
	case wire.MethodMessage:
		l.logged(m.Params)
	}
}

func (l *live) listChanged(capability string, which list) {
	if info := l.conn.Info(); info.Declares(capability, "listChanged") {
		l.changed(which)
	}
}

// changed puts the barrier up at once (CAT-30); the lists follow.
func (l *live) changed(which list) {
	if l.mark(which) {
		l.c.session.update(l.c, func(v *ServerSnapshot) {
			if v.State == StateConnected && v.Generation == l.generation {
				v.Pending = true
			}
		})
	}
}

// mark notes which lists to ask for again, and reports whether none was so far.
func (l *live) mark(which list) bool {
	before := l.stale.Or(uint32(which))
	select {
	case l.poke <- struct{}{}:
	default:
	}
	return before == 0 && which != 0
}

// request asks the server for something, and takes note of how the connection did.
func (l *live) request(ctx context.Context, method string, params wire.Object) (json.RawMessage, error) {
	raw, err := l.conn.Request(ctx, method, params)
	l.observe(err)
	return raw, err
}

// observe counts transport errors in a row; anything that came through ends the row (REC-12, DEV-44).
func (l *live) observe(err error) {
	switch {
	case gone(err):
		l.fault(err)
	case err == nil, answered(err):
		l.faults.Store(0)
	}
}

// answered reports whether the server itself answered the request, and not something in front of it.
func answered(err error) bool {
	var status *transport.StatusError
	if errors.As(err, &status) {
		return status.Answered || status.Status < http.StatusInternalServerError
	}
	var rpc *wire.Error
	return errors.As(err, &rpc)
}

// fault gives the generation up at once when the server has forgotten it, and after several faults in a row when it
// cannot be reached; one fault makes us look (REC-10 to REC-12). Timeouts are no faults (REC-15), and that one request was
// not allowed may be about that request.
func (l *live) fault(err error) {
	var network *transport.NetworkError
	switch {
	case errors.Is(err, transport.ErrSessionLost):
		l.lose(err)
	case errors.As(err, &network) && int(l.faults.Add(1)) >= l.c.current().Recovery.FailureThreshold:
		l.lose(err)
	default:
		l.check()
	}
}

// check looks whether the server is there, one at a time, until it answers or the connection is given up.
func (l *live) check() {
	if l.checking.Swap(true) {
		return
	}
	taken := l.work.Go(func() {
		defer l.checking.Store(false)
		for {
			err := l.conn.Check(l.c.ctx)
			if !gone(err) {
				l.faults.Store(0)
				return
			}
			if final(err) || int(l.faults.Add(1)) >= l.c.current().Recovery.FailureThreshold {
				l.lose(err)
				return
			}
			if !pause(l.c.ctx, recheckDelay) {
				return
			}
		}
	})
	if !taken {
		l.checking.Store(false) // it is given up already
	}
}

// gone reports whether an error speaks against the generation.
func gone(err error) bool {
	var network *transport.NetworkError
	return errors.As(err, &network) || final(err)
}

// final reports whether an error says by itself that a generation is over.
func final(err error) bool {
	return errors.Is(err, transport.ErrSessionLost) || (err != nil && classify(err).reason == FailureUnauthorized)
}

// pause waits, and reports false when ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// describe reads what a server says of itself, bounded and cleaned.
func describe(info *transport.Info) (about ServerInfo, capabilities []string) {
	text := func(name string) string {
		s, _ := info.ServerInfo.String(name)
		return clean.Text(s, maxInfoBytes)
	}
	about = ServerInfo{Name: text("name"), Title: text("title"), Version: text("version")}
	for _, capability := range info.Capabilities {
		name := clean.Text(capability.Name, maxCapabilityBytes)
		capabilities = append(capabilities, name)
		object, err := wire.ParseObject(capability.Value)
		if err != nil {
			continue
		}
		for _, flag := range object {
			if string(flag.Value) == "true" {
				capabilities = append(capabilities, clean.Text(name+"."+flag.Name, maxCapabilityBytes))
			}
		}
		if len(capabilities) > maxCapabilities {
			break
		}
	}
	slices.Sort(capabilities)
	capabilities = slices.Compact(capabilities)
	return about, capabilities[:min(len(capabilities), maxCapabilities)]
}
