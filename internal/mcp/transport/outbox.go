// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// maxOutbox bounds the messages that wait to be posted. Answers to a flood of requests are lost beyond it: whoever reads
// the flood must not wait for its author to read.
const maxOutbox = 4096

// outbox posts what is no request of ours, one message after the other: answers to the server's requests, and
// cancellations. One goroutine posts, from the first message on.
type outbox struct {
	c       *Conn
	start   sync.Once
	started atomic.Bool
	filled  chan struct{} // 1

	mu    sync.Mutex
	queue []posting
}

// posting is a message, or a mark whose channel is closed when all before it was posted.
type posting struct {
	message *wire.Message
	limit   time.Duration
	mark    chan struct{}
}

func newOutbox(c *Conn) *outbox { return &outbox{c: c, filled: make(chan struct{}, 1)} }

func (o *outbox) loop() {
	for {
		p, ok := o.take()
		if !ok {
			select {
			case <-o.c.alive.Done():
				return
			case <-o.filled:
			}
			continue
		}
		if p.mark != nil {
			close(p.mark)
			continue
		}
		ctx, cancel := context.WithTimeout(o.c.alive, p.limit)
		_ = o.c.carrier.post(ctx, p.message) // nobody waits for it, and a lost server is noticed elsewhere
		cancel()
	}
}

func (o *outbox) take() (posting, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.queue) == 0 || o.c.alive.Err() != nil {
		return posting{}, false
	}
	p := o.queue[0]
	o.queue[0] = posting{}
	if o.queue = o.queue[1:]; len(o.queue) == 0 {
		o.queue = nil // what a flood made of it
	}
	return p, true
}

func (o *outbox) put(p posting) bool {
	o.start.Do(func() {
		o.started.Store(true)
		o.c.work.Go(o.loop)
	})
	o.mu.Lock()
	room := len(o.queue) < maxOutbox
	if room {
		o.queue = append(o.queue, p)
	}
	o.mu.Unlock()
	select {
	case o.filled <- struct{}{}:
	default:
	}
	return room
}

// offer queues a message, unless the queue is full; limit bounds its posting.
func (o *outbox) offer(m *wire.Message, limit time.Duration) {
	o.put(posting{message: m, limit: limit})
}

// flush waits until what is queued was posted.
func (o *outbox) flush(ctx context.Context) {
	mark := make(chan struct{})
	if !o.started.Load() || !o.put(posting{mark: mark}) {
		return
	}
	select {
	case <-mark:
	case <-ctx.Done():
	}
}
