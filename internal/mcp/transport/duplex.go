// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"

	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// maxPending bounds the requests that are open on one channel.
const maxPending = 1024

// channel is one stream of messages each way.
type channel interface {
	open(ctx context.Context) error
	// read returns the next message. An error is the end of the channel, and says why. One goroutine reads.
	read() (*wire.Message, error)
	// write sends a message. It returns soon after ctx has ended; what it began to send is sent on.
	write(ctx context.Context, l *letter) error
	// end tells the server that nothing more comes, and waits until gone is closed if the server can confirm that.
	end(ctx context.Context, gone <-chan struct{}) error
	close()
	sockets() int
}

// letter is a message on its way out.
type letter struct {
	body []byte
	id   wire.ID      // of a request
	sent *atomic.Bool // becomes true when a byte may have left; or nil
}

// duplex carries messages over one channel: it knows which answer and which notification belongs to which request. What
// belongs to none goes to whoever listens.
type duplex struct {
	c  *Conn
	ch channel
	// gone is closed when the reader has ended.
	gone chan struct{}
	used atomic.Int64 // bytes in mailboxes
	// rest keeps what belongs to no request.
	rest *mailbox

	mu      sync.Mutex
	pending map[wire.ID]*pending
	tokens  map[string]*pending
}

// pending is a request that is open.
type pending struct {
	ctx context.Context //nolint:containedctx // its request's, for the reader not to wait for what nobody wants
	req *Request
	box *mailbox
	// rest is set for a subscription: it takes what belongs to nobody, too, and its own is found by its id.
	rest *mailbox
}

// next returns the next message, if there is one.
func (p *pending) next() (*wire.Message, error) {
	m, err := p.box.take()
	if m == nil && err == nil && p.rest != nil {
		return p.rest.take()
	}
	return m, err
}

// step hands on what there is, and reports whether there was something.
func (p *pending) step(take heard) (some, done bool, err error) {
	m, err := p.next()
	if err != nil || (m == nil && !p.missed()) {
		return false, false, err
	}
	done, err = take(m)
	return true, done, err
}

func (p *pending) missed() bool {
	return p.box.missed() || (p.rest != nil && p.rest.missed())
}

// also is where a subscription hears of what belongs to nobody.
func (p *pending) also() <-chan struct{} {
	if p.rest == nil {
		return nil
	}
	return p.rest.filled
}

func newDuplex(c *Conn, ch channel) *duplex {
	d := &duplex{c: c, ch: ch, gone: make(chan struct{}), pending: map[wire.ID]*pending{}, tokens: map[string]*pending{}}
	d.rest = newMailbox(&d.used)
	return d
}

func (d *duplex) open(ctx context.Context) error {
	if err := d.ch.open(ctx); err != nil {
		return err
	}
	if !d.c.work.Go(d.readAll) {
		return ErrClosed
	}
	return nil
}

// readAll reads until the channel ends, which ends the connection (REC-10).
func (d *duplex) readAll() {
	defer close(d.gone)
	for {
		m, err := d.ch.read()
		if err != nil {
			d.lose(err)
			return
		}
		switch {
		case m.IsRequest():
			d.c.questions.ask(m, nil)
		case m.IsResponse():
			d.answered(m)
		default:
			d.notified(m)
		}
	}
}

// lose ends everything that is open, with the reason.
func (d *duplex) lose(err error) {
	d.c.stopActive(err)
	d.ch.close()
}

// answered finds the request that a message answers. Answers to nobody, late and second ones are dropped.
func (d *duplex) answered(m *wire.Message) {
	d.mu.Lock()
	p := d.pending[m.ID]
	if p != nil {
		d.remove(p)
	}
	d.mu.Unlock()
	if p != nil {
		p.box.finish(m)
	}
}

func (d *duplex) notified(m *wire.Message) {
	if m.Method == wire.MethodCancelled && d.c.legacy.Load() {
		d.c.questions.cancel(m)
		return
	}
	switch p, known := d.owner(m); {
	case !known: // of a subscription that has ended
	case p == nil:
		if !d.rest.put(m) {
			d.rest.miss()
		}
	case p.rest != nil:
		if !p.box.put(m) {
			p.box.miss()
		}
	case !p.box.putSoon(p.ctx, m):
		d.mu.Lock()
		d.remove(p) // or the next message would be waited for as well
		d.mu.Unlock()
		p.box.fail(errSlow)
	}
}

