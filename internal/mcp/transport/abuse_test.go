// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// gzipped answers with what would be right if it were not compressed, and which nobody asked to be compressed.
func gzipped(t *testing.T, mediaType, body string) func(http.ResponseWriter, *http.Request, string) {
	t.Helper()
	return func(w http.ResponseWriter, r *http.Request, id string) {
		if got := r.Header.Get("Accept-Encoding"); got != "identity" {
			t.Errorf("Accept-Encoding: %s", got)
		}
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Type", mediaType)
		packed := gzip.NewWriter(w)
		_, _ = io.WriteString(packed, strings.ReplaceAll(body, "ID", id))
		_ = packed.Close()
	}
}

// endless writes part again and again, each after a pause.
func endless(mediaType, first, part string, pause time.Duration) func(http.ResponseWriter, *http.Request, string) {
	return func(w http.ResponseWriter, r *http.Request, _ string) {
		w.Header().Set("Content-Type", mediaType)
		_, _ = io.WriteString(w, first)
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, part); err != nil {
				return
			}
			if pause > 0 {
				_ = http.NewResponseController(w).Flush()
				time.Sleep(pause)
			}
		}
	}
}

// reset ends the connection with a RST in the middle of a body.
func reset(w http.ResponseWriter, _ *http.Request, _ string) {
	conn, buffered, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	_, _ = buffered.WriteString("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
	_ = buffered.Flush()
	_ = conn.(*net.TCPConn).SetLinger(0)
	_ = conn.Close()
}

// TestHostileAnswers: whatever a server does to a call, the call ends in a typed error within its time, once, and nothing
// is left of it: no goroutine and no socket (REC-11, REC-14 by type, DEV-43).
func TestHostileAnswers(t *testing.T) {
	mb := strings.Repeat(" ", 1<<20)
	for name, tc := range map[string]struct {
		answer     func(http.ResponseWriter, *http.Request, string)
		want       error
		status     int
		retryAfter time.Duration
	}{
		"gzip bomb":         {answer: gzipped(t, mediaJSON, `{"jsonrpc":"2.0","id":ID,"result":{"a":"`+mb+`"}}`), want: &ProtocolError{}},
		"200 MiB":           {answer: endless(mediaJSON, "", mb, 0), want: &ProtocolError{}},
		"announced 200 MiB": {answer: status(200, "Content-Type", mediaJSON, "Content-Length", "209715200"), want: &ProtocolError{}},
		"endless line":      {answer: endless(mediaStream, "data: ", mb, 0), want: &ProtocolError{}},
		"endless comments":  {answer: endless(mediaStream, "", ":\n", time.Millisecond), want: &TimeoutError{}},
		"slow drip":         {answer: endless(mediaJSON, "", " ", 10*time.Millisecond), want: &TimeoutError{}},
		"reset":             {answer: reset, want: &NetworkError{}},
		"garbage":           {answer: raw(mediaJSON, `{"jsonrpc":"2.0","id":ID,"result":{}}}`), want: &ProtocolError{}},
		"garbage events":    {answer: endless(mediaStream, "", "data: {\n\n", 0), want: &ProtocolError{}},
		"redirect":          {answer: status(302, "Location", "http://169.254.169.254/"), want: &RedirectError{}},
		"404":               {answer: status(404), want: ErrSessionLost, status: 404},
		"404 Not Found":     {answer: func(w http.ResponseWriter, r *http.Request, _ string) { http.NotFound(w, r) }, want: ErrSessionLost, status: 404},
		"401":               {answer: status(401), want: &StatusError{}, status: 401},
		"429":               {answer: status(429, "Retry-After", "7"), want: &StatusError{}, status: 429, retryAfter: 7 * time.Second},
		"503 for ever":      {answer: status(503, "Retry-After", "99999999"), want: &StatusError{}, status: 503, retryAfter: maxRetryAfter},
	} {
		t.Run(name, func(t *testing.T) {
			before := runtime.NumGoroutine()
			s := newScripted(t, answers{wire.MethodToolsCall: tc.answer})
			c := mustDial(t, Config{URL: s.URL, Era: EraLegacy})
			limit := 30 * time.Second
			if sameType(tc.want, &TimeoutError{}) {
				limit = 100 * time.Millisecond
			}
			ctx, cancel := context.WithTimeoutCause(t.Context(), limit, &TimeoutError{Phase: "the call", Limit: limit})
			defer cancel()
			_, err := c.Do(ctx, &Request{Method: wire.MethodToolsCall})
			if !sameType(err, tc.want) {
				t.Errorf("%T %v, want %T", err, err, tc.want)
			}
			var status *StatusError
			if errors.As(err, &status) && (status.Status != tc.status || status.RetryAfter != tc.retryAfter) {
				t.Errorf("%+v", status)
			}
			c.Abort()
			s.CloseClientConnections()
			s.Close()
			if c.Sockets() != 0 || s.times(wire.MethodToolsCall) != 1 {
				t.Errorf("%d sockets, sent %d times", c.Sockets(), s.times(wire.MethodToolsCall))
			}
			eventually(t, "the goroutines' end", func() bool { return runtime.NumGoroutine() <= before })
		})
	}
}

// TestHostileSSE is the same for the opening of a session of HTTP with SSE.
func TestHostileSSE(t *testing.T) {
	mb := strings.Repeat(" ", 1<<20)
	for name, tc := range map[string]struct {
		answer func(http.ResponseWriter, *http.Request, string)
		want   error
	}{
		"gzip bomb":       {gzipped(t, mediaStream, "event: endpoint\ndata: /post\n\n"), &ProtocolError{}},
		"endless line":    {endless(mediaStream, "data: ", mb, 0), &ProtocolError{}},
		"other events":    {endless(mediaStream, "", "data: {}\n\n", 0), &ProtocolError{}},
		"no event stream": {raw(mediaJSON, "{}"), &ProtocolError{}},
		"redirect":        {status(301, "Location", "http://169.254.169.254/"), &RedirectError{}},
		"401":             {status(401), &StatusError{}},
		"404":             {status(404), &StatusError{}},
		"429":             {status(429), &StatusError{}},
	} {
		before := runtime.NumGoroutine()
		s := newScripted(t, answers{http.MethodGet: tc.answer})
		if _, err := dial(t, Config{Kind: KindSSE, URL: s.URL}); !sameType(err, tc.want) {
			t.Errorf("%s: %T %v", name, err, err)
		}
		s.CloseClientConnections()
		s.Close()
		eventually(t, "the goroutines' end", func() bool { return runtime.NumGoroutine() <= before })
	}
}

// TestStandardTimeout: a request without a limit of its own has one (CON-18), which says what was waited for.
func TestStandardTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		go func() {
			in := bufio.NewReader(theirs)
			for {
				line, err := in.ReadBytes('\n')
				if err != nil {
					return
				}
				if m, err := wire.Parse(line); err == nil && m.Method == wire.MethodInitialize {
					_, _ = io.WriteString(theirs, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"}}`+"\n")
				}
			}
		}()
		open := func(context.Context) (net.Conn, error) { return ours, nil }
		c, err := Dial(t.Context(), Config{Kind: KindStdio, Era: EraLegacy, Stdio: open}, EraUnknown)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, err = c.Request(t.Context(), wire.MethodToolsList, nil)
		var timeout *TimeoutError
		if !errors.As(err, &timeout) || timeout.Phase != wire.MethodToolsList || time.Since(began) != 60*time.Second {
			t.Errorf("request: %v after %s", err, time.Since(began))
		}
		began = time.Now()
		if err := c.Check(t.Context()); !errors.As(err, &timeout) || time.Since(began) != 10*time.Second { // CON-22
			t.Errorf("check: %v after %s", err, time.Since(began))
		}
		c.Abort()
		_ = theirs.Close()
	})
}

