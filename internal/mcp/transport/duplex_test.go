// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// TestProgressFindsItsRequest routes by token, in order and before the answer; what has no request goes to the listener.
func TestProgressFindsItsRequest(t *testing.T) {
	p := newProcess(t, scripts{wire.MethodToolsCall: func(p *peer, m *wire.Message) {
		for _, token := range []string{"mine", "nobody's", "mine"} {
			p.notify(wire.MethodProgress, fmt.Sprintf(`{"progressToken":%q,"progress":1}`, token))
		}
		p.notify(wire.MethodMessage, `{"level":"info"}`)
		p.result(m, `{}`)
	}})
	c := mustDial(t, p.config())
	var own []string
	req := &Request{Method: wire.MethodToolsCall, Token: "mine", OnMessage: func(m *wire.Message) { own = append(own, m.Method) }}
	if _, err := c.Do(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(own, " "); got != wire.MethodProgress+" "+wire.MethodProgress {
		t.Errorf("the request heard %s", got)
	}
	rest := make(chan string, 8)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- c.Listen(ctx, Filter{}, Listener{Message: func(m *wire.Message) { rest <- m.Method }})
	}()
	if a, b := <-rest, <-rest; a != wire.MethodProgress || b != wire.MethodMessage {
		t.Errorf("the listener heard %s, %s", a, b)
	}
	if err := c.Listen(ctx, Filter{}, Listener{}); !errors.Is(err, ErrListening) {
		t.Errorf("a second listener: %v", err)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
}

// TestEarlyNotificationsAreKept: as many as there is room for, and then a gap is told.
func TestEarlyNotificationsAreKept(t *testing.T) {
	p := newProcess(t, scripts{wire.MethodInitialized: func(p *peer, _ *wire.Message) {
		for range maxWaiting + 44 {
			p.notify(wire.MethodToolsListChanged, `{}`)
		}
	}})
	c := mustDial(t, p.config())
	if err := c.Check(t.Context()); err != nil { // all was read before its answer
		t.Fatal(err)
	}
	heard, gaps := 0, make(chan int, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		_ = c.Listen(ctx, Filter{}, Listener{
			Opened: func(gap bool, granted Filter) {
				if gap {
					gaps <- heard
				} else if !granted.Tools || !granted.Resources || !granted.Prompts {
					t.Errorf("granted %v", granted)
				}
			},
			Message: func(*wire.Message) { heard++ },
		})
	}()
	if n := <-gaps; n != maxWaiting {
		t.Errorf("%d before the gap", n)
	}
}

// TestSlowConsumerHoldsUpNobodyForLong gives up the request whose notifications are not taken, and no other.
func TestSlowConsumerHoldsUpNobodyForLong(t *testing.T) {
	p := newProcess(t, scripts{wire.MethodToolsCall: func(p *peer, m *wire.Message) {
		for range 2*maxWaiting + 2 {
			p.notify(wire.MethodProgress, `{"progressToken":"t","progress":1}`)
		}
		p.result(m, `{}`)
	}})
	c := mustDial(t, p.config())
	release, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := c.Do(t.Context(), &Request{
			Method: wire.MethodToolsCall, Token: "t", OnMessage: func(*wire.Message) { <-release },
		})
		ended <- err
	}()
	eventually(t, "the call", func() bool { return len(p.all(wire.MethodToolsCall)) == 1 })
	began := time.Now()
	if err := c.Check(t.Context()); err != nil || time.Since(began) > 5*stallTime {
		t.Errorf("another request: %v after %s", err, time.Since(began))
	}
	close(release)
	if err := <-ended; !errors.Is(err, errSlow) {
		t.Errorf("the slow one: %v", err)
	}
	eventually(t, "the cancellation", func() bool { return len(p.all(wire.MethodCancelled)) == 1 })
	d := c.carrier.(*duplex)
	for m, _ := d.rest.take(); m != nil; m, _ = d.rest.take() { // what came when the request had been given up
		continue
	}
	if n := d.used.Load(); n != 0 {
		t.Errorf("%d bytes are still accounted for", n)
	}
}

// TestPendingIsBounded refuses what is too much, unsent, and forgets it when it has ended.
func TestPendingIsBounded(t *testing.T) {
	p := newProcess(t, nil)
	c := mustDial(t, p.config())
	ctx, cancel := context.WithCancel(t.Context())
	var calls sync.WaitGroup
	for range maxPending {
		calls.Go(func() { _, _ = c.Do(ctx, &Request{Method: "silence"}) })
	}
	eventually(t, "all requests", func() bool { return len(p.all("silence")) == maxPending })
	req, err := call(t, c)
	if !errors.Is(err, ErrBusy) || req.Sent() {
		t.Errorf("%v, sent %t", err, req.Sent())
	}
	cancel()
	calls.Wait()
	if err := c.Check(t.Context()); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	d := c.carrier.(*duplex)
	if len(d.pending) != 0 || len(d.tokens) != 0 {
		t.Errorf("%d, %d left", len(d.pending), len(d.tokens))
	}
}

