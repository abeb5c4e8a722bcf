// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// connected returns a runtime with session "a" connected to f.
func connected(t *testing.T, f *fake, limits CallLimits) *Runtime {
	t.Helper()
	r := newRuntime(t, func(o *Options) { o.MaxCallsPerSession = 2 })
	server := to(f, "one")
	server.Policy.Calls = limits
	r.Ensure("a", desired(server))
	synced(t, r, "a")
	return r
}

func echo(arguments string) CallRequest {
	req := CallRequest{Tool: "mcp__one__echo"}
	if arguments != "" {
		req.Arguments = json.RawMessage(arguments)
	}
	return req
}

func TestCallPassesBytes(t *testing.T) {
	f := newFake(t)
	const result = `{"content":[{"type":"new","n":12345678901234567890}],"structuredContent":[1,2],"x":{"b":1,"a":2}}`
	var got string
	f.answer = func(m *wire.Message, a *answer) {
		got = string(m.Params)
		a.result(result)
	}
	r := connected(t, f, CallLimits{})
	req := echo(`{"n":12345678901234567890,"b":1,"a":2}`)
	req.Meta = json.RawMessage(`{"vendor/key":1,"progressToken":"theirs","io.modelcontextprotocol/logLevel":"debug"}`)
	res, err := r.Call(context.Background(), "a", req)
	if err != nil {
		t.Fatal(err)
	}
	if string(res.Result) != result || res.Server != "one" || res.Tool != "echo" || res.Generation != 1 {
		t.Errorf("result %s of %+v", res.Result, res)
	}
	want := `{"name":"echo","arguments":{"n":12345678901234567890,"b":1,"a":2},"_meta":{"vendor/key":1}}`
	if got != want {
		t.Errorf("params\n%s, want\n%s", got, want)
	}
}

func TestCallFailures(t *testing.T) {
	cases := []struct {
		name    string
		request CallRequest
		answer  func(*wire.Message, *answer)
		reason  CallReason
		unknown bool
	}{
		{name: "no such tool", request: CallRequest{Tool: "nothing"}, reason: CallToolNotFound},
		{name: "arguments no object", request: echo(`[1]`), reason: CallInvalid},
		{name: "arguments twice", request: echo(`{"a":1,"a":2}`), reason: CallInvalid},
		{
			name: "JSON-RPC error", request: echo(""), reason: CallRPCError,
			answer: func(_ *wire.Message, a *answer) { a.error(-32000) },
		},
		{
			name: "500", request: echo(""), reason: CallRejected, unknown: true,
			answer: func(_ *wire.Message, a *answer) { a.w.WriteHeader(500) },
		},
		{
			name: "400", request: echo(""), reason: CallRejected,
			answer: func(_ *wire.Message, a *answer) { a.w.WriteHeader(400) },
		},
		{
			name: "result no object", request: echo(""), reason: CallRejected, unknown: true,
			answer: func(_ *wire.Message, a *answer) { a.result(`7`) },
		},
		{name: "torn", request: echo(""), reason: CallConnectionLost, unknown: true, answer: func(_ *wire.Message, a *answer) {
			a.event(`{"jsonrpc":"2.0","method":"notifications/message","params":{}}`)
			panic(errAbort)
		}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake(t)
			f.Config.ErrorLog = quiet()
			f.answer = func(m *wire.Message, a *answer) {
				defer func() {
					if recover() != nil {
						panic(errAbort)
					}
				}()
				tc.answer(m, a)
			}
			r := connected(t, f, CallLimits{Total: 3 * time.Second})
			_, err := r.Call(context.Background(), "a", tc.request)
			var call *CallError
			if !errors.As(err, &call) || call.Reason != tc.reason || call.OutcomeUnknown() != tc.unknown {
				t.Fatalf("%v (%+v), want %s, unknown %t", err, call, tc.reason, tc.unknown)
			}
			if tc.reason == CallRPCError {
				var rpc *wire.Error
				if !errors.As(err, &rpc) || rpc.Code != -32000 || string(rpc.Data) != `{"x":1}` {
					t.Errorf("error %+v", rpc)
				}
			}
		})
	}
}