// TestReconnectDelay grows from 1 s to 30 s at most, and the server's hint wins (CON-16); three failures to reach the
// server in a row are the end (REC-12), and one that got through begins the count anew (DEV-44).
func TestReconnectDelay(t *testing.T) {
	l := &listening{}
	last := time.Duration(0)
	for l.failures = 1; l.failures < 12; l.failures++ {
		d := l.delay()
		if d < 800*time.Millisecond || d > 30*time.Second || float64(d) < float64(last)*1.3 && last < 15*time.Second {
			t.Errorf("failure %d: %s after %s", l.failures, d, last)
		}
		last = d
	}
	l.retry, l.open = 3*time.Second, true
	if d := l.delay(); d != 3*time.Second {
		t.Errorf("hint: %s", d)
	}
	l = &listening{}
	down := &NetworkError{Err: io.EOF}
	for i, want := range []bool{false, false, true} {
		if l.lost(down) != want {
			t.Errorf("failure %d", i+1)
		}
	}
	l.unreachable, l.open = 2, true
	if l.lost(down) || l.unreachable != 0 {
		t.Error("a stream that had been open counts as unreachable")
	}
}

// TestNoStream: a GET that is refused with 405 is normal, and carries what was negotiated (CON-16); a timeout on the way
// is no loss (REC-15).
func TestNoStream(t *testing.T) {
	got := make(chan http.Header, 1)
	s := newScripted(t, answers{
		http.MethodGet: func(w http.ResponseWriter, r *http.Request, _ string) {
			got <- r.Header
			w.WriteHeader(http.StatusMethodNotAllowed)
		},
		wire.MethodToolsCall: func(_ http.ResponseWriter, r *http.Request, _ string) { <-r.Context().Done() },
		wire.MethodPing:      raw(mediaJSON, `{"jsonrpc":"2.0","id":ID,"result":{}}`),
	})
	c := mustDial(t, Config{URL: s.URL})
	if err := c.Listen(t.Context(), Filter{}, Listener{}); !errors.Is(err, ErrNoStream) {
		t.Errorf("%v", err)
	}
	if h := <-got; h.Get(wire.HeaderSessionID) != "s1" || h.Get(wire.HeaderProtocolVersion) != wire.Version20251125 {
		t.Errorf("%v", h)
	}
	if _, err := c.Do(canceledSoon(t), &Request{Method: wire.MethodToolsCall}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if err := c.Check(t.Context()); err != nil {
		t.Errorf("after a timeout: %v", err)
	}
}

// TestQuestionOnACall says on which call's stream a server asked (bridge row 12), and answers by a POST of its own.
func TestQuestionOnACall(t *testing.T) {
	answered := make(chan struct{})
	s := newScripted(t, answers{
		wire.MethodToolsCall: func(w http.ResponseWriter, _ *http.Request, id string) {
			w.Header().Set("Content-Type", mediaStream)
			_, _ = io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"elicitation/create\"}\n\n")
			_ = http.NewResponseController(w).Flush()
			<-answered
			_, _ = io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"id\":"+id+",\"result\":{}}\n\n")
		},
		"": func(w http.ResponseWriter, _ *http.Request, id string) {
			if id != `"q"` {
				t.Errorf("answered %s", id)
			}
			w.WriteHeader(http.StatusAccepted)
			close(answered)
		},
	})
	origin := make(chan *Request, 1)
	c := mustDial(t, Config{URL: s.URL, OnRequest: func(ctx context.Context, _ *wire.Message) (json.RawMessage, *wire.Error) {
		origin <- Origin(ctx)
		return json.RawMessage(`{"action":"cancel"}`), nil
	}})
	req, err := call(t, c)
	if err != nil || <-origin != req {
		t.Errorf("%v", err)
	}
}

