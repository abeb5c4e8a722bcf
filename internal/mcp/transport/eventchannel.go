// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/mooring-dev/mooring/internal/mcp/sse"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// eventChannel is HTTP with SSE (2024-11-05 transports): one stream of events brings everything, and each message to the
// server is a POST of its own. The stream is the session: when it ends, so does the connection.
type eventChannel struct {
	*web
	messages *messages
}

// open opens the stream and waits for the event that says where messages are to be posted.
func (e *eventChannel) open(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, endpointTimeout,
		&TimeoutError{Phase: "waiting for the endpoint event", Limit: endpointTimeout})
	defer cancel()
	res, err := e.send(ctx, &outgoing{method: http.MethodGet})
	if err != nil {
		return err
	}
	if err = e.triage(res, wire.ID{}); err == nil && mediaType(res.Response) != mediaStream {
		err = &ProtocolError{What: "the response is no event stream"}
	}
	if err == nil {
		e.messages = &messages{events: sse.NewReader(res.Body, wire.MaxMessageBytes)}
		err = e.findEndpoint()
	}
	if err != nil {
		res.close()
		return causeOf(ctx, err)
	}
	if !res.detach() { // from ctx, which ends with the handshake
		res.close()
		return causeOf(ctx, ErrClosed)
	}
	return nil
}

// findEndpoint reads up to the first endpoint event, before which a few others may come.
func (e *eventChannel) findEndpoint() error {
	for range maxBadEvents {
		event, err := e.messages.event()
		if err != nil {
			return err
		}
		if event.Name == "endpoint" {
			e.endpoint, err = sameOrigin(e.url, event.Data)
			return err
		}
	}
	return &ProtocolError{What: "no event names the endpoint"}
}

// sameOrigin resolves an endpoint. Messages carry credentials, so they may go to no other place than base.
func sameOrigin(base *url.URL, reference []byte) (*url.URL, error) {
	if len(reference) > maxEndpoint {
		return nil, &ProtocolError{What: "the endpoint's address is too long"}
	}
	u, err := base.Parse(string(reference))
	if err != nil {
		return nil, &ProtocolError{What: "the endpoint's address does not parse"}
	}
	if u.User != nil || u.Opaque != "" || u.Scheme != base.Scheme ||
		!strings.EqualFold(u.Hostname(), base.Hostname()) || port(u) != port(base) {
		return nil, &ProtocolError{What: "the endpoint is on another host"}
	}
	u.Fragment, u.RawFragment = "", ""
	u.Host = base.Host
	return u, nil
}

func port(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

func (e *eventChannel) read() (*wire.Message, error) { return e.messages.next() }

func (e *eventChannel) write(ctx context.Context, l *letter) error {
	return e.deliver(ctx, &outgoing{method: http.MethodPost, body: l.body, sent: l.sent, limit: headerTimeout}, l.id)
}

// end has nothing to say: the session is the stream.
func (*eventChannel) end(context.Context, <-chan struct{}) error { return nil }

// close ends the stream, which unblocks its reader, and everything else.
func (e *eventChannel) close() { e.abort() }

var _ channel = (*eventChannel)(nil)