// owner returns the request that a notification belongs to, nil when it belongs to none, and false when it names a
// subscription that there is not.
func (d *duplex) owner(m *wire.Message) (p *pending, known bool) {
	if m.Method == wire.MethodProgress {
		return d.byToken(m), true
	}
	id := subscriptionOf(m)
	if id == "" && m.Method == wire.MethodCancelled {
		id = cancels(m)
	}
	if id == "" {
		return nil, true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range d.pending {
		if p.rest != nil && p.req.id.String() == id {
			return p, true
		}
	}
	return nil, false
}

func (d *duplex) byToken(m *wire.Message) *pending {
	params, err := wire.ParseObject(orEmpty(m.Params))
	if err != nil {
		return nil
	}
	token, ok := params.String("progressToken")
	if !ok {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.tokens[token]
}

func (d *duplex) add(ctx context.Context, req *Request, rest *mailbox) (*pending, error) {
	p := &pending{ctx: ctx, req: req, box: newMailbox(&d.used), rest: rest}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.pending) >= maxPending {
		return nil, ErrBusy
	}
	d.pending[req.id] = p
	if req.Token != "" {
		d.tokens[req.Token] = p
	}
	return p, nil
}

// remove forgets a request. The caller holds mu.
func (d *duplex) remove(p *pending) {
	delete(d.pending, p.req.id)
	if d.tokens[p.req.Token] == p {
		delete(d.tokens, p.req.Token)
	}
}

// forget forgets a request and what came for it.
func (d *duplex) forget(p *pending) {
	d.mu.Lock()
	d.remove(p)
	d.mu.Unlock()
	p.box.close()
}

func (d *duplex) exchange(ctx context.Context, req *Request, body []byte) (json.RawMessage, error) {
	p, err := d.add(ctx, req, nil)
	if err != nil {
		return nil, err
	}
	defer d.forget(p)
	var result json.RawMessage
	err = d.talk(ctx, p, body, func(m *wire.Message) (bool, error) {
		var err error
		if m.IsResponse() {
			result, err = outcome(m)
			return true, err
		}
		if req.OnMessage != nil {
			req.OnMessage(m)
		}
		return false, nil
	})
	return result, err
}

// heard takes a message, or nil when messages were dropped, and reports whether that was the last.
type heard func(*wire.Message) (done bool, err error)

// sending is a message on its way out.
type sending struct {
	done chan struct{} // closed when err is set
	err  error
}

// talk sends body and hands what comes for p to take, until that is done. The answer may come before the channel says
// that the request was sent.
func (d *duplex) talk(ctx context.Context, p *pending, body []byte, take heard) error {
	life, cancel := context.WithCancelCause(d.c.alive)
	out := &sending{done: make(chan struct{})}
	taken := d.c.work.Go(func() {
		defer cancel(nil)
		defer close(out.done)
		out.err = d.ch.write(life, &letter{body: body, id: p.req.id, sent: &p.req.sent})
	})
	if !taken {
		cancel(nil)
		return ErrClosed
	}
	done, err := d.await(ctx, p, out, take)
	if done {
		p.req.sent.Store(true)
		return err
	}
	cancel(err)
	<-out.done // from now on Sent does not change
	return err
}

// await reports whether take was done. What was read before ctx ended is taken first: the answer may be among it.
func (d *duplex) await(ctx context.Context, p *pending, out *sending, take heard) (bool, error) {
	written := out.done
	for ended := false; ; {
		some, done, err := p.step(take)
		switch {
		case done || err != nil:
			return done, err
		case some:
			continue
		case ended:
			return false, context.Cause(ctx)
		}
		select {
		case <-p.box.filled:
		case <-p.also():
		case <-written:
			if written = nil; out.err != nil {
				return false, out.err
			}
		case <-ctx.Done():
			ended = true
		}
	}
}

func (d *duplex) post(ctx context.Context, m *wire.Message) error {
	return d.ch.write(ctx, &letter{body: m.Append(nil)})
}

func (d *duplex) end(ctx context.Context) error { return d.ch.end(ctx, d.gone) }
func (d *duplex) abort()                        { d.ch.close() }
func (d *duplex) sockets() int                  { return d.ch.sockets() }

var _ carrier = (*duplex)(nil)
