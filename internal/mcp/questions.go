// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/mooring-dev/mooring/internal/mcp/transport"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// Question is what a server asks of its client: elicitation/create, sampling/createMessage or roots/list.
type Question struct {
	Session SessionID
	Server  string
	Method  string
	Params  json.RawMessage
}

const (
	// maxRounds bounds how often a modern server may ask before it answers, maxQuestions what it asks at a time.
	maxRounds    = 8
	maxQuestions = 32
)

// answer answers a request of a legacy server.
func (c *connection) answer(ctx context.Context, m *wire.Message) (json.RawMessage, *wire.Error) {
	return c.session.rt.opts.Ask(ctx, Question{
		Session: c.session.id, Server: c.server.Name, Method: m.Method, Params: m.Params,
	})
}

// converse sends a request, and sends it again with answers for as long as a modern server asks for them (2026-07-28
// "Multi Round-Trip Requests"): the server has not acted upon a request that it answers with questions. build makes the
// request anew, with what is to be added to its parameters.
func (l *live) converse(ctx context.Context, method string, build func(more wire.Object) *transport.Request) (
	json.RawMessage, error,
) {
	var more wire.Object
	for round := 0; ; round++ {
		request := build(more)
		raw, err := l.conn.Do(ctx, request)
		l.observe(err)
		if err != nil {
			return nil, ended(ctx, method, l.c.discreet(err), request.Sent())
		}
		if l.conn.Info().Era != transport.EraModern {
			return raw, nil
		}
		result, err := wire.ParseObject(raw)
		if err != nil {
			return nil, &CallError{Method: method, Reason: CallRejected, Sent: true, Err: err}
		}
		switch kind, _ := result.String(wire.ResultTypeField); {
		case kind == "" || kind == wire.ResultTypeComplete:
			return raw, nil
		case kind != wire.ResultTypeInputRequired || l.c.session.rt.opts.Ask == nil || round == maxRounds:
			return nil, &CallError{Method: method, Reason: CallUnsupported, Sent: true, Answered: true}
		}
		if more, err = l.answers(ctx, result); err != nil {
			return nil, &CallError{Method: method, Reason: CallUnsupported, Sent: true, Answered: true, Err: err}
		}
	}
}

// answers asks what an input-required result asks for, and returns what goes into the next try. The server's state goes
// back as it came, byte for byte.
func (l *live) answers(ctx context.Context, result wire.Object) (wire.Object, error) {
	var questions wire.Object
	if raw := result.Get("inputRequests"); raw != nil {
		var err error
		if questions, err = wire.ParseObject(raw); err != nil {
			return nil, err
		}
	}
	if len(questions) > maxQuestions {
		return nil, errTooManyQuestions
	}
	responses := make(wire.Object, len(questions))
	failures := make([]error, len(questions))
	var wg sync.WaitGroup
	for i, question := range questions {
		wg.Go(func() {
			answer, err := l.askOne(ctx, question.Value)
			responses[i], failures[i] = wire.Member{Name: question.Name, Value: answer}, err
		})
	}
	wg.Wait()
	for _, err := range failures {
		if err != nil {
			return nil, err
		}
	}
	var more wire.Object
	if len(responses) > 0 {
		more = append(more, wire.Member{Name: "inputResponses", Value: responses.Raw()})
	}
	if state := result.Get("requestState"); state != nil {
		more = append(more, wire.Member{Name: "requestState", Value: state})
	}
	return more, nil
}

var errTooManyQuestions = &transport.ProtocolError{What: "the server asks too much at a time"}

func (l *live) askOne(ctx context.Context, raw json.RawMessage) (json.RawMessage, error) {
	question, err := wire.ParseObject(raw)
	if err != nil {
		return nil, err
	}
	method, _ := question.String("method")
	answer, rpc := l.c.session.rt.opts.Ask(ctx, Question{
		Session: l.c.session.id, Server: l.c.server.Name, Method: method, Params: question.Get("params"),
	})
	if rpc != nil {
		return nil, rpc
	}
	return answer, nil
}
