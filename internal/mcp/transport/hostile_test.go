// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

type answers = map[string]func(http.ResponseWriter, *http.Request, string)

// TestEra holds the negotiation to one rule: only an answer that a modern server would not give leads to the handshake.
func TestEra(t *testing.T) {
	modern := `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}`
	huge := `{"protocolVersion":"2025-11-25","capabilities":{},"instructions":"` + strings.Repeat("x", maxHandshake) + `"}`
	for name, tc := range map[string]struct {
		discover   func(http.ResponseWriter, *http.Request, string)
		initialize func(http.ResponseWriter, *http.Request, string)
		era        Era // empty: Dial fails
		want       error
	}{
		"modern":                {discover: raw(mediaJSON, `{"jsonrpc":"2.0","id":ID,"result":`+modern+`}`), era: EraModern},
		"no such method":        {era: EraLegacy},
		"400":                   {discover: status(400), era: EraLegacy},
		"404":                   {discover: status(404), era: EraLegacy},
		"another result":        {discover: raw(mediaJSON, `{"jsonrpc":"2.0","id":ID,"result":{}}`), era: EraLegacy},
		"legacy by its word":    {discover: raw(mediaJSON, `{"jsonrpc":"2.0","id":ID,"result":{"supportedVersions":["2025-06-18"]}}`), era: EraLegacy},
		"a version of nobody's": {discover: raw(mediaJSON, `{"jsonrpc":"2.0","id":ID,"result":{"supportedVersions":["2099-01-01"]}}`), want: &VersionError{}},
		"401":                   {discover: status(401), want: &StatusError{}},
		"403":                   {discover: status(403), want: &StatusError{}},
		"429":                   {discover: status(429, "Retry-After", "7"), want: &StatusError{}},
		"500":                   {discover: status(500), want: &StatusError{}},
		"redirect":              {discover: status(302, "Location", "http://169.254.169.254/"), want: &RedirectError{}},
		"HTML":                  {discover: raw("text/html", "<html>"), want: &ProtocolError{}},
		"initialize, redirect":  {initialize: status(307, "Location", "/other"), want: &RedirectError{}},
		"initialize, another version": {
			initialize: raw(mediaJSON, `{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"2024-01-01"}}`), want: &VersionError{},
		},
		"initialize, huge": {initialize: raw(mediaJSON, `{"jsonrpc":"2.0","id":ID,"result":`+huge+`}`), want: &ProtocolError{}},
		"initialize, bad session id": {initialize: func(w http.ResponseWriter, _ *http.Request, id string) {
			w.Header().Set(wire.HeaderSessionID, strings.Repeat("s", maxSessionID+1))
			result(w, id, `{"protocolVersion":"2025-11-25"}`, "")
		}, want: &ProtocolError{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScripted(t, answers{wire.MethodDiscover: tc.discover, wire.MethodInitialize: tc.initialize})
			c, err := dial(t, Config{URL: s.URL})
			if tc.era != EraUnknown {
				if err != nil || c.Info().Era != tc.era {
					t.Fatalf("negotiated %v, %v, want %s", c, err, tc.era)
				}
				return
			}
			if !sameType(err, tc.want) {
				t.Fatalf("%T %v, want %T", err, err, tc.want)
			}
			if tc.initialize == nil && s.times(wire.MethodInitialize) > 0 {
				t.Error("downgraded")
			}
		})
	}
}

// sameType reports whether err is, or wraps, an error of want's type, or want itself.
func sameType(err, want error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if reflect.TypeOf(err) == reflect.TypeOf(want) {
			return true
		}
		if errors.Is(err, want) {
			return true
		}
	}
	return false
}

