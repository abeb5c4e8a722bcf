// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

const outboxSize = 32

// outbox posts what is no request of ours, one message after the other: answers to the server's requests, and
// cancellations. One goroutine posts, from the first message on.
type outbox struct {
	c       *Conn
	queue   chan posting
	start   sync.Once
	started atomic.Bool
}

// posting is a message, or a mark whose channel is closed when all before it was posted.
type posting struct {
	message *wire.Message
	limit   time.Duration
	mark    chan struct{}
}

func newOutbox(c *Conn) *outbox { return &outbox{c: c, queue: make(chan posting, outboxSize)} }

func (o *outbox) run() {
	o.start.Do(func() {
		o.started.Store(true)
		o.c.work.Go(o.loop)
	})
}

func (o *outbox) loop() {
	for {
		select {
		case <-o.c.alive.Done():
			return
		case p := <-o.queue:
			if p.mark != nil {
				close(p.mark)
				continue
			}
			ctx, cancel := context.WithTimeout(o.c.alive, p.limit)
			_ = o.c.notify(ctx, p.message) // nobody waits for it, and a lost server is noticed elsewhere
			cancel()
		}
	}
}

// put queues an answer. While the queue is full it holds up its caller, which reads the stream that fills it.
func (o *outbox) put(ctx context.Context, m *wire.Message) {
	o.run()
	select {
	case o.queue <- posting{message: m, limit: postTimeout}:
	case <-ctx.Done():
	case <-o.c.alive.Done():
	}
}

// offer queues a message unless the queue is full.
func (o *outbox) offer(m *wire.Message) {
	o.run()
	select {
	case o.queue <- posting{message: m, limit: cancelTimeout}:
	default:
	}
}

// flush waits until what is queued was posted.
func (o *outbox) flush(ctx context.Context) {
	if !o.started.Load() {
		return
	}
	mark := make(chan struct{})
	select {
	case o.queue <- posting{mark: mark}:
	case <-ctx.Done():
		return
	}
	select {
	case <-mark:
	case <-ctx.Done():
	}
}

// notify posts a message that has no answer.
func (c *Conn) notify(ctx context.Context, m *wire.Message) error {
	res, err := c.send(ctx, &outgoing{method: http.MethodPost, body: m.Append(nil)})
	if err != nil {
		return err
	}
	if err := c.triage(res, wire.ID{}); err != nil {
		res.close()
		return err
	}
	c.finish(res)
	return nil
}

// answerRequest answers a request of a legacy server. No capability is declared, so that nothing but ping is supported.
// Modern servers have no requests, and their clients no answers.
func (c *Conn) answerRequest(ctx context.Context, m *wire.Message) {
	if !c.ready.Load() || c.info.Era == EraModern {
		return
	}
	answer := &wire.Message{ID: m.ID}
	if m.Method == wire.MethodPing {
		answer.Result = []byte("{}")
	} else {
		answer.Error = &wire.Error{Code: wire.CodeMethodNotFound, Message: "method not found"}
	}
	c.outbox.put(ctx, answer)
}
