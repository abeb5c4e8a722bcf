// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

func TestLimits(t *testing.T) {
	f, b := newFixture(t, func(o *Options) { o.MaxCallsPerSession, o.MaxRequests = 2, 4 }), newBlocked()
	f.runtime.call = b.call
	var calls sync.WaitGroup
	for i := range 2 {
		calls.Go(func() { f.post(legacyCall(fmt.Sprint(i), ""), nil) })
		within(t, "the call", b.began)
	}
	g := f.post(legacyCall("9", ""), nil)
	if id, code, reason := g.problem(t); g.status != http.StatusOK || id != "9" || code != wire.CodeInternal || reason != "TooManyCalls" {
		t.Errorf("%d %s", g.status, g.body)
	}
	if g := f.post(ping, nil); g.status != http.StatusOK {
		t.Errorf("a full session does not answer a ping: %d", g.status)
	}
	f.runtime.pending.Store(true)
	ctx, stop := context.WithCancel(t.Context())
	for range 2 {
		calls.Go(func() {
			r, _ := http.NewRequestWithContext(ctx, http.MethodPost, f.url(), strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
			r.Header = http.Header{"Authorization": {"Bearer " + f.token}, "Content-Type": {"application/json"}}
			if resp, err := f.client.Do(r); err == nil {
				_ = resp.Body.Close()
			}
		})
	}
	full := func() bool {
		f.handler.limits.mu.Lock()
		defer f.handler.limits.mu.Unlock()
		return f.handler.limits.requests == 4
	}
	for !full() {
		time.Sleep(time.Millisecond)
	}
	if g := f.post(ping, nil); g.status != http.StatusServiceUnavailable || g.header.Get("Retry-After") == "" {
		t.Errorf("a full gateway: %d", g.status)
	}
	stop()
	close(b.release)
	calls.Wait()
	if g := f.post(ping, nil); g.status != http.StatusOK {
		t.Errorf("afterwards: %d", g.status)
	}
}

// TestBodies is what happens to bodies that are too much: each is refused, and the memory of it given back.
func TestBodies(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.MaxBodyBytes, o.MaxBodyBytesPerSession = 64<<20, 40<<20 })
	f.runtime.call = answer(`{}`, wire.Version20251125)
	call := func(n int) string { return legacyCall("1", `,"arguments":{"x":"`+strings.Repeat("y", n)+`"}`) }
	for name, tc := range map[string]struct {
		body io.Reader
		want int
	}{
		"4 KiB":           {strings.NewReader(call(4 << 10)), 200},
		"70 KiB":          {strings.NewReader(call(70 << 10)), 200},
		"20 MiB":          {strings.NewReader(call(20 << 20)), 200},
		"too large":       {strings.NewReader(call(wire.MaxMessageBytes)), 413},
		"chunked":         {io.MultiReader(strings.NewReader(call(1 << 20))), 200},
		"chunked, large":  {io.MultiReader(strings.NewReader(call(wire.MaxMessageBytes))), 413},
		"announced 4 KiB": {strings.NewReader(call(3 << 10)), 200},
	} {
		resp := f.do(http.MethodPost, f.url(), tc.body, nil)
		b, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != tc.want {
			t.Errorf("%s: %d, want %d: %.200s", name, resp.StatusCode, tc.want, b)
		}
	}
	for f.handler.limits.bytesInUse() != 0 {
		time.Sleep(time.Millisecond) // the last answers were read before their handlers had returned
	}
	small := newFixture(t, func(o *Options) { o.MaxBodyBytesPerSession = 128 << 10 })
	if g := small.post(call(1<<20), nil); g.status != http.StatusServiceUnavailable {
		t.Errorf("beyond the session's budget: %d", g.status)
	}
}

func (l *limits) bytesInUse() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bytes
}

func TestSlowBody(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.ReadTimeout = 50 * time.Millisecond })
	r, w := io.Pipe()
	defer func() { _ = w.Close() }()
	go func() { _, _ = io.WriteString(w, `{"jsonrpc"`) }()
	resp := f.do(http.MethodPost, f.url(), r, nil)
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusRequestTimeout {
		t.Errorf("status %d, want 408", resp.StatusCode)
	}
	if g := f.post(ping, nil); g.status != http.StatusOK {
		t.Errorf("afterwards: %d", g.status)
	}
}

