// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/mooring-dev/mooring/internal/mcp/sse"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// streamable carries messages over Streamable HTTP: each request has a response of its own.
type streamable struct{ *web }

func (*streamable) open(context.Context) error { return nil }

func (h *streamable) exchange(ctx context.Context, req *Request, body []byte) (json.RawMessage, error) {
	res, err := h.call(ctx, req, body)
	if err != nil {
		return nil, err
	}
	if req.Method == wire.MethodInitialize {
		if h.sessionID, err = sessionID(res.Header); err != nil {
			res.close()
			return nil, err
		}
	}
	switch mediaType(res.Response) {
	case mediaJSON:
		defer res.close()
		return fromJSON(res, req)
	case mediaStream:
		return h.fromStream(ctx, res, req)
	}
	res.close()
	return nil, &ProtocolError{What: "the response is neither JSON nor an event stream"}
}

// sessionID reads the id that the server gave the session. It may hold visible ASCII only.
func sessionID(header http.Header) (string, error) {
	id := header.Get(wire.HeaderSessionID)
	if len(id) > maxSessionID {
		return "", &ProtocolError{What: "the session id is too long"}
	}
	for i := range len(id) {
		if id[i] < 0x21 || id[i] > 0x7e {
			return "", &ProtocolError{What: "the session id holds invalid characters"}
		}
	}
	return id, nil
}

// call sends the request; the response that it returns is a success.
func (h *streamable) call(ctx context.Context, req *Request, body []byte) (*response, error) {
	header := req.Header
	if h.c.meta != nil {
		header = modernHeader(req)
	}
	res, err := h.send(ctx, &outgoing{method: http.MethodPost, body: body, header: header, sent: &req.sent})
	if err != nil {
		return nil, err
	}
	if err := h.triage(res, req.id); err != nil {
		res.close()
		return nil, err
	}
	return res, nil
}

// modernHeader mirrors the method (2026-07-28 transports, "Standard Request Headers").
func modernHeader(req *Request) http.Header {
	header := make(http.Header, len(req.Header)+1)
	for name, values := range req.Header {
		header[name] = values
	}
	header[wire.HeaderMethod] = []string{req.Method}
	return header
}

func fromJSON(res *response, req *Request) (json.RawMessage, error) {
	m, err := readMessage(res.Response)
	if err != nil {
		return nil, err
	}
	// An error without an id can only mean this request: the body has room for one answer.
	if !m.IsResponse() || (m.ID != req.id && (m.Error == nil || !m.ID.IsZero())) {
		return nil, &ProtocolError{What: "the response does not answer the request"}
	}
	return outcome(m)
}

// fromStream reads the request's stream until its answer, and resumes it where the era has that.
func (h *streamable) fromStream(ctx context.Context, res *response, req *Request) (json.RawMessage, error) {
	resumption := &resumption{h: h}
	for {
		reader := sse.NewReader(res.Body, wire.MaxMessageBytes)
		m, err := h.readAnswer(reader, req)
		if err == nil {
			h.finish(res)
			return outcome(m)
		}
		res.close()
		if !broken(err) || h.c.info.Era == EraModern {
			return nil, err
		}
		if res, err = resumption.next(ctx, reader, err); err != nil {
			return nil, err
		}
	}
}

// readAnswer reads messages until the answer to req.
func (h *streamable) readAnswer(reader *sse.Reader, req *Request) (*wire.Message, error) {
	stream := &messages{events: reader}
	for {
		m, err := stream.next()
		switch {
		case err != nil:
			return nil, err
		case m.IsResponse():
			if m.ID == req.id {
				return m, nil
			}
		case h.asked(m, req):
		case req.OnMessage != nil:
			req.OnMessage(m)
		}
	}
}

// asked takes what concerns the server's own requests.
func (h *streamable) asked(m *wire.Message, on *Request) bool {
	switch {
	case m.IsRequest():
		if h.c.ready.Load() {
			h.c.questions.ask(m, on)
		}
		return true
	case m.Method == wire.MethodCancelled && h.c.ready.Load() && h.c.info.Era == EraLegacy:
		h.c.questions.cancel(m)
		return true
	}
	return false
}

func (h *streamable) listen(ctx context.Context, l *listening) error {
	l.h = h
	if h.c.info.Era == EraModern {
		return h.subscribe(ctx, l)
	}
	return h.overhear(ctx, l)
}

// overhear reads the stream that legacy servers speak on unasked.
func (h *streamable) overhear(ctx context.Context, l *listening) error {
	resumed := l.lastID != ""
	res, err := h.stream(ctx, l.lastID)
	if err != nil {
		return l.legacyRefused(err)
	}
	defer res.close()
	l.announce(!resumed, l.everything())
	reader := sse.NewReader(res.Body, maxListenEvent)
	defer l.observe(reader)
	return h.read(reader, l, func(*wire.Message) verdict { return deliver })
}

// legacyRefused sorts the answers to a GET: that there is no stream is a fact, everything else passes.
func (l *listening) legacyRefused(err error) error {
	var status *StatusError
	if !errors.As(err, &status) {
		return err
	}
	switch {
	case errors.Is(err, ErrSessionLost):
		return err
	case status.Status == http.StatusMethodNotAllowed, status.Status == http.StatusNotFound,
		status.Status == http.StatusNotImplemented:
		return ErrNoStream
	case l.lastID != "" && status.Status < 500:
		l.lastID = "" // the event may be forgotten: begin anew
	}
	return err
}

// read hands messages on until the stream ends, or until judge says that it has ended.
func (h *streamable) read(reader *sse.Reader, l *listening, judge func(*wire.Message) verdict) error {
	stream := &messages{events: reader}
	for {
		m, err := stream.next()
		if err != nil {
			return err
		}
		verdict := judge(m)
		if verdict == stop {
			return nil
		}
		l.heard = true
		if !h.asked(m, nil) && m.IsNotification() && verdict == deliver {
			l.to.Message(m)
		}
	}
}

// subscribe reads a subscription of the modern era.
func (h *streamable) subscribe(ctx context.Context, l *listening) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s := newSubscription(l, cancel)
	defer s.ack.Stop()
	body, err := h.c.encode(s.req)
	if err != nil {
		return err
	}
	res, err := h.call(ctx, s.req, body)
	if err != nil {
		return causeOf(ctx, modernRefused(err))
	}
	defer res.close()
	if mediaType(res.Response) != mediaStream {
		_, err := fromJSON(res, s.req)
		return causeOf(ctx, modernRefused(err))
	}
	return causeOf(ctx, s.end(h.read(sse.NewReader(res.Body, maxListenEvent), l, s.judge)))
}

func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// end asks the server to forget a legacy session (DEV-55). A server that does not know it, or does not let clients end
// it, has nothing left to confirm.
func (h *streamable) end(ctx context.Context) error {
	if h.sessionID == "" {
		return nil
	}
	res, err := h.send(ctx, &outgoing{method: http.MethodDelete})
	if err != nil {
		return err
	}
	defer res.close()
	err = h.triage(res, wire.ID{})
	if status, ok := err.(*StatusError); ok && //nolint:errorlint // triage wraps nothing
		(status.Status == http.StatusNotFound || status.Status == http.StatusMethodNotAllowed) {
		return nil
	}
	return err
}

var _ carrier = (*streamable)(nil)