// TestWriteStall: a process that does not read is given up, and callers need not wait for that.
func TestWriteStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		t.Cleanup(func() { _ = theirs.Close() })
		go func() { // the handshake, and then nothing
			buffer := make([]byte, 4096)
			_, _ = theirs.Read(buffer)
			_, _ = theirs.Write([]byte(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"}}` + "\n"))
			_, _ = theirs.Read(buffer)
		}()
		c := mustDial(t, Config{
			Kind: KindStdio, Era: EraLegacy, Stdio: func(context.Context) (net.Conn, error) { return ours, nil },
		})
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		began := time.Now()
		req := &Request{Method: wire.MethodToolsCall}
		if _, err := c.Do(ctx, req); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > writeTimeout/2 || !req.Sent() {
			t.Errorf("%v after %s, sent %t", err, time.Since(began), req.Sent())
		}
		err := c.Check(t.Context())
		if !sameType(err, &TimeoutError{}) {
			t.Errorf("%T %v", err, err)
		}
		if err := c.Wait(t.Context()); !sameType(err, &NetworkError{}) || !sameType(errors.Unwrap(err), &TimeoutError{}) {
			t.Errorf("lost by %T %v", err, err)
		}
	})
}

// TestServerRequests: ping is always answered, the unknown is refused (CON-21), handlers are few, guarded and cancellable.
func TestServerRequests(t *testing.T) {
	ask := func(p *peer, id, method string) {
		p.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q}`, id, method))
	}
	cancelled := make(chan error, 1)
	running := make(chan struct{})
	p := newProcess(t, scripts{
		wire.MethodInitialize: func(p *peer, m *wire.Message) {
			ask(p, `"early"`, wire.MethodPing)
			p.result(m, `{"protocolVersion":"2025-11-25"}`)
		},
		wire.MethodInitialized: func(p *peer, _ *wire.Message) { ask(p, "1", "roots/list") },
		wire.MethodToolsCall: func(p *peer, m *wire.Message) {
			ask(p, "2", "boom")
			ask(p, "3", "wait")
			<-running
			ask(p, "3", "wait")
			p.notify(wire.MethodCancelled, `{"requestId":3}`)
			p.result(m, `{}`)
		},
	})
	cfg := p.config()
	cfg.ClientCapabilities = wire.Object{{Name: "roots", Value: []byte(`{"listChanged":false}`)}}
	cfg.OnRequest = func(ctx context.Context, m *wire.Message) (json.RawMessage, *wire.Error) {
		switch m.Method {
		case "roots/list":
			return json.RawMessage(`{"roots":[]}`), nil
		case "wait":
			close(running)
			<-ctx.Done()
			cancelled <- context.Cause(ctx)
			return json.RawMessage(`{}`), nil
		}
		panic("boom")
	}
	c := mustDial(t, cfg)
	if params := p.all(wire.MethodInitialize)[0].Params; !strings.Contains(string(params), `"capabilities":{"roots":{"listChanged":false}}`) {
		t.Errorf("declared %s", params)
	}
	if _, err := call(t, c); err != nil {
		t.Fatal(err)
	}
	if err := <-cancelled; !errors.Is(err, errWithdrawn) {
		t.Errorf("cancelled by %v", err)
	}
	eventually(t, "four answers", func() bool { return len(p.all("")) == 4 })
	for _, m := range p.all("") {
		code := int64(0)
		if m.Error != nil {
			code = m.Error.Code
		}
		want, ok := map[string]int64{`"early"`: 0, "1": 0, "2": wire.CodeInternal, "3": wire.CodeInvalidRequest}[m.ID.String()]
		if !ok || code != want {
			t.Errorf("%s: %d", m.ID, code)
		}
	}
}

// TestFloodOfServerRequests: 3,000 requests at once cost 8 goroutines, and each is answered.
func TestFloodOfServerRequests(t *testing.T) {
	const flood = 3000
	p := newProcess(t, scripts{wire.MethodToolsCall: func(p *peer, m *wire.Message) {
		for i := range flood {
			p.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"sampling/createMessage"}`, i))
		}
		p.result(m, `{}`)
	}})
	release := make(chan struct{})
	var most atomic.Int32
	cfg := p.config()
	var at atomic.Int32
	cfg.OnRequest = func(context.Context, *wire.Message) (json.RawMessage, *wire.Error) {
		if n := at.Add(1); n > most.Load() {
			most.Store(n)
		}
		<-release
		at.Add(-1)
		return json.RawMessage(`{}`), nil
	}
	c := mustDial(t, cfg)
	before := runtime.NumGoroutine()
	if _, err := call(t, c); err != nil {
		t.Fatal(err)
	}
	if n := runtime.NumGoroutine() - before; n > maxQuestions+4 || most.Load() > maxQuestions {
		t.Errorf("%d goroutines more, %d handlers", n, most.Load())
	}
	close(release)
	eventually(t, "all answers", func() bool { return len(p.all("")) == flood })
}

