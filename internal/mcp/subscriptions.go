// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp/content"
	"github.com/mooring-dev/mooring/internal/mcp/transport"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

const (
	// MaxSubscriptions bounds the wanted subscriptions of a connection (SUB-02).
	MaxSubscriptions = 100
	// updateGrain is how exact SubscriptionSnapshot.Updated is: each update is an event, but not each one a new snapshot.
	updateGrain = 10 * time.Second
)

// wanted is which resources of a server are subscribed to: whatever a connection may have made of it (SUB-01). It is
// guarded by session.mu.
type wanted struct {
	declared []string       // by Desired
	made     map[string]int // through Subscribe, counted
	updated  map[string]time.Time
}

// list shows what is wanted, by URI.
func (w *wanted) list(active map[string]bool) []SubscriptionSnapshot {
	uris := w.uris()
	if len(uris) == 0 {
		return nil
	}
	out := make([]SubscriptionSnapshot, 0, len(uris))
	for _, uri := range uris {
		out = append(out, SubscriptionSnapshot{URI: uri, Active: active[uri], Updated: w.updated[uri]})
	}
	return out
}

func (w *wanted) uris() []string {
	uris := slices.AppendSeq(slices.Clone(w.declared), maps.Keys(w.made))
	slices.Sort(uris)
	return slices.Compact(uris)
}

// add counts one more that wants uri.
func (w *wanted) add(uri string) error {
	if w.made[uri] == 0 && !slices.Contains(w.declared, uri) && len(w.uris()) >= MaxSubscriptions {
		return errTooManySubscriptions
	}
	if w.made == nil {
		w.made = map[string]int{}
	}
	w.made[uri]++
	return nil
}

// remove counts one less. What was forgotten meanwhile stays forgotten.
func (w *wanted) remove(uri string) {
	if n := w.made[uri]; n > 1 {
		w.made[uri] = n - 1
		return
	}
	delete(w.made, uri)
	delete(w.updated, uri)
}

var errTooManySubscriptions = errors.New("too many subscriptions")

func subscriptionsOf(d *Desired, server string) []string {
	var uris []string
	for _, s := range d.Subscriptions {
		if s.Server == server && len(uris) < MaxSubscriptions {
			uris = append(uris, s.URI)
		}
	}
	return uris
}

// want takes over the declared subscriptions. It is called with session.mu held.
func (c *connection) want(declared []string) {
	if slices.Equal(c.wanted.declared, declared) {
		return
	}
	c.wanted.declared = declared
	if c.live != nil {
		c.live.mark(listSubscriptions)
	}
	c.view.Subscriptions = c.wanted.list(c.activeSet())
}

func (c *connection) activeSet() map[string]bool {
	if c.live == nil {
		return nil
	}
	return c.live.active
}

