// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// events is a server of HTTP with SSE. Its answers write to the stream.
type events struct {
	*httptest.Server
	endpoint string // the first event's data; empty sends none
	answers  map[string]func(say func(string), m *wire.Message)
	posted   func(http.ResponseWriter, *http.Request, *wire.Message) // nil accepts
	stop     chan struct{}                                           // ends the stream

	mu    sync.Mutex
	out   chan string
	heard []*wire.Message
	seen  []http.Header
}

func newEvents(t *testing.T, answers map[string]func(func(string), *wire.Message)) *events {
	t.Helper()
	e := &events{endpoint: "/post?session=1", answers: answers, stop: make(chan struct{}), out: make(chan string, 64)}
	e.Server = httptest.NewServer(e)
	t.Cleanup(func() {
		e.CloseClientConnections()
		e.Close()
	})
	return e
}

func (e *events) config() Config {
	return Config{Kind: KindSSE, URL: e.URL + "/sse", Header: http.Header{"X-Key": {"k"}}}
}

func (e *events) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	e.seen = append(e.seen, r.Header)
	e.mu.Unlock()
	if r.Method == http.MethodGet {
		e.serveStream(w, r)
		return
	}
	body, _ := io.ReadAll(r.Body)
	m, err := wire.Parse(body)
	if err != nil || r.URL.RequestURI() != "/post?session=1" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	e.mu.Lock()
	e.heard = append(e.heard, m)
	e.mu.Unlock()
	switch answer := e.answers[m.Method]; {
	case e.posted != nil && m.Method == wire.MethodToolsCall:
		e.posted(w, r, m)
		return
	case answer != nil:
		answer(e.say, m)
	case m.Method == wire.MethodInitialize:
		e.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2024-11-05"}}`, m.ID))
	}
	w.WriteHeader(http.StatusAccepted)
	_, _ = io.WriteString(w, "Accepted")
}

func (e *events) say(message string) { e.out <- message }

func (e *events) serveStream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", mediaStream)
	if e.endpoint != "" {
		_, _ = fmt.Fprintf(w, ": hello\n\nevent: endpoint\ndata: %s\n\n", e.endpoint)
	}
	_ = http.NewResponseController(w).Flush()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-e.stop:
			return
		case message := <-e.out:
			_, _ = fmt.Fprintf(w, "event: message\ndata: %s\n\n", message)
			_ = http.NewResponseController(w).Flush()
		}
	}
}

func (e *events) all(method string) []*wire.Message {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []*wire.Message
	for _, m := range e.heard {
		if m.Method == method {
			out = append(out, m)
		}
	}
	return out
}

// TestSSE is a session from its beginning to its end: no probe, no capability (CON-15, whatever is configured), the
// configured headers on every request, answers on the stream, and the server's requests answered (CON-21).
func TestSSE(t *testing.T) {
	e := newEvents(t, map[string]func(func(string), *wire.Message){
		wire.MethodToolsCall: func(say func(string), m *wire.Message) {
			say(`{"jsonrpc":"2.0","id":"p","method":"ping"}`)
			say(`{"jsonrpc":"2.0","id":"s","method":"sampling/createMessage"}`)
			say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}`)
			say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"n":1}}`, m.ID))
		},
	})
	cfg := e.config()
	cfg.ClientCapabilities = wire.Object{{Name: "sampling", Value: []byte("{}")}}
	cfg.OnRequest = func(context.Context, *wire.Message) (json.RawMessage, *wire.Error) {
		t.Error("asked what was not declared")
		return nil, nil
	}
	c := mustDial(t, cfg)
	progress := 0
	raw, err := c.Do(t.Context(), &Request{Method: wire.MethodToolsCall, Token: "t", OnMessage: func(*wire.Message) { progress++ }})
	if err != nil || string(raw) != `{"n":1}` || progress != 1 {
		t.Errorf("%s, %v, %d notifications", raw, err, progress)
	}
	eventually(t, "both answers", func() bool { return len(e.all("")) == 2 })
	for _, m := range e.all("") {
		if refused := m.Error != nil && m.Error.Code == wire.CodeMethodNotFound; refused != (m.ID == wire.StringID("s")) {
			t.Errorf("%s: %v", m.ID, m.Error)
		}
	}
	if len(e.all(wire.MethodDiscover)) > 0 || c.Info().ProtocolVersion != wire.Version20241105 {
		t.Errorf("probed, or negotiated %v", c.Info())
	}
	if params := e.all(wire.MethodInitialize)[0].Params; !strings.Contains(string(params), `"capabilities":{},`) {
		t.Errorf("declared %s", params)
	}
	e.mu.Lock()
	for _, header := range e.seen {
		if header.Get("X-Key") != "k" {
			t.Errorf("a request without the configured header: %v", header)
		}
	}
	e.mu.Unlock()
	if err := c.Close(t.Context()); err != nil || c.Sockets() != 0 {
		t.Errorf("close: %v, %d sockets", err, c.Sockets())
	}
}

