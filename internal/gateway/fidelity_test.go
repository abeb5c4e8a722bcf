// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/mooring-dev/mooring/internal/mcp"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

const ourInfo = `"io.modelcontextprotocol/serverInfo":{"name":"mooring","version":"1.2.3"}`

// results are what servers say, and what an agent of each era reads of it. An empty want is the result as it was sent;
// a modern agent always gets the resultType and serverInfo that its era wants, at the end.
var results = map[string]struct {
	sent       string
	fromModern bool
	legacy     string
	modern     string
}{
	"text":  {sent: `{"content":[{"type":"text","text":"hi"}]}`},
	"empty": {sent: `{}`, modern: `{"resultType":"complete","_meta":{` + ourInfo + `}}`},
	"spaces and order": {
		sent:   `{ "isError" : false ,  "content" : [ ] }`,
		modern: `{ "isError" : false ,  "content" : [ ] ,"resultType":"complete","_meta":{` + ourInfo + `}}`,
	},
	"big numbers":             {sent: `{"content":[],"structuredContent":{"n":9007199254740993,"f":1.0,"e":1e400,"m":-0}}`},
	"structured, not object":  {sent: `{"content":[],"structuredContent":[1,null,"x"]}`},
	"unknown content type":    {sent: `{"content":[{"type":"hologram","x":{"y":[1]}}]}`},
	"image, audio, resource":  {sent: `{"content":[{"type":"image","data":"aGk=","mimeType":"image/png","annotations":{"priority":0.30}},{"type":"audio","data":"","mimeType":"a/b"},{"type":"resource_link","uri":"x:y","name":"n","icons":[{"src":"d"}]},{"type":"resource","resource":{"uri":"x:y","blob":"aGk="}}]}`},
	"unknown fields":          {sent: `{"content":[],"vendor":{"a":1},"isError":true}`},
	"characters":              {sent: `{"content":[{"type":"text","text":"<&>\u2028é😀\n\t\""}]}`},
	"meta of a content block": {sent: `{"content":[{"type":"text","text":"","_meta":{"io.modelcontextprotocol/serverInfo":1}}]}`},
	"vendor meta": {
		sent:   `{"content":[],"_meta":{"v/x":[1.0],"ui":{"resourceUri":"ui://a"}}}`,
		modern: `{"content":[],"_meta":{"v/x":[1.0],"ui":{"resourceUri":"ui://a"},` + ourInfo + `},"resultType":"complete"}`,
	},
	"hop meta": {
		sent:   `{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"theirs"},"progressToken":3,"v":1},"content":[]}`,
		legacy: `{"_meta":{"v":1},"content":[]}`,
		modern: `{"_meta":{"v":1,` + ourInfo + `},"content":[],"resultType":"complete"}`,
	},
	"hop meta only": {
		sent:   `{"_meta":{"io.modelcontextprotocol/serverInfo":{}},"content":[]}`,
		legacy: `{"content":[]}`,
		modern: `{"content":[],"resultType":"complete","_meta":{` + ourInfo + `}}`,
	},
	"hop meta, escaped": {
		sent:   `{"\u005fmeta":{"progress\u0054oken":3},"content":[]}`,
		legacy: `{"content":[]}`,
		modern: `{"content":[],"resultType":"complete","_meta":{` + ourInfo + `}}`,
	},
	"meta not an object": {sent: `{"content":[],"_meta":7}`, modern: `{"content":[],"_meta":7,"resultType":"complete"}`},
	"modern, complete": {
		sent: `{"resultType":"complete","content":[]}`, fromModern: true, legacy: `{"content":[]}`,
		modern: `{"resultType":"complete","content":[],"_meta":{` + ourInfo + `}}`,
	},
	"modern, none": {
		sent: `{"content":[]}`, fromModern: true,
		modern: `{"content":[],"resultType":"complete","_meta":{` + ourInfo + `}}`,
	},
	"modern, of an extension": {
		sent: `{"resultType":"x","content":[]}`, fromModern: true, legacy: `{"content":[]}`,
		modern: `{"resultType":"x","content":[],"_meta":{` + ourInfo + `}}`,
	},
	"legacy, field of that name": {
		sent:   `{"resultType":"csv","content":[]}`,
		modern: `{"resultType":"complete","content":[],"_meta":{` + ourInfo + `}}`,
	},
	"not an object": {sent: `[1]`, modern: `[1]`},
	"large":         {sent: `{"content":[{"type":"text","text":"` + strings.Repeat("y", 3<<20) + `"}]}`},
}

