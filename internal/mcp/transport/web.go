// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

const (
	mediaJSON   = "application/json"
	mediaStream = "text/event-stream"
)

// web makes HTTP requests to one server, under the guards that both kinds of HTTP have in common.
type web struct {
	c      *Conn
	url    *url.URL
	header http.Header
	http   *http.Transport
	socks  *sockets
	// Of the handshake.
	sessionID string   // of Streamable HTTP
	endpoint  *url.URL // where HTTP with SSE wants messages posted
}

func newWeb(c *Conn) (*web, error) {
	u, err := c.cfg.endpoint()
	if err != nil {
		return nil, err
	}
	header, err := c.cfg.headers()
	if err != nil {
		return nil, err
	}
	tlsConfig, err := c.cfg.tls()
	if err != nil {
		return nil, err
	}
	if c.cfg.Dialer == nil {
		return nil, &ConfigError{What: "nothing may be dialled"}
	}
	w := &web{c: c, url: u, header: header, socks: newSockets(c.cfg.Dialer)}
	w.http = newHTTP(w.socks, tlsConfig)
	return w, nil
}

// newHTTP returns an HTTP client of this connection's own: sharing one would share sockets between sessions and
// certificates between servers, and closing a connection could not close its sockets.
func newHTTP(sockets *sockets, tlsConfig *tls.Config) *http.Transport {
	return &http.Transport{
		Proxy:                  nil,
		DialContext:            sockets.DialContext,
		TLSClientConfig:        tlsConfig,
		TLSHandshakeTimeout:    tlsTimeout,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // so that bounds on bytes are bounds on what they expand to
		MaxIdleConnsPerHost:    maxIdleSockets,
		IdleConnTimeout:        idleSocketLife,
		MaxResponseHeaderBytes: maxHeaderBytes,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: http2PingAfter, PingTimeout: http2PingTimeout},
	}
}

func (w *web) sockets() int { return w.socks.count() }

func (w *web) abort() {
	w.http.CloseIdleConnections()
	w.socks.close()
}

// inSession reports whether requests name a session that the server may have forgotten.
func (w *web) inSession() bool { return w.sessionID != "" || w.endpoint != nil }

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
func (w *web) send(ctx context.Context, out *outgoing) (*response, error) {
	life, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	detach := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	detachAlive := context.AfterFunc(w.c.alive, func() { cancel(context.Cause(w.c.alive)) })
	end := func(cause error) { detachAlive(); cancel(cause) }
	if out.limit > 0 {
		timer := time.AfterFunc(out.limit, func() {
			cancel(&TimeoutError{Phase: "response headers", Limit: out.limit})
		})
		defer timer.Stop()
	}
	res, err := w.attempt(life, out) //nolint:bodyclose // response.close closes it
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
func (w *web) attempt(ctx context.Context, out *outgoing) (*http.Response, error) {
	for try := 1; ; try++ {
		var connected, wrote atomic.Bool
		res, err := w.http.RoundTrip(w.request(ctx, out, &connected, &wrote))
		// When the context ends, the writer may still be about to write.
		left := wrote.Load() || (connected.Load() && ctx.Err() != nil)
		if left && out.sent != nil {
			out.sent.Store(true)
		}
		if err == nil {
			return res, nil
		}
		if connected.Load() && !left && try < maxStale {
			w.http.CloseIdleConnections()
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
func (w *web) request(ctx context.Context, out *outgoing, connected, wrote *atomic.Bool) *http.Request {
	trace := &httptrace.ClientTrace{
		GotConn:      func(httptrace.GotConnInfo) { connected.Store(true) },
		WroteHeaders: func() { wrote.Store(true) },
	}
	header, to := w.header.Clone(), w.url
	if out.method == http.MethodPost && w.endpoint != nil {
		to = w.endpoint
	}
	req := (&http.Request{
		Method: out.method, URL: to, Host: to.Host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(httptrace.WithClientTrace(ctx, trace))
	header["Accept"] = []string{mediaStream}
	header["Accept-Encoding"] = []string{"identity"}
	if out.body != nil {
		header["Accept"] = []string{mediaJSON + ", " + mediaStream}
		header["Content-Type"] = []string{mediaJSON}
		req.Body = io.NopCloser(bytes.NewReader(out.body))
		req.ContentLength = int64(len(out.body))
	}
	if w.c.version != "" {
		header[wire.HeaderProtocolVersion] = []string{w.c.version}
	}
	if w.sessionID != "" {
		header[wire.HeaderSessionID] = []string{w.sessionID}
	}
	for name, values := range out.header {
		header[name] = values
	}
	return req
}
