// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mooring-dev/mooring/internal/mcp"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

func legacyCall(id, more string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"mcp__s__t"` + more + `}}`
}

func notification(method, params string) *wire.Message {
	return &wire.Message{Method: method, Params: json.RawMessage(params)}
}

// TestWhatTheRuntimeIsAsked checks what of a request goes on: arguments and vendor metadata byte for byte, and nothing
// that belongs to this hop (bridge row 3).
func TestWhatTheRuntimeIsAsked(t *testing.T) {
	f := newFixture(t)
	var asked mcp.CallRequest
	var session mcp.SessionID
	f.runtime.call = func(_ context.Context, id mcp.SessionID, req mcp.CallRequest) (*mcp.CallResult, error) {
		asked, session = req, id
		return &mcp.CallResult{Result: json.RawMessage(`{}`)}, nil
	}
	arguments := `{"n":9007199254740993,"e":1e400,"z":"\u00e9<&","a":{"name":"x"}}`
	vendor := `"com.example/trace":{"n":12345678901234567890},"traceparent":"00-1"`
	f.post(legacyCall("1", `,"arguments":`+arguments+
		`,"_meta":{"progressToken":"p",`+vendor+`,"io.modelcontextprotocol/logLevel":"debug"}`), nil)
	if string(asked.Arguments) != arguments || string(asked.Meta) != "{"+vendor+"}" || asked.Tool != "mcp__s__t" || session != "uid-ns-one" {
		t.Errorf("legacy: asked %s with %s, %s of %s", asked.Tool, asked.Arguments, asked.Meta, session)
	}
	f.modern("tools/call", `"name":"t","arguments":`+arguments+`,"extra":1`, vendor, map[string]string{wire.HeaderName: "t"})
	if string(asked.Arguments) != arguments || string(asked.Meta) != "{"+vendor+"}" || asked.Tool != "t" {
		t.Errorf("modern: asked %s with %s, %s", asked.Tool, asked.Arguments, asked.Meta)
	}
	if asked.Notify != nil {
		t.Error("modern: notifications were asked for, though neither progress nor logs were")
	}
	f.modern("tools/call", `"name":"t"`, "", map[string]string{wire.HeaderName: "t"})
	if asked.Arguments != nil || asked.Meta != nil {
		t.Errorf("nothing given: %s, %s", asked.Arguments, asked.Meta)
	}
}

// TestProgress is 1,000 back-to-back notifications: none lost, order kept, the agent's own token on each.
func TestProgress(t *testing.T) {
	const n = 1000
	call := func(_ context.Context, _ mcp.SessionID, req mcp.CallRequest) (*mcp.CallResult, error) {
		for i := range n {
			req.Notify(notification(wire.MethodProgress, fmt.Sprintf(`{"progressToken":"ours","progress":%d.50,"total":1e3,"x":[%d]}`, i, i)))
		}
		return &mcp.CallResult{Result: json.RawMessage("{\n\"content\":\r\n[]}"), ProtocolVersion: wire.Version20251125}, nil
	}
	for _, token := range []string{`"agent's"`, `9007199254740993`} {
		f := newFixture(t)
		f.runtime.call = call
		g := f.post(legacyCall(`"c"`, `,"_meta":{"progressToken":`+token+`}`), nil)
		events := g.events(t)
		if len(events) != n+1 {
			t.Fatalf("%d events, want %d", len(events), n+1)
		}
		for i, event := range events[:n] {
			want := fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress",`+
				`"params":{"progressToken":%s,"progress":%d.50,"total":1e3,"x":[%d]}}`, token, i, i)
			if event != want {
				t.Fatalf("event %d: %s\nwant %s", i, event, want)
			}
		}
		if want := `{"jsonrpc":"2.0","id":"c","result":{"content":[]}}`; compact(t, events[n]) != want {
			t.Errorf("result %s", events[n])
		}
		if g.header.Get("X-Accel-Buffering") != "no" || g.header.Get("Cache-Control") != "no-store" {
			t.Errorf("headers %v", g.header)
		}
	}
}