// syncSubscriptions brings the server in step with what is wanted of what it has (SUB-05): what is wanted and listed is
// subscribed to, and what is neither any more is not (DEV-54). nil lists are those of before.
func (l *live) syncSubscriptions(ctx context.Context, resources, templates *content.Catalog) {
	info := l.conn.Info()
	if !info.Declares("resources", "subscribe") {
		return
	}
	s := l.c.session
	s.mu.Lock()
	if resources == nil {
		resources, templates = l.c.view.Resources, l.c.view.Templates
	}
	want := slices.DeleteFunc(l.c.wanted.uris(), func(uri string) bool {
		return content.Readable(resources, templates, &l.links, uri) != nil
	})
	active := maps.Clone(l.active)
	s.mu.Unlock()

	var failed map[string]error
	if info.Era == transport.EraModern {
		active, failed = l.follow(ctx, want)
	} else {
		failed = l.subscribeEach(ctx, want, active)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	again := l.c.view.Trigger != "" && l.c.live != l // events were lost in the gap (bridge row 25)
	for _, uri := range want {
		switch {
		case failed[uri] != nil:
			s.emit(Event{Kind: EventSubscriptionFailed, Server: l.c.server.Name, URI: uri, Failure: newFailure(failed[uri], nil)})
		case again && active[uri] && !l.active[uri]:
			l.c.updated(uri)
		}
	}
	l.active, l.denied = active, failed
	if l.serving() {
		l.c.wanted.show(l.c)
	}
}

// subscribeEach makes active what is wanted, with one request for each difference (legacy).
func (l *live) subscribeEach(ctx context.Context, want []string, active map[string]bool) map[string]error {
	failed := map[string]error{}
	for _, uri := range want {
		if active[uri] {
			continue
		}
		if _, err := l.request(ctx, wire.MethodSubscribe, uriParams(uri)); err != nil {
			failed[uri] = err
			continue
		}
		active[uri] = true
	}
	for _, uri := range slices.Sorted(maps.Keys(active)) {
		if slices.Contains(want, uri) {
			continue
		}
		delete(active, uri)
		_, _ = l.request(ctx, wire.MethodUnsubscribe, uriParams(uri)) // whether it hears us or not, we do not listen
	}
	return failed
}

func uriParams(uri string) wire.Object { return wire.Object{{Name: "uri", Value: wire.Quote(uri)}} }

// updates is the stream on which a modern server tells of updates of a set of resources.
type updates struct {
	uris    []string
	stop    context.CancelFunc
	granted []string
}

// follow listens to updates of want, on a new stream if it is another set than before. The old stream ends when the new
// one is open, so that nothing is missed between them.
func (l *live) follow(ctx context.Context, want []string) (active map[string]bool, failed map[string]error) {
	old := l.updates
	if old != nil && slices.Equal(old.uris, want) {
		return setOf(old.granted), nil
	}
	l.updates = nil
	if old != nil {
		defer old.stop()
	}
	if len(want) == 0 {
		return nil, nil
	}
	streaming, stop := context.WithCancel(l.c.ctx)
	fresh := &updates{uris: want, stop: stop}
	opened := make(chan []string, 1)
	taken := l.work.Go(func() { l.stream(streaming, want, opened) })
	if !taken {
		stop()
		return nil, nil
	}
	select {
	case fresh.granted = <-opened:
	case <-ctx.Done():
	}
	l.updates = fresh
	failed = map[string]error{}
	for _, uri := range want {
		if !slices.Contains(fresh.granted, uri) {
			failed[uri] = errNotGranted
		}
	}
	return setOf(fresh.granted), failed
}

var errNotGranted = errors.New("the server did not confirm the subscription")

func setOf(uris []string) map[string]bool {
	set := make(map[string]bool, len(uris))
	for _, uri := range uris {
		set[uri] = true
	}
	return set
}

// stream holds a stream of updates open. The first word about what was granted goes to opened.
func (l *live) stream(ctx context.Context, uris []string, opened chan<- []string) {
	first := true
	err := l.conn.Listen(ctx, transport.Filter{URIs: uris}, transport.Listener{
		Opened: func(gap bool, granted transport.Filter) {
			if first {
				first = false
				opened <- granted.URIs
			}
			if gap {
				l.missed(granted.URIs)
			}
		},
		Refused: l.check,
		Message: l.heard,
	})
	if first {
		opened <- nil
	}
	if err != nil && !errors.Is(err, transport.ErrNoStream) && ctx.Err() == nil {
		l.lose(err)
	}
}

// missed tells of updates that may have been missed.
func (l *live) missed(uris []string) {
	s := l.c.session
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, uri := range uris {
		if l.serving() {
			l.c.updated(uri)
		}
	}
}

// resourceUpdated takes an update of a resource that is subscribed to on this connection; others mean nothing (SUB-07).
func (l *live) resourceUpdated(params json.RawMessage) {
	object, err := wire.ParseObject(params)
	if err != nil {
		return
	}
	uri, _ := object.String("uri")
	s := l.c.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.serving() && l.active[uri] {
		l.c.updated(uri)
	}
}

// serving reports whether this generation is the one that the session uses (SUB-08). It is called with mu held.
func (l *live) serving() bool {
	s := l.c.session
	return l.c.live == l && s.conns[l.c.server.Name] == l.c && s.ending == nil
}

// show puts what is wanted into the view. It is called with mu held.
func (w *wanted) show(c *connection) {
	c.view.Subscriptions = w.list(c.activeSet())
	c.session.publish(false)
}

// updated tells of one update. It is called with mu held.
func (c *connection) updated(uri string) {
	s := c.session
	next := *s.snapshot
	next.Revisions.Content++
	s.emit(Event{Kind: EventResourceUpdated, Server: c.server.Name, URI: uri, Revision: next.Revisions.Content})
	if c.wanted.updated == nil {
		c.wanted.updated = map[string]time.Time{}
	}
	if now := time.Now(); now.Sub(c.wanted.updated[uri]) >= updateGrain {
		c.wanted.updated[uri] = now
		c.view.Subscriptions = c.wanted.list(c.activeSet())
		s.snapshot = &next // publish goes on from there, and wakes
		s.publish(false)
		return
	}
	s.snapshot = &next // nobody is woken for a number
}