// TestSSELostStream fails what is open at once, and does not reconnect (REC-10).
func TestSSELostStream(t *testing.T) {
	e := newEvents(t, nil)
	c := mustDial(t, e.config())
	failed := make(chan error, 1)
	go func() {
		_, err := c.Do(t.Context(), &Request{Method: wire.MethodToolsCall})
		failed <- err
	}()
	eventually(t, "the call", func() bool { return len(e.all(wire.MethodToolsCall)) == 1 })
	began := time.Now()
	close(e.stop)
	for _, err := range []error{<-failed, c.Wait(t.Context()), c.Listen(t.Context(), Filter{}, Listener{})} {
		if !sameType(err, &NetworkError{}) {
			t.Errorf("%T %v", err, err)
		}
	}
	if time.Since(began) > 2*time.Second {
		t.Errorf("after %s", time.Since(began))
	}
	eventually(t, "the sockets' end", func() bool { return c.Sockets() == 0 })
}

// TestSSEPost types what a POST is answered with, and a session that is gone is gone (REC-11, DEV-43).
func TestSSEPost(t *testing.T) {
	for name, tc := range map[string]struct {
		answer func(http.ResponseWriter, *http.Request, string)
		want   error
	}{
		"404":      {status(404), ErrSessionLost},
		"401":      {status(401), &StatusError{}},
		"500":      {status(500), &StatusError{}},
		"redirect": {status(307, "Location", "http://169.254.169.254/"), &RedirectError{}},
	} {
		e := newEvents(t, nil)
		e.posted = func(w http.ResponseWriter, r *http.Request, m *wire.Message) { tc.answer(w, r, m.ID.String()) }
		c := mustDial(t, e.config())
		if req, err := call(t, c); !sameType(err, tc.want) || !req.Sent() {
			t.Errorf("%s: %T %v", name, err, err)
		}
		if err := c.Check(canceledSoon(t)); err == nil {
			t.Errorf("%s: a ping that nobody answers is good", name)
		}
		c.Abort()
	}
}

func canceledSoon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// TestSSEOpen refuses what cannot be a session, and leaves nothing.
func TestSSEOpen(t *testing.T) {
	for name, tc := range map[string]struct {
		endpoint string
		era      Era
		want     error
	}{
		"another host":   {endpoint: "http://169.254.169.254/latest", want: &ProtocolError{}},
		"another port":   {endpoint: "http://127.0.0.1:1/", want: &ProtocolError{}},
		"another scheme": {endpoint: "https://127.0.0.1/", want: &ProtocolError{}},
		"too long":       {endpoint: "/" + strings.Repeat("x", maxEndpoint), want: &ProtocolError{}},
		"unparsable":     {endpoint: "http://[", want: &ProtocolError{}},
		"none":           {endpoint: "", want: &TimeoutError{}},
		"modern":         {endpoint: "/", era: EraModern, want: &ConfigError{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEvents(t, nil)
			e.endpoint = tc.endpoint
			cfg := e.config()
			cfg.Era = tc.era
			began := time.Now()
			if _, err := dial(t, cfg); !sameType(err, tc.want) || time.Since(began) > 2*endpointTimeout {
				t.Errorf("%T %v after %s", err, err, time.Since(began))
			}
		})
	}
	s := newScripted(t, nil)
	if _, err := dial(t, Config{Kind: KindSSE, URL: s.URL}); !sameType(err, &StatusError{}) {
		t.Errorf("no SSE at all: %v", err)
	}
}

func TestSameOrigin(t *testing.T) {
	base, err := url.Parse("https://Host.example/base/sse?x=1")
	if err != nil {
		t.Fatal(err)
	}
	for reference, want := range map[string]string{
		"/m?id=1":                        "https://Host.example/m?id=1",
		"m":                              "https://Host.example/base/m",
		"https://host.example:443/m#f":   "https://Host.example/m",
		"//host.example/m":               "https://Host.example/m",
		"http://host.example/m":          "",
		"https://host.example:444/m":     "",
		"https://user@host.example/m":    "",
		"//evil.example/m":               "",
		"https:opaque":                   "",
		"https://host.example.evil/m":    "",
		"\\\\evil.example/m":             "https://Host.example/base/%5C%5Cevil.example/m",
		"https://host.example\x00.evil/": "",
	} {
		got, err := sameOrigin(base, []byte(reference))
		if want == "" {
			var protocol *ProtocolError
			if !errors.As(err, &protocol) {
				t.Errorf("%q: %v, %v", reference, got, err)
			}
			continue
		}
		if err != nil || got.String() != want {
			t.Errorf("%q: %v, %v, want %s", reference, got, err, want)
		}
	}
}
