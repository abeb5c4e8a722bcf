// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/mooring-dev/mooring/internal/mcp/catalog"
	"github.com/mooring-dev/mooring/internal/mcp/clean"
	"github.com/mooring-dev/mooring/internal/mcp/transport"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
	"github.com/mooring-dev/mooring/internal/mcp/work"
)

const (
	// openTimeout is how long the first list waits for the stream of changes to open. Many servers only send the head of
	// that response with its first event: then a change between the two is found by listing once more.
	openTimeout = 250 * time.Millisecond

	// maxInstructions is what is kept of a server's instructions (INS).
	maxInstructions = 8192

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
	first      *catalog.Catalog
	work       work.Group

	// lost takes the first reason to give this generation up; poke asks for a list.
	lost chan error    // 1
	poke chan struct{} // 1
	// stale says that the server's list may differ from the last one that was asked for.
	stale    atomic.Bool
	listing  atomic.Bool // the first list was begun
	opened   chan struct{}
	openOnce sync.Once
	checking atomic.Bool

	calls int // guarded by session.mu
}

func newLive(c *connection, conn *transport.Conn, generation int64) *live {
	return &live{
		c: c, conn: conn, generation: generation, began: time.Now(),
		lost: make(chan error, 1), poke: make(chan struct{}, 1), opened: make(chan struct{}),
	}
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
	// A legacy stream is listened to whatever the server declares: its end is the first sign of a loss.
	if info.Era == transport.EraModern && !info.Declares("tools", "listChanged") {
		return
	}
	l.work.Go(func() {
		err := l.conn.Listen(l.c.ctx, transport.Listener{
			Opened: func(gap bool) {
				if gap || l.listing.Load() {
					l.listChanged()
				}
				l.openOnce.Do(func() { close(l.opened) })
			},
			Refused: l.check,
			Message: l.heard,
		})
		l.openOnce.Do(func() { close(l.opened) })
		if err != nil && !errors.Is(err, transport.ErrNoStream) {
			l.lose(err)
		}
	})
	timer := time.NewTimer(openTimeout)
	defer timer.Stop()
	select {
	case <-l.opened:
	case <-timer.C:
	case <-l.c.ctx.Done():
	}
}

// heard takes a notification from any stream of the server.
func (l *live) heard(m *wire.Message) {
	if m.Method == wire.MethodToolsListChanged {
		l.listChanged()
	}
}

// listChanged puts the barrier up at once (CAT-30); the list follows.
func (l *live) listChanged() {
	if !l.stale.Swap(true) {
		l.c.session.update(l.c, func(v *ServerSnapshot) {
			if v.State == StateConnected && v.Generation == l.generation {
				v.Pending = true
			}
		})
	}
	select {
	case l.poke <- struct{}{}:
	default:
	}
}

// check makes a round trip, one at a time, and gives the generation up when the server or its session is gone. Timeouts
// and refusals are no loss (REC-15).
func (l *live) check() {
	if l.checking.Swap(true) {
		return
	}
	taken := l.work.Go(func() {
		defer l.checking.Store(false)
		if err := l.conn.Check(l.c.ctx); gone(err) {
			l.lose(err)
		}
	})
	if !taken {
		l.checking.Store(false) // it is given up already
	}
}

// gone reports whether an error says that a generation is over.
func gone(err error) bool {
	var network *transport.NetworkError
	return errors.As(err, &network) || errors.Is(err, transport.ErrSessionLost) || classify(err).reason == FailureUnauthorized
}

// fetch reads the whole list (CAT-10 to CAT-17).
func (l *live) fetch(ctx context.Context) (*catalog.Catalog, error) {
	l.listing.Store(true)
	l.stale.Store(false)
	info := l.conn.Info()
	builder := catalog.NewBuilder()
	if !info.Declares("tools", "") {
		return catalog.Intern(builder.Catalog()), nil
	}
	for cursor := ""; ; {
		var params wire.Object
		if cursor != "" {
			params = wire.Object{{Name: "cursor", Value: wire.Quote(cursor)}}
		}
		raw, err := l.conn.Request(ctx, wire.MethodToolsList, params)
		if err != nil {
			return nil, err
		}
		if cursor, err = builder.AddPage(raw); err != nil {
			return nil, err
		}
		if cursor == "" {
			return catalog.Intern(builder.Catalog()), nil
		}
	}
}

// cut shortens a text to a number of bytes, between two runes, and owns what it returns.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for !utf8.RuneStart(text[limit]) {
		limit--
	}
	return strings.Clone(text[:limit])
}

// describe reads what a server says of itself, bounded and cleaned.
func describe(info *transport.Info) (about ServerInfo, capabilities []string, instructions string) {
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
	return about, capabilities[:min(len(capabilities), maxCapabilities)], cut(info.Instructions, maxInstructions)
}