// TestModernFilter asks over HTTP for exactly what was wanted, and reports what was granted.
func TestModernFilter(t *testing.T) {
	asked := make(chan string, 1)
	s := newScripted(t, answers{
		wire.MethodDiscover: raw(mediaJSON, `{"jsonrpc":"2.0","id":ID,"result":`+modernDiscovery+`}`),
		wire.MethodListen: func(w http.ResponseWriter, r *http.Request, id string) {
			w.Header().Set("Content-Type", mediaStream)
			_, _ = io.WriteString(w, `data: {"jsonrpc":"2.0","method":"`+wire.MethodListenAcknowledged+
				`","params":{"_meta":{"`+wire.MetaSubscriptionID+`":`+id+`},"notifications":{"toolsListChanged":true,`+
				`"promptsListChanged":true,"resourceSubscriptions":["b","z"]}}}`+"\n\n")
			_ = http.NewResponseController(w).Flush()
			asked <- r.Header.Get(wire.HeaderMethod)
			<-r.Context().Done()
		},
	})
	c := mustDial(t, Config{URL: s.URL})
	ctx, cancel := context.WithCancel(t.Context())
	granted, ended := make(chan Filter, 1), make(chan error, 1)
	go func() {
		ended <- c.Listen(ctx, Filter{Tools: true, Resources: true, URIs: []string{"a", "b"}}, Listener{
			Opened: func(_ bool, f Filter) { granted <- f },
		})
	}()
	if f := <-granted; !f.Tools || f.Resources || f.Prompts || len(f.URIs) != 1 || f.URIs[0] != "b" {
		t.Errorf("granted %v", f)
	}
	if <-asked != wire.MethodListen {
		t.Error("without its header")
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
}