// TestReadDeadlineEndsWithTheBody checks that a call may last longer than its body may take to arrive.
func TestReadDeadlineEndsWithTheBody(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.ReadTimeout, o.WriteTimeout = 30*time.Millisecond, 30*time.Millisecond })
	f.runtime.call = func(ctx context.Context, _ mcp.SessionID, _ mcp.CallRequest) (*mcp.CallResult, error) {
		select {
		case <-ctx.Done():
			return nil, &mcp.CallError{Reason: mcp.CallAborted}
		case <-time.After(150 * time.Millisecond):
			return &mcp.CallResult{Result: json.RawMessage(`{}`)}, nil
		}
	}
	for range 2 { // the second on the same connection
		g := f.modern("tools/call", `"name":"t"`, "", map[string]string{wire.HeaderName: "t"})
		if g.status != http.StatusOK || strings.Contains(g.body, "error") {
			t.Errorf("%d %s", g.status, g.body)
		}
	}
}

// TestSlowReader checks that a client that does not read cannot hold a call's stream for ever.
func TestSlowReader(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.WriteTimeout = 100 * time.Millisecond })
	ended := make(chan struct{})
	f.runtime.call = func(ctx context.Context, _ mcp.SessionID, req mcp.CallRequest) (*mcp.CallResult, error) {
		defer close(ended)
		for i := 0; ctx.Err() == nil; i++ {
			req.Notify(notification(wire.MethodProgress, fmt.Sprintf(`{"progress":%d,"message":%q}`, i, strings.Repeat("x", 32<<10))))
		}
		return nil, &mcp.CallError{Reason: mcp.CallAborted}
	}
	headers := map[string]string{wire.HeaderProtocolVersion: wire.Version20260728, wire.HeaderMethod: "tools/call", wire.HeaderName: "t"}
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":1,` + modernMeta + `}}}`
	resp := f.do(http.MethodPost, f.url(), strings.NewReader(body), headers)
	if _, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	within(t, "the end of the call", ended)
	_ = resp.Body.Close()
}

func TestShutdownWaitsThenAborts(t *testing.T) {
	f, b := newFixture(t), newBlocked()
	f.runtime.call = b.call
	answers := make(chan got, 1)
	go func() { answers <- f.post(legacyCall("1", ""), nil) }()
	within(t, "the call", b.began)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	if err := f.server.Shutdown(ctx); err == nil {
		t.Error("Shutdown did not say that something was left")
	}
	if d := time.Since(began); d < 100*time.Millisecond || d > abortGrace {
		t.Errorf("Shutdown took %v", d)
	}
	if g := <-answers; !strings.Contains(g.body, "Aborted") {
		t.Errorf("%d %s", g.status, g.body)
	}
	if err := <-b.ended; err == nil {
		t.Error("the call was not aborted")
	}
}

// TestAnonymousBody checks that a stranger's announced body is not waited for longer than anybody's.
func TestAnonymousBody(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.ReadTimeout = 200 * time.Millisecond })
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(f.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_, _ = io.WriteString(c, "POST /v1/namespaces/ns/sessions/one/mcp HTTP/1.1\r\nHost: x\r\n"+
		"Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n")
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.ReadAll(c); err != nil {
		t.Errorf("the connection was held: %v", err)
	}
}

// TestRequestsPerSession checks that one session cannot take the places of all.
func TestRequestsPerSession(t *testing.T) {
	l := newLimits(Options{MaxRequests: 10, MaxRequestsPerSession: 2}.withDefaults())
	for _, take := range []struct {
		session mcp.SessionID
		ok      bool
	}{{"a", true}, {"a", true}, {"a", false}, {"b", true}} {
		if l.takeRequest(take.session) != take.ok {
			t.Errorf("%v", take)
		}
	}
	l.giveRequest("a")
	if !l.takeRequest("a") {
		t.Error("a place was not given back")
	}
	for range 2 {
		l.giveRequest("a")
	}
	l.giveRequest("b")
	if len(l.sessions) != 0 || l.requests != 0 {
		t.Errorf("left: %v, %d", l.sessions, l.requests)
	}
}