// TestResultsOnTheWire is bridge rows 1 to 3, in plain answers and in streams.
func TestResultsOnTheWire(t *testing.T) {
	f := newFixture(t)
	for name, tc := range results {
		version := wire.Version20251125
		if tc.fromModern {
			version = wire.Version20260728
		}
		f.runtime.call = answer(tc.sent, version)
		legacy, modern := tc.legacy, tc.modern
		if legacy == "" {
			legacy = tc.sent
		}
		if modern == "" {
			modern = strings.TrimSuffix(tc.sent, "}") + `,"resultType":"complete","_meta":{` + ourInfo + `}}`
		}
		check := func(era string, got, want string) {
			if want = `{"jsonrpc":"2.0","id":7,"result":` + want + `}`; got != want {
				t.Errorf("%s, %s: got %.600s\nwant %.600s", name, era, got, want)
			}
		}
		check("legacy", f.post(legacyCall("7", ""), nil).body, legacy)
		call := func(accept string) got {
			return f.modern("tools/call", `"name":"t"`, "", map[string]string{wire.HeaderName: "t", "Accept": accept})
		}
		check("modern", call("application/json, text/event-stream").body, modern)
		events := call("text/event-stream").events(t)
		check("stream", events[0], modern)
	}
}

// TestErrorsOnTheWire is bridge row 16 for what servers answer.
func TestErrorsOnTheWire(t *testing.T) {
	f := newFixture(t)
	long := strings.Repeat("é", maxErrorText)
	for name, tc := range map[string]struct {
		sent           wire.Error
		legacy, modern string
		status         int // of the modern answer
	}{
		"vendor code and data": {
			sent:   wire.Error{Code: 1234567890123, Message: "m<&\"", Data: json.RawMessage(`{"n":9007199254740993}`)},
			legacy: `{"code":1234567890123,"message":"m<&\"","data":{"n":9007199254740993}}`,
			modern: `{"code":1234567890123,"message":"m<&\"","data":{"n":9007199254740993}}`, status: 200,
		},
		"invalid params": {sent: wire.Error{Code: -32602, Message: "m"}, legacy: `{"code":-32602,"message":"m"}`, modern: `{"code":-32602,"message":"m"}`, status: 200},
		"server code":    {sent: wire.Error{Code: -32000, Message: "m", Data: json.RawMessage(`null`)}, legacy: `{"code":-32000,"message":"m","data":null}`, modern: `{"code":-32000,"message":"m","data":null}`, status: 200},
		"not found":      {sent: wire.Error{Code: -32002, Message: "m"}, legacy: `{"code":-32002,"message":"m"}`, modern: `{"code":-32602,"message":"m"}`, status: 200},
		"missing capability": {
			sent:   wire.Error{Code: -32021, Message: "m", Data: json.RawMessage(`{"requiredCapabilities":{"sampling":{}}}`)},
			legacy: `{"code":-32603,"message":"m","data":{"requiredCapabilities":{"sampling":{}}}}`,
			modern: `{"code":-32021,"message":"m","data":{"requiredCapabilities":{"sampling":{}}}}`, status: 400,
		},
		"header mismatch": {sent: wire.Error{Code: -32020, Message: "m"}, legacy: `{"code":-32603,"message":"m"}`, modern: `{"code":-32020,"message":"m"}`, status: 400},
		"version":         {sent: wire.Error{Code: -32022, Message: "m"}, legacy: `{"code":-32603,"message":"m"}`, modern: `{"code":-32022,"message":"m"}`, status: 400},
		"URL elicitation": {
			sent:   wire.Error{Code: -32042, Message: "m", Data: json.RawMessage(`{"elicitations":[]}`)},
			legacy: `{"code":-32042,"message":"m","data":{"elicitations":[]}}`,
			modern: `{"code":501,"message":"m","data":{"reason":"Unsupported"}}`, status: 200,
		},
		"long text": {sent: wire.Error{Code: 1, Message: long}, legacy: `{"code":1,"message":"` + long[:maxErrorText] + `"}`, modern: `{"code":1,"message":"` + long[:maxErrorText] + `"}`, status: 200},
	} {
		f.runtime.call = failing(&mcp.CallError{Reason: mcp.CallRPCError, Sent: true, Answered: true, Err: fmt.Errorf("wrapped: %w", &tc.sent)})
		if g := f.post(legacyCall("7", ""), nil); g.body != `{"jsonrpc":"2.0","id":7,"error":`+tc.legacy+`}` || g.status != 200 {
			t.Errorf("%s, legacy: %d %.300s\nwant %.300s", name, g.status, g.body, tc.legacy)
		}
		g := f.modern("tools/call", `"name":"t"`, "", map[string]string{wire.HeaderName: "t"})
		if g.body != `{"jsonrpc":"2.0","id":7,"error":`+tc.modern+`}` || g.status != tc.status {
			t.Errorf("%s, modern: %d %.300s\nwant %d %.300s", name, g.status, g.body, tc.status, tc.modern)
		}
	}
}

