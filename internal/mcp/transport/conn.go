// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"sync/atomic"

	"github.com/mooring-dev/mooring/internal/mcp/wire"
	"github.com/mooring-dev/mooring/internal/mcp/work"
)

// Info is what a server said about itself when the connection was made. All of it is untrusted.
type Info struct {
	Era             Era
	ProtocolVersion string
	// ServerInfo and Capabilities are objects, or nil.
	ServerInfo, Capabilities wire.Object
	Instructions             string
}

// Declares reports whether the server declares a capability, or the flag of one.
func (i *Info) Declares(capability, flag string) bool {
	value := i.Capabilities.Get(capability)
	if flag == "" || value == nil {
		return len(value) > 0 && value[0] == '{'
	}
	object, err := wire.ParseObject(value)
	return err == nil && string(object.Get(flag)) == "true"
}

// Conn is a connection to one server. It is safe for concurrent use.
type Conn struct {
	cfg     Config
	url     *url.URL
	header  http.Header
	http    *http.Transport
	sockets *sockets

	// Fixed by Dial.
	info      Info
	sessionID string
	version   string // on the wire; empty until it is negotiated
	meta      []wire.Member

	nextID atomic.Int64
	// ready is set at the end of Dial: until then nothing is posted beside the handshake.
	ready atomic.Bool
	// active ends requests and streams; alive ends everything.
	active, alive         context.Context //nolint:containedctx // a connection outlives each call on it
	stopActive, stopAlive context.CancelCauseFunc
	outbox                *outbox
	work                  work.Group
}

func newConn(cfg Config) (*Conn, error) {
	u, err := cfg.endpoint()
	if err != nil {
		return nil, err
	}
	header, err := cfg.headers()
	if err != nil {
		return nil, err
	}
	tlsConfig, err := cfg.tls()
	if err != nil {
		return nil, err
	}
	if cfg.Dialer == nil {
		return nil, &ConfigError{What: "nothing may be dialled"}
	}
	c := &Conn{cfg: cfg, url: u, header: header, sockets: newSockets(cfg.Dialer)}
	c.http = newHTTP(c.sockets, tlsConfig)
	c.alive, c.stopAlive = context.WithCancelCause(context.Background())
	c.active, c.stopActive = context.WithCancelCause(c.alive)
	c.outbox = newOutbox(c)
	return c, nil
}

// Info returns what was negotiated.
func (c *Conn) Info() Info { return c.info }

// Sockets counts the open sockets.
func (c *Conn) Sockets() int { return c.sockets.count() }

// Request asks the server for something and returns the result as it was sent. It is bounded by requestTimeout.
func (c *Conn) Request(ctx context.Context, method string, params wire.Object) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, requestTimeout, &TimeoutError{Phase: method, Limit: requestTimeout})
	defer cancel()
	return c.Do(ctx, &Request{Method: method, Params: params})
}

// Check makes a round trip: an answer of any kind from this very session is good.
func (c *Conn) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, discoverTimeout, &TimeoutError{Phase: "check", Limit: discoverTimeout})
	defer cancel()
	if c.info.Era == EraModern {
		_, err := c.discover(ctx)
		return err
	}
	_, err := c.Do(ctx, &Request{Method: wire.MethodPing})
	if answered(err) {
		return nil
	}
	return err
}

// Close ends requests and streams, tells the server what was cancelled, ends the legacy session and closes every socket.
// An error says that the server did not confirm the end of its session. Close is bounded by ctx and by endTimeout.
func (c *Conn) Close(ctx context.Context) error {
	c.stopActive(ErrClosed)
	ctx, cancel := context.WithTimeoutCause(ctx, endTimeout, &TimeoutError{Phase: "closing", Limit: endTimeout})
	defer cancel()
	c.outbox.flush(ctx)
	err := c.endSession(ctx)
	c.Abort()
	return err
}

// Abort closes every socket at once and tells the server nothing.
func (c *Conn) Abort() {
	c.stopAlive(ErrClosed)
	c.http.CloseIdleConnections()
	c.sockets.close()
	c.work.Wait()
	c.http.CloseIdleConnections() // what was in flight may have become idle
}

// endSession asks the server to forget a legacy session. A server that does not know it, or does not let clients end it,
// has nothing left to confirm.
func (c *Conn) endSession(ctx context.Context) error {
	if c.sessionID == "" {
		return nil
	}
	res, err := c.send(ctx, &outgoing{method: http.MethodDelete})
	if err != nil {
		return err
	}
	defer res.close()
	err = c.triage(res, wire.ID{})
	if status, ok := err.(*StatusError); ok && //nolint:errorlint // triage wraps nothing
		(status.Status == http.StatusNotFound || status.Status == http.StatusMethodNotAllowed) {
		return nil
	}
	return err
}