func TestNotificationsThatAreNotForTheAgent(t *testing.T) {
	all := func(_ context.Context, _ mcp.SessionID, req mcp.CallRequest) (*mcp.CallResult, error) {
		for _, m := range []*wire.Message{
			notification(wire.MethodProgress, `{"progressToken":1,"progress":1}`),
			notification(wire.MethodMessage, `{"level":"debug","data":1,"_meta":{"io.modelcontextprotocol/subscriptionId":"s"}}`),
			notification(wire.MethodMessage, `{"level":"error","data":2,"_meta":{"io.modelcontextprotocol/subscriptionId":"s","v":1}}`),
			notification(wire.MethodToolsListChanged, `{}`),
		} {
			if req.Notify != nil {
				req.Notify(m)
			}
		}
		return &mcp.CallResult{Result: json.RawMessage(`{}`), ProtocolVersion: wire.Version20260728}, nil
	}
	progress := `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1}}`
	debug := `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"debug","data":1}}`
	failure := `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":2,"_meta":{"v":1}}}`
	modern := func(meta string) func(*fixture) got {
		return func(f *fixture) got {
			return f.modern("tools/call", `"name":"t"`, meta, map[string]string{wire.HeaderName: "t"})
		}
	}
	for name, tc := range map[string]struct {
		send func(*fixture) got
		want []string
	}{
		"legacy, no token":    {func(f *fixture) got { return f.post(legacyCall("1", ""), nil) }, []string{debug, failure}},
		"legacy, token":       {func(f *fixture) got { return f.post(legacyCall("1", `,"_meta":{"progressToken":"p"}`), nil) }, []string{progress, debug, failure}},
		"modern, nothing":     {modern(""), nil},
		"modern, token":       {modern(`"progressToken":"p"`), []string{progress}},
		"modern, warnings up": {modern(`"io.modelcontextprotocol/logLevel":"warning"`), []string{failure}},
		"modern, all": {
			modern(`"progressToken":"p","io.modelcontextprotocol/logLevel":"debug"`),
			[]string{progress, debug, failure},
		},
		"legacy, no streams": {func(f *fixture) got {
			return f.post(legacyCall("1", `,"_meta":{"progressToken":"p"}`), map[string]string{"Accept": "application/json"})
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.runtime.call = all
			g := tc.send(f)
			if tc.want == nil {
				if g.header.Get("Content-Type") != "application/json" {
					t.Errorf("answered as %s: %s", g.header.Get("Content-Type"), g.body)
				}
				return
			}
			events := g.events(t)
			if diff := cmp.Diff(tc.want, events[:len(events)-1]); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSilentCallBecomesAStream checks the stream that opens by itself and the comments that keep it open.
func TestSilentCallBecomesAStream(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.StreamAfter, o.KeepAlive = 20*time.Millisecond, 20*time.Millisecond })
	f.runtime.call = func(context.Context, mcp.SessionID, mcp.CallRequest) (*mcp.CallResult, error) {
		time.Sleep(150 * time.Millisecond)
		return &mcp.CallResult{Result: json.RawMessage(`{"content":[]}`)}, nil
	}
	g := f.post(legacyCall("1", ""), nil)
	if n := strings.Count(g.body, ":\n\n"); n < 2 {
		t.Errorf("%d comments in %q", n, g.body)
	}
	if events := g.events(t); len(events) != 1 {
		t.Errorf("events %v", events)
	}
	if g := f.post(legacyCall("1", ""), map[string]string{"Accept": "application/json"}); g.header.Get("Content-Type") != "application/json" {
		t.Errorf("a client that takes no stream got %s", g.header.Get("Content-Type"))
	}
}

// blocked is a call that says when it began, and ends by its context or when it is let go.
type blocked struct {
	began, release chan struct{}
	ended          chan error
}

func newBlocked() *blocked {
	return &blocked{began: make(chan struct{}, 100), release: make(chan struct{}), ended: make(chan error, 100)}
}

func (b *blocked) call(ctx context.Context, _ mcp.SessionID, _ mcp.CallRequest) (*mcp.CallResult, error) {
	b.began <- struct{}{}
	select {
	case <-ctx.Done():
		b.ended <- ctx.Err()
		return nil, &mcp.CallError{Reason: mcp.CallAborted, Sent: true, Err: ctx.Err()}
	case <-b.release:
		b.ended <- nil
		return &mcp.CallResult{Result: json.RawMessage(`{}`)}, nil
	}
}

func within(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(5 * time.Second):
		t.Fatalf("%s did not happen", what)
	}
}

// TestAgentGone is bridge row 15: a closed stream cancels in the modern era only.
func TestAgentGone(t *testing.T) {
	for _, modern := range []bool{true, false} {
		t.Run(fmt.Sprintf("modern=%v", modern), func(t *testing.T) {
			f, b := newFixture(t), newBlocked()
			f.runtime.call = b.call
			body, headers := legacyCall("1", ""), map[string]string{}
			if modern {
				body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{` + modernMeta + `}}}`
				headers = map[string]string{wire.HeaderProtocolVersion: wire.Version20260728, wire.HeaderMethod: "tools/call", wire.HeaderName: "t"}
			}
			ctx, leave := context.WithCancel(t.Context())
			gone := make(chan struct{})
			go func() {
				defer close(gone)
				r, _ := http.NewRequestWithContext(ctx, http.MethodPost, f.url(), strings.NewReader(body))
				r.Header = http.Header{"Authorization": {"Bearer " + f.token}, "Content-Type": {"application/json"}, "Accept": {"*/*"}}
				for k, v := range headers {
					r.Header.Set(k, v)
				}
				if resp, err := f.client.Do(r); err == nil {
					_ = resp.Body.Close()
				}
			}()
			within(t, "the call", b.began)
			leave()
			within(t, "the disconnection", gone)
			if modern {
				if err := <-b.ended; err == nil {
					t.Error("the call was not cancelled")
				}
				return
			}
			select {
			case err := <-b.ended:
				t.Errorf("the call ended with its connection: %v", err)
			case <-time.After(100 * time.Millisecond):
			}
			close(b.release)
			if err := <-b.ended; err != nil {
				t.Errorf("the call ended early: %v", err)
			}
		})
	}
}

func TestCancelled(t *testing.T) {
	f, b := newFixture(t), newBlocked()
	f.runtime.call = b.call
	other := f.cluster.tokens[f.token+"@"+Audience("ns", "one")]
	other.PodUID = "another pod"
	f.cluster.tokens["other@"+Audience("ns", "one")] = other

	answers := make(chan got, 3)
	start := func(id string) {
		go func() { answers <- f.post(legacyCall(id, ""), nil) }()
		within(t, "the call", b.began)
	}
	cancel := func(id, token string) {
		body := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `,"reason":"x"}}`
		if g := f.post(body, map[string]string{"Authorization": "Bearer " + token}); g.status != http.StatusAccepted || g.body != "" {
			t.Fatalf("cancelled: %d %q", g.status, g.body)
		}
	}
	start("1")
	cancel("2", f.token)   // another id
	cancel(`"1"`, f.token) // a string is not a number
	cancel("1", "other")   // another Pod
	start("1")
	cancel("1", f.token) // two calls have this id: neither is meant
	select {
	case err := <-b.ended:
		t.Fatalf("a call that was not meant was cancelled: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	start("3")
	cancel("3", f.token)
	g := <-answers
	if id, code, reason := g.problem(t); g.status != http.StatusOK || id != "3" || code != wire.CodeInternal || reason != "Aborted" {
		t.Errorf("%d %s", g.status, g.body)
	}
	if err := <-b.ended; err == nil {
		t.Error("the call was not cancelled")
	}
	close(b.release)
	<-answers
	<-answers
	if len(f.handler.inflight.calls) != 0 || len(f.handler.limits.sessions) != 0 || f.handler.limits.requests != 0 {
		t.Errorf("left in the tables: %v, %v, %d", f.handler.inflight.calls, f.handler.limits.sessions, f.handler.limits.requests)
	}
}