func TestCALL08TotalAndCALL09Idle(t *testing.T) {
	f := newFake(t)
	until := make(chan struct{})
	defer close(until)
	f.answer = func(m *wire.Message, a *answer) {
		params, _ := wire.ParseObject(m.Params)
		meta, _ := wire.ParseObject(params.Get("_meta"))
		if token := meta.Get("progressToken"); token != nil {
			a.event(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`, token))
		}
		<-until
	}
	r := connected(t, f, CallLimits{Total: 1200 * time.Millisecond, Idle: 300 * time.Millisecond})
	var call *CallError
	begin := time.Now()
	_, err := r.Call(context.Background(), "a", echo(""))
	if !errors.As(err, &call) || call.Reason != CallTimeout || !call.OutcomeUnknown() || time.Since(begin) < time.Second {
		t.Errorf("without progress: %v after %s", err, time.Since(begin))
	}
	begin = time.Now()
	req := echo("")
	req.Notify = func(*wire.Message) {}
	_, err = r.Call(context.Background(), "a", req)
	if !errors.As(err, &call) || call.Reason != CallIdle || time.Since(begin) > time.Second {
		t.Errorf("after the last progress: %v after %s", err, time.Since(begin))
	}
	// Both were cancelled at the server (CALL-07).
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		if strings.Count(strings.Join(get(f, func(f *fake) []string { return f.heard }), " "), wire.MethodCancelled) == 2 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the server was not told")
		}
	}
}

func TestCallAbortAndSlots(t *testing.T) {
	f := newFake(t)
	until := make(chan struct{})
	defer close(until)
	f.answer = func(*wire.Message, *answer) { <-until }
	r := connected(t, f, CallLimits{})
	ctx, cancel := context.WithCancel(context.Background())
	outcome := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := r.Call(ctx, "a", echo(""))
			outcome <- err
		}()
	}
	for r.Stats().CallsInFlight != 2 {
		time.Sleep(time.Millisecond)
	}
	var call *CallError
	if _, err := r.Call(context.Background(), "a", echo("")); !errors.As(err, &call) || call.Reason != CallTooMany {
		t.Errorf("a third call: %v", err)
	}
	cancel()
	for range 2 {
		if err := <-outcome; !errors.As(err, &call) || call.Reason != CallAborted {
			t.Errorf("aborted: %v", err)
		}
	}
	if n := r.Stats().CallsInFlight; n != 0 {
		t.Errorf("%d calls in flight", n) // CALL-06
	}
}

func TestBridge14ProgressIsStrictlyIncreasing(t *testing.T) {
	f := newFake(t)
	f.answer = func(m *wire.Message, a *answer) {
		params, _ := wire.ParseObject(m.Params)
		meta, _ := wire.ParseObject(params.Get("_meta"))
		for _, value := range []string{"1", "1", "0.5", "2", `"3"`, "1e400"} {
			a.event(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%s}}`,
				meta.Get("progressToken"), value))
		}
		a.event(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"other","progress":9}}`)
		a.event(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, a.id))
	}
	r := connected(t, f, CallLimits{})
	var got []string
	req := echo("")
	req.Notify = func(m *wire.Message) {
		params, _ := wire.ParseObject(m.Params)
		got = append(got, string(params.Get("progress")))
	}
	if _, err := r.Call(context.Background(), "a", req); err != nil {
		t.Fatal(err)
	}
	if strings.Join(got, " ") != "1 2" {
		t.Errorf("progress %v", got)
	}
}

func TestModernCallMirrorsHeaders(t *testing.T) {
	f := newFake(t)
	f.modern = true
	f.tools = `{"tools":[{"name":"wörld","inputSchema":{"type":"object","properties":{
		"region":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer","x-mcp-header":"N"}}}}]}`
	r := connected(t, f, CallLimits{})
	s, _ := r.Snapshot("a")
	_, err := r.Call(context.Background(), "a",
		CallRequest{Tool: names(s), Arguments: json.RawMessage(`{"region":"eu","n":null}`)})
	if err != nil {
		t.Fatal(err)
	}
	headers := get(f, func(f *fake) map[string][]string { return f.headers[len(f.headers)-1] })
	if got := headers["Mcp-Name"]; len(got) != 1 || got[0] != "=?base64?d8O2cmxk?=" {
		t.Errorf("Mcp-Name %v", got)
	}
	if got := headers["Mcp-Param-Region"]; len(got) != 1 || got[0] != "eu" {
		t.Errorf("Mcp-Param-Region %v", got)
	}
	if _, ok := headers["Mcp-Param-N"]; ok {
		t.Error("a null argument was mirrored")
	}
}

// A server that takes a call, breaks its stream off and has forgotten the session did take the call.
func TestRefusedResumptionIsNoAnswer(t *testing.T) {
	f := newFake(t)
	f.Config.ErrorLog = quiet()
	f.answer = func(_ *wire.Message, a *answer) {
		a.event("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\nid: 1\nretry: 10")
		f.with(func(f *fake) { f.status = http.StatusNotFound })
		panic(errAbort)
	}
	r := connected(t, f, CallLimits{})
	_, err := r.Call(context.Background(), "a", echo(""))
	var call *CallError
	if !errors.As(err, &call) || call.Reason != CallConnectionLost || !call.OutcomeUnknown() {
		t.Errorf("%v: %+v", err, call)
	}
}

// An agent that does not read its notifications holds up its call, and not the end of the session.
func TestTeardownKeepsItsDeadline(t *testing.T) {
	f := newFake(t)
	f.answer = func(_ *wire.Message, a *answer) {
		a.event(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`)
	}
	r := connected(t, f, CallLimits{})
	heard, hold := make(chan struct{}), make(chan struct{})
	req := echo("")
	req.Notify = func(*wire.Message) {
		close(heard)
		<-hold
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = r.Call(context.Background(), "a", req)
	}()
	<-heard
	begin := time.Now()
	deadline := begin.Add(time.Second)
	for !r.Release("a", deadline).Done {
		if time.Since(begin) > 6*time.Second {
			t.Fatal("not done 5 s after the deadline")
		}
		time.Sleep(5 * time.Millisecond)
	}
	close(hold)
	<-ended
}