// TestAnswers is what a server may answer a call with, and what that is to the caller.
func TestAnswers(t *testing.T) {
	huge := func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.Header().Set("Content-Type", mediaJSON)
		for range wire.MaxMessageBytes>>20 + 1 {
			if _, err := io.WriteString(w, strings.Repeat(" ", 1<<20)); err != nil {
				return
			}
		}
	}
	for name, tc := range map[string]struct {
		answer func(http.ResponseWriter, *http.Request, string)
		result string
		want   error
	}{
		"a result":         {answer: raw(mediaJSON, `{"jsonrpc":"2.0","id":ID,"result":{"n":9007199254740993}}`), result: `{"n":9007199254740993}`},
		"in a stream":      {answer: raw(mediaStream, "data: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{}}\n\n"), result: `{}`},
		"to another id":    {answer: raw(mediaJSON, `{"jsonrpc":"2.0","id":99999,"result":{}}`), want: &ProtocolError{}},
		"twice a member":   {answer: raw(mediaJSON, `{"jsonrpc":"2.0","id":ID,"result":{},"result":{"a":1}}`), want: &ProtocolError{}},
		"no JSON":          {answer: raw(mediaJSON, `{`), want: &ProtocolError{}},
		"another type":     {answer: raw("text/plain", `{}`), want: &ProtocolError{}},
		"too large":        {answer: huge, want: &ProtocolError{}},
		"session gone":     {answer: status(404), want: ErrSessionLost},
		"redirect":         {answer: status(308, "Location", "/"), want: &RedirectError{}},
		"401":              {answer: status(401), want: &StatusError{}},
		"stream cut short": {answer: raw(mediaStream, "data: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n"), want: &NetworkError{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScripted(t, answers{wire.MethodToolsCall: tc.answer})
			c := mustDial(t, Config{URL: s.URL, Era: EraLegacy})
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			req := &Request{Method: wire.MethodToolsCall}
			got, err := c.Do(ctx, req)
			if tc.want == nil {
				if err != nil || string(got) != tc.result {
					t.Fatalf("%s, %v", got, err)
				}
				return
			}
			if !sameType(err, tc.want) && !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("%T %v, want %T", err, err, tc.want)
			}
			if !req.Sent() {
				t.Error("counts as not sent")
			}
			if n := s.times(wire.MethodToolsCall); n != 1 {
				t.Errorf("sent %d times", n)
			}
			if strings.Contains(err.Error(), "127.0.0.1") {
				t.Errorf("the error names an address: %v", err)
			}
		})
	}
}

// TestTornConnection breaks off after the request was read: the outcome is unknown, and nothing is sent again.
func TestTornConnection(t *testing.T) {
	s := newScripted(t, answers{wire.MethodToolsCall: func(w http.ResponseWriter, _ *http.Request, _ string) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_ = conn.Close()
		}
	}})
	c := mustDial(t, Config{URL: s.URL})
	req, err := call(t, c)
	if !sameType(err, &NetworkError{}) || !req.Sent() || s.times(wire.MethodToolsCall) != 1 {
		t.Errorf("%v, sent %t, heard %d times", err, req.Sent(), s.times(wire.MethodToolsCall))
	}
}

// refusing dials nowhere.
type refusing struct{ err error }

func (r refusing) DialContext(context.Context, string, string) (net.Conn, error) { return nil, r.err }

// TestDialerDecides keeps the dialer's own error reachable, and sends nothing around it.
func TestDialerDecides(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	denied := errors.New("denied")
	_, err := dial(t, Config{URL: "http://example.com/mcp", Dialer: refusing{denied}})
	if !errors.Is(err, denied) {
		t.Errorf("%v", err)
	}
}

// TestCloseEndsTheSession deletes what the server keeps for us (DEV-55), and asks no more than once.
func TestCloseEndsTheSession(t *testing.T) {
	for name, tc := range map[string]struct {
		answer    func(http.ResponseWriter, *http.Request, string)
		confirmed bool
	}{
		"200": {status(200), true}, "405": {status(405), true}, "404": {status(404), true}, "500": {status(500), false},
	} {
		s := newScripted(t, answers{http.MethodDelete: tc.answer})
		c := mustDial(t, Config{URL: s.URL})
		if err := c.Close(t.Context()); (err == nil) != tc.confirmed {
			t.Errorf("%s: %v", name, err)
		}
		if s.times(http.MethodDelete) != 1 || c.Sockets() != 0 {
			t.Errorf("%s: %d DELETEs, %d sockets", name, s.times(http.MethodDelete), c.Sockets())
		}
		if _, err := call(t, c); !errors.Is(err, ErrClosed) {
			t.Errorf("%s: a call after the end: %v", name, err)
		}
	}
}

// TestListenLeavesAnEndlessError does not wait for the end of an error's body.
func TestListenLeavesAnEndlessError(t *testing.T) {
	s := newScripted(t, answers{http.MethodGet: func(w http.ResponseWriter, r *http.Request, _ string) {
		w.WriteHeader(http.StatusInternalServerError)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}})
	c := mustDial(t, Config{URL: s.URL})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Listen(ctx, Filter{Tools: true}, Listener{Message: func(*wire.Message) {}}) }()
	for end := time.Now().Add(3 * errorBodyTimeout); s.times(http.MethodGet) < 2; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("one GET and no other")
		}
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
}

// TestListenBoundsEvents keeps little of a stream that lives as long as its connection.
func TestListenBoundsEvents(t *testing.T) {
	s := newScripted(t, answers{http.MethodGet: func(w http.ResponseWriter, r *http.Request, _ string) {
		w.Header().Set("Content-Type", mediaStream)
		_, _ = io.WriteString(w, "data: "+strings.Repeat("x", 2*maxListenEvent))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}})
	c := mustDial(t, Config{URL: s.URL})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Listen(ctx, Filter{Tools: true}, Listener{Message: func(*wire.Message) {}}) }()
	for end := time.Now().Add(20 * time.Second); s.times(http.MethodGet) < 2; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("an event beyond the bound did not end the stream")
		}
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
}
