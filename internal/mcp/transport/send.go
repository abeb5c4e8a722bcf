// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

const (
	mediaJSON   = "application/json"
	mediaStream = "text/event-stream"
)

// outgoing is one HTTP request.
type outgoing struct {
	method string
	body   []byte
	header http.Header // added last
	// limit bounds the wait for response headers; zero leaves it to the context.
	limit time.Duration
	// sent becomes true when a byte of the request may have left.
	sent *atomic.Bool
}

// response is an HTTP answer. Its body lives until close, until the request's context ends unless the response was
// detached from that, and at most as long as the connection.
type response struct {
	*http.Response
	cancel context.CancelCauseFunc
	detach func() bool
}

// close gives the socket up, unless the body was read to its end.
func (r *response) close() {
	r.detach()
	r.cancel(ErrClosed)
	_ = r.Body.Close()
}

// send makes one HTTP request and returns its answer whatever its status.
func (c *Conn) send(ctx context.Context, out *outgoing) (*response, error) {
	life, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	detach := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	detachAlive := context.AfterFunc(c.alive, func() { cancel(context.Cause(c.alive)) })
	end := func(cause error) { detachAlive(); cancel(cause) }
	if out.limit > 0 {
		timer := time.AfterFunc(out.limit, func() {
			cancel(&TimeoutError{Phase: "response headers", Limit: out.limit})
		})
		defer timer.Stop()
	}
	res, err := c.attempt(life, out) //nolint:bodyclose // response.close closes it
	if err != nil {
		if cause := context.Cause(life); cause != nil {
			err = cause
		}
		detach()
		end(err)
		return nil, err
	}
	return &response{Response: res, cancel: end, detach: detach}, nil
}

// maxStale bounds how many sockets are tried that turn out to have been closed while they were idle.
const maxStale = 3

// attempt repeats the request only while nothing of it was written: the socket had been closed while it was idle.
func (c *Conn) attempt(ctx context.Context, out *outgoing) (*http.Response, error) {
	for try := 1; ; try++ {
		var connected, wrote atomic.Bool
		res, err := c.http.RoundTrip(c.request(ctx, out, &connected, &wrote))
		// When the context ends, the writer may still be about to write.
		left := wrote.Load() || (connected.Load() && ctx.Err() != nil)
		if left && out.sent != nil {
			out.sent.Store(true)
		}
		if err == nil {
			return res, nil
		}
		if connected.Load() && !left && try < maxStale {
			c.http.CloseIdleConnections()
			continue
		}
		var network *NetworkError
		if errors.As(err, &network) {
			return nil, network
		}
		return nil, &NetworkError{Dialing: !connected.Load(), Err: err}
	}
}

// request builds the HTTP request. It has no GetBody, without which the HTTP client cannot send a body again.
func (c *Conn) request(ctx context.Context, out *outgoing, connected, wrote *atomic.Bool) *http.Request {
	trace := &httptrace.ClientTrace{
		GotConn:      func(httptrace.GotConnInfo) { connected.Store(true) },
		WroteHeaders: func() { wrote.Store(true) },
	}
	header := c.header.Clone()
	req := (&http.Request{
		Method: out.method, URL: c.url, Host: c.url.Host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(httptrace.WithClientTrace(ctx, trace))
	header["Accept"] = []string{mediaStream}
	if out.body != nil {
		header["Accept"] = []string{mediaJSON + ", " + mediaStream}
		header["Content-Type"] = []string{mediaJSON}
		req.Body = io.NopCloser(bytes.NewReader(out.body))
		req.ContentLength = int64(len(out.body))
	}
	if c.version != "" {
		header[wire.HeaderProtocolVersion] = []string{c.version}
	}
	if c.sessionID != "" {
		header[wire.HeaderSessionID] = []string{c.sessionID}
	}
	for name, values := range out.header {
		header[name] = values
	}
	return req
}

// triage turns an answer without success into a typed error. id is that of the request, if it was one.
func (c *Conn) triage(res *response, id wire.ID) error {
	switch {
	case res.StatusCode >= 200 && res.StatusCode < 300:
		return nil
	case res.StatusCode >= 300 && res.StatusCode < 400:
		return &RedirectError{Status: res.StatusCode}
	}
	e := &StatusError{Status: res.StatusCode, RetryAfter: retryAfter(res.Header), Session: c.sessionID != ""}
	timer := time.AfterFunc(errorBodyTimeout, func() {
		res.cancel(&TimeoutError{Phase: "the body of an error", Limit: errorBodyTimeout})
	})
	defer timer.Stop()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxErrorBody+1))
	if err != nil || len(body) > maxErrorBody {
		return e
	}
	if m, err := wire.Parse(body); err == nil && m.Error != nil {
		e.RPC, e.Answered = m.Error, !id.IsZero() && m.ID == id
	}
	return e
}

// retryAfter reads Retry-After, which is a number of seconds or a date.
func retryAfter(header http.Header) time.Duration {
	value := header.Get("Retry-After")
	if value == "" {
		return 0
	}
	wait := time.Duration(0)
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		wait = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(value); err == nil {
		wait = time.Until(at)
	}
	return min(max(wait, 0), maxRetryAfter)
}

func mediaType(res *http.Response) string {
	media, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return media
}

// readMessage reads a body that is one JSON-RPC message.
func readMessage(res *http.Response) (*wire.Message, error) {
	if res.ContentLength > wire.MaxMessageBytes {
		return nil, &ProtocolError{What: "the response is too large"}
	}
	body, err := readBounded(res.Body, wire.MaxMessageBytes)
	if err != nil {
		return nil, err
	}
	m, err := wire.Parse(body)
	if err != nil {
		return nil, &ProtocolError{What: "the response is no JSON-RPC message"}
	}
	return m, nil
}

const maxSegment = 1 << 20

// readBounded reads at most limit bytes. It reads into segments, so that a body of unknown length costs its own size
// while it may still turn out too large, and not what a growing buffer would.
func readBounded(r io.Reader, limit int) ([]byte, error) {
	var segments [][]byte
	total := 0
	segment := make([]byte, 0, 4<<10)
	for {
		n, err := r.Read(segment[len(segment):cap(segment)])
		segment = segment[:len(segment)+n]
		if total+len(segment) > limit {
			return nil, &ProtocolError{What: "the response is too large"}
		}
		if err == io.EOF {
			if segments == nil {
				return segment, nil
			}
			return bytes.Join(append(segments, segment), nil), nil
		}
		if err != nil {
			return nil, &NetworkError{Err: err}
		}
		if len(segment) == cap(segment) {
			segments, total = append(segments, segment), total+len(segment)
			segment = make([]byte, 0, min(2*cap(segment), maxSegment))
		}
	}
}
