// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// maxQuestions bounds the server's requests that are being answered at a time.
const maxQuestions = 8

// questions are the requests of a legacy server that are being answered. Modern servers have none, and their clients no
// answers.
type questions struct {
	c    *Conn
	mu   sync.Mutex
	open map[wire.ID]*question
}

// question is one request. It keeps its place until its answerer has returned, also when nobody wants the answer.
type question struct {
	cancel   context.CancelCauseFunc
	unwanted bool
}

// errWithdrawn ends the context of a request that the server cancelled.
var errWithdrawn = errors.New("the server cancelled its request")

type originKey struct{}

// Origin returns the request of ours on whose own stream the server asked what OnRequest is answering under ctx (bridge
// row 12), or nil: on a stream of the server's, and where all messages share one channel, that is not known.
func Origin(ctx context.Context) *Request {
	req, _ := ctx.Value(originKey{}).(*Request)
	return req
}

// ask answers a request, or begins to. It does not wait.
func (q *questions) ask(m *wire.Message, on *Request) {
	switch {
	case !q.c.legacy.Load():
	case m.Method == wire.MethodPing:
		q.answer(&wire.Message{ID: m.ID, Result: json.RawMessage("{}")})
	case q.c.cfg.OnRequest == nil || q.c.cfg.Kind == KindSSE || !q.c.ready.Load():
		q.answer(&wire.Message{ID: m.ID, Error: &wire.Error{Code: wire.CodeMethodNotFound, Message: "method not found"}})
	default:
		q.begin(m, on)
	}
}

func (q *questions) answer(m *wire.Message) { q.c.outbox.offer(m, postTimeout) }

func (q *questions) begin(m *wire.Message, on *Request) {
	ctx, cancel := context.WithCancelCause(context.WithValue(q.c.active, originKey{}, on))
	if refusal := q.admit(m, cancel); refusal != nil {
		cancel(nil)
		q.answer(&wire.Message{ID: m.ID, Error: refusal})
		return
	}
	if !q.c.work.Go(func() { q.run(ctx, m) }) {
		cancel(nil) // the connection is ending
	}
}

// admit gives a request a place, or says why it gets none.
func (q *questions) admit(m *wire.Message, cancel context.CancelCauseFunc) *wire.Error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch _, again := q.open[m.ID]; {
	case again:
		return &wire.Error{Code: wire.CodeInvalidRequest, Message: "a request with this id is open"}
	case len(q.open) >= maxQuestions:
		return &wire.Error{Code: wire.CodeInternal, Message: "too many requests are open"}
	case q.open == nil:
		q.open = make(map[wire.ID]*question, 1)
	}
	q.open[m.ID] = &question{cancel: cancel}
	return nil
}

// run answers one request. A request that was cancelled gets no answer.
func (q *questions) run(ctx context.Context, m *wire.Message) {
	ctx, stop := context.WithTimeoutCause(ctx, askTimeout, &TimeoutError{Phase: "answering the server", Limit: askTimeout})
	defer stop()
	answer := &wire.Message{ID: m.ID}
	answer.Result, answer.Error = q.guarded(ctx, m)
	if answer.Error == nil && answer.Result == nil {
		answer.Error = &wire.Error{Code: wire.CodeInternal, Message: "internal error"}
	}
	q.mu.Lock()
	asked := q.open[m.ID]
	delete(q.open, m.ID)
	q.mu.Unlock()
	asked.cancel(nil)
	if !asked.unwanted {
		q.answer(answer)
	}
}

// cancel takes the server's word that it waits for an answer no more.
func (q *questions) cancel(m *wire.Message) {
	id := cancels(m)
	q.mu.Lock()
	defer q.mu.Unlock()
	for open, asked := range q.open {
		if open.String() == id {
			asked.unwanted = true
			asked.cancel(errWithdrawn)
		}
	}
}

// guarded keeps a panic from ending more than one answer.
func (q *questions) guarded(ctx context.Context, m *wire.Message) (result json.RawMessage, rpc *wire.Error) {
	defer func() {
		if recover() != nil {
			result, rpc = nil, &wire.Error{Code: wire.CodeInternal, Message: "internal error"}
		}
	}()
	return q.c.cfg.OnRequest(ctx, m)
}