// TestErrorsOfOurs is the table of docs/decisions/gateway.md.
func TestErrorsOfOurs(t *testing.T) {
	f := newFixture(t)
	for _, tc := range []struct {
		err    mcp.CallError
		modern int64
		legacy int64
		data   string
	}{
		{mcp.CallError{Reason: mcp.CallToolNotFound}, -32602, -32602, `{"reason":"ToolNotFound"}`},
		{mcp.CallError{Reason: mcp.CallInvalid}, -32602, -32602, `{"reason":"InvalidArguments"}`},
		{mcp.CallError{Reason: mcp.CallNotConnected}, 503, -32603, `{"reason":"ServerNotConnected","outcome":"NotSent"}`},
		{mcp.CallError{Reason: mcp.CallTooMany}, 429, -32603, `{"reason":"TooManyCalls","outcome":"NotSent"}`},
		{mcp.CallError{Reason: mcp.CallTimeout, Sent: true}, 504, -32603, `{"reason":"Timeout","outcome":"Unknown"}`},
		{mcp.CallError{Reason: mcp.CallIdle, Sent: true}, 504, -32603, `{"reason":"IdleTimeout","outcome":"Unknown"}`},
		{mcp.CallError{Reason: mcp.CallAborted, Sent: true}, 499, -32603, `{"reason":"Aborted","outcome":"Unknown"}`},
		{mcp.CallError{Reason: mcp.CallConnectionLost, Sent: true}, 502, -32603, `{"reason":"ConnectionLost","outcome":"Unknown"}`},
		{mcp.CallError{Reason: mcp.CallConnectionLost}, 502, -32603, `{"reason":"ConnectionLost","outcome":"NotSent"}`},
		{mcp.CallError{Reason: mcp.CallRejected, Sent: true, Answered: true}, 502, -32603, `{"reason":"Rejected"}`},
		{mcp.CallError{Reason: mcp.CallUnsupported, Sent: true, Answered: true}, 501, -32603, `{"reason":"Unsupported"}`},
		{mcp.CallError{Reason: "Another"}, 502, -32603, `{"reason":"Another","outcome":"NotSent"}`},
	} {
		f.runtime.call = failing(&tc.err)
		check := func(g got, code int64) {
			var m struct {
				Error struct{ Data json.RawMessage }
			}
			if err := json.Unmarshal([]byte(g.body), &m); err != nil {
				t.Fatal(err)
			}
			if _, got, _ := g.problem(t); got != code || string(m.Error.Data) != tc.data || g.status != http.StatusOK {
				t.Errorf("%s: %d %s; want code %d, data %s", tc.err.Reason, g.status, g.body, code, tc.data)
			}
		}
		check(f.post(legacyCall("7", ""), nil), tc.legacy)
		check(f.modern("tools/call", `"name":"t"`, "", map[string]string{wire.HeaderName: "t"}), tc.modern)
	}
	f.runtime.call = failing(errDown)
	if g := f.post(legacyCall("7", ""), nil); strings.Contains(g.body, "down") || !strings.Contains(g.body, "-32603") {
		t.Errorf("an untyped error: %s", g.body)
	}
}

// TestErrorAfterNotifications checks that an error, too, ends a stream that has begun.
func TestErrorAfterNotifications(t *testing.T) {
	f := newFixture(t)
	f.runtime.call = withProgress(&mcp.CallError{
		Reason: mcp.CallRPCError, Sent: true, Answered: true, Err: &wire.Error{Code: -32021, Message: "m"},
	})
	g := f.modern("tools/call", `"name":"t"`, `"progressToken":1`, map[string]string{wire.HeaderName: "t"})
	const want = `{"jsonrpc":"2.0","id":7,"error":{"code":-32021,"message":"m"}}`
	if events := g.events(t); g.status != 200 || len(events) != 2 || events[1] != want {
		t.Errorf("%d %q", g.status, events)
	}
}
