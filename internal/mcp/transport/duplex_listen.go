// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"

	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

func (d *duplex) listen(ctx context.Context, l *listening) error {
	if d.c.info.Era == EraModern {
		return d.subscribe(ctx, l)
	}
	return d.overhear(ctx, l)
}

// overhear takes what a legacy server says unasked. Nothing has to be opened, and the stream ends with the channel.
func (d *duplex) overhear(ctx context.Context, l *listening) error {
	l.announce(false, l.everything())
	for {
		m, err := d.rest.take()
		switch {
		case err != nil:
			return err
		case m != nil:
			l.to.Message(m)
			continue
		case d.rest.missed():
			l.announce(true, l.everything())
		}
		select {
		case <-d.rest.filled:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// subscribe asks a modern server for a subscription.
func (d *duplex) subscribe(ctx context.Context, l *listening) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s := newSubscription(l, cancel)
	defer s.ack.Stop()
	body, err := d.c.encode(s.req)
	if err != nil {
		return err
	}
	p, err := d.add(ctx, s.req, d.rest)
	if err != nil {
		return err
	}
	defer d.forget(p)
	err = d.talk(ctx, p, body, s.take)
	if ctx.Err() != nil {
		d.c.tellCancelled(s.req)
		return context.Cause(ctx)
	}
	return s.end(err)
}

// take is a subscription's part in a conversation.
func (s *subscription) take(m *wire.Message) (bool, error) {
	if m == nil {
		if s.acknowledged {
			s.l.announce(true, s.granted)
		}
		return false, nil
	}
	s.l.heard = true
	if m.IsNotification() && subscriptionOf(m) == "" && m.Method != wire.MethodCancelled {
		s.l.to.Message(m) // it belongs to nobody
		return false, nil
	}
	switch s.judge(m) {
	case stop:
		return true, nil
	case deliver:
		s.l.to.Message(m)
	case drop:
	}
	return false, nil
}
