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

const (
	maxWaiting = 256 // messages in one mailbox
	// maxWaitingBytes bounds what waits in all mailboxes of a connection; one message of the largest size fits.
	maxWaitingBytes = 32 << 20
	// stallTime is how long the reader of a channel waits for somebody who does not take his messages.
	stallTime = time.Second
)

// errSlow ends a request whose notifications were not taken.
var errSlow = &ProtocolError{What: "messages came faster than they were taken"}

// mailbox holds messages that were read and not taken yet.
type mailbox struct {
	used   *atomic.Int64 // bytes in all mailboxes of the connection
	filled chan struct{} // 1: there may be something
	freed  chan struct{} // 1: there may be room

	mu    sync.Mutex
	queue []*wire.Message
	lost  bool // something did not fit
	shut  bool // nobody takes any more
	err   error
}

func newMailbox(used *atomic.Int64) *mailbox {
	return &mailbox{used: used, filled: make(chan struct{}, 1), freed: make(chan struct{}, 1)}
}

func size(m *wire.Message) int64 { return int64(len(m.Params) + len(m.Result) + len(m.Method)) }

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// put keeps a notification, unless there is no room.
func (b *mailbox) put(m *wire.Message) bool {
	b.mu.Lock()
	room := len(b.queue) < maxWaiting && !b.shut
	if room && b.used.Add(size(m)) > maxWaitingBytes {
		b.used.Add(-size(m))
		room = false
	}
	if room {
		b.queue = append(b.queue, m)
	}
	b.mu.Unlock()
	signal(b.filled)
	return room
}

// finish keeps the answer, for which there always is room.
func (b *mailbox) finish(m *wire.Message) {
	b.mu.Lock()
	if !b.shut {
		b.used.Add(size(m))
		b.queue = append(b.queue, m)
	}
	b.mu.Unlock()
	signal(b.filled)
}

// fail makes next return err at once.
func (b *mailbox) fail(err error) {
	b.mu.Lock()
	b.err = err
	b.mu.Unlock()
	signal(b.filled)
}

// miss remembers that a message was dropped.
func (b *mailbox) miss() {
	b.mu.Lock()
	b.lost = true
	b.mu.Unlock()
	signal(b.filled)
}

// missed reports whether messages were dropped after those that were taken. It reports that once.
func (b *mailbox) missed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	lost := b.lost && len(b.queue) == 0
	if lost {
		b.lost = false
	}
	return lost
}

// take returns the next message, if there is one.
func (b *mailbox) take() (*wire.Message, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil || len(b.queue) == 0 {
		return nil, b.err
	}
	m := b.queue[0]
	b.queue[0] = nil
	if b.queue = b.queue[1:]; len(b.queue) == 0 {
		b.queue = nil
	}
	b.used.Add(-size(m))
	signal(b.freed)
	return m, nil
}

// putSoon waits a moment for room. It returns true as well when ctx has ended, for then nobody wants the message.
func (b *mailbox) putSoon(ctx context.Context, m *wire.Message) bool {
	if b.put(m) {
		return true
	}
	timer := time.NewTimer(stallTime)
	defer timer.Stop()
	for {
		select {
		case <-b.freed:
			if b.put(m) {
				return true
			}
		case <-ctx.Done():
			return true
		case <-timer.C:
			return b.put(m) // what freed room elsewhere gave no signal here
		}
	}
}

// close gives up what is left and what may still come.
func (b *mailbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shut = true
	for _, m := range b.queue {
		b.used.Add(-size(m))
	}
	b.queue = nil
}