// TestModernListens runs several at once over one channel: each hears its own, and is cancelled by name (bridge row 25).
func TestModernListens(t *testing.T) {
	var mu sync.Mutex
	asked := map[string]string{} // filter by id
	acknowledge := func(p *peer, m *wire.Message) {
		params, _ := wire.ParseObject(m.Params)
		filter := string(params.Get("notifications"))
		if strings.Contains(filter, "prompts") {
			filter = "{}"
		}
		mu.Lock()
		asked[m.ID.String()] = filter
		mu.Unlock()
		meta := fmt.Sprintf(`"_meta":{%q:%s}`, wire.MetaSubscriptionID, m.ID)
		p.notify(wire.MethodListenAcknowledged, fmt.Sprintf(`{%s,"notifications":%s}`, meta, filter))
		p.notify("notifications/resources/updated", fmt.Sprintf(`{%s,"uri":%q}`, meta, filter))
	}
	p := modernProcess(t, scripts{wire.MethodListen: acknowledge})
	c := mustDial(t, p.config())
	if err := c.Listen(t.Context(), Filter{Prompts: true}, Listener{}); !errors.Is(err, ErrNoStream) {
		t.Errorf("nothing granted: %v", err)
	}
	if err := c.Listen(t.Context(), Filter{}, Listener{}); !errors.Is(err, ErrNoStream) {
		t.Errorf("nothing asked: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var listens sync.WaitGroup
	heard := make(chan string, 8)
	for want, filter := range map[string]Filter{
		`{"toolsListChanged":true}`:              {Tools: true},
		`{"resourceSubscriptions":["a:\u003c"]}`: {URIs: []string{"a:<"}},
	} {
		listens.Go(func() {
			err := c.Listen(ctx, filter, Listener{
				Opened: func(gap bool, granted Filter) {
					if gap || granted.Tools != filter.Tools || len(granted.URIs) != len(filter.URIs) {
						t.Errorf("granted %v for %v, gap %t", granted, filter, gap)
					}
				},
				Message: func(m *wire.Message) {
					var params struct{ URI string }
					if json.Unmarshal(m.Params, &params) != nil || params.URI != want {
						t.Errorf("%s heard %s", want, m.Params)
					}
					heard <- want
				},
			})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("ended with %v", err)
			}
		})
	}
	if a, b := <-heard, <-heard; a == b {
		t.Errorf("%s heard twice", a)
	}
	cancel()
	listens.Wait()
	eventually(t, "both cancellations", func() bool { return len(p.all(wire.MethodCancelled)) == 2 })
	for _, m := range p.all(wire.MethodCancelled) {
		mu.Lock()
		if _, ok := asked[cancels(m)]; !ok {
			t.Errorf("cancelled %s", cancels(m))
		}
		mu.Unlock()
	}
}

// TestLogLevel goes with each request of the modern era, from when it is set.
func TestLogLevel(t *testing.T) {
	p := modernProcess(t, scripts{wire.MethodToolsCall: func(p *peer, m *wire.Message) { p.result(m, `{}`) }})
	c := mustDial(t, p.config())
	for _, level := range []string{"", "warning", ""} {
		c.SetLogLevel(level)
		if _, err := call(t, c); err != nil {
			t.Fatal(err)
		}
	}
	for i, m := range p.all(wire.MethodToolsCall) {
		if got := strings.Contains(string(m.Params), `"`+wire.MetaLogLevel+`":"warning"`); got != (i == 1) {
			t.Errorf("%d: %s", i, m.Params)
		}
	}
}

// TestCheckTakesItsTimeFromTheCaller: a ping that is not answered is a timeout, when the caller says (CON-22).
func TestCheckTakesItsTimeFromTheCaller(t *testing.T) {
	p := newProcess(t, scripts{wire.MethodPing: func(*peer, *wire.Message) {}})
	c := mustDial(t, p.config())
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	began := time.Now()
	err := c.Check(ctx)
	if !sameType(err, &TimeoutError{}) || time.Since(began) > time.Second {
		t.Errorf("%T %v after %s", err, err, time.Since(began))
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := c.Check(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
}
