// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"net/http"
	"strings"
	"testing"

	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

func TestInitialize(t *testing.T) {
	f := newFixture(t)
	for asked, want := range map[string]string{
		"2025-11-25": "2025-11-25", "2025-06-18": "2025-06-18", "2025-03-26": "2025-03-26", "2024-11-05": "2024-11-05",
		"2026-07-28": "2025-11-25", "1999-01-01": "2025-11-25", "": "2025-11-25",
	} {
		g := f.post(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"`+asked+`","capabilities":{}}}`,
			map[string]string{wire.HeaderProtocolVersion: asked})
		wantBody := `{"jsonrpc":"2.0","id":"i","result":{"protocolVersion":"` + want +
			`","capabilities":{"tools":{},"resources":{}},"serverInfo":{"name":"mooring","version":"1.2.3"}}}`
		if g.status != http.StatusOK || g.body != wantBody {
			t.Errorf("%q: %d %s\nwant %s", asked, g.status, g.body, wantBody)
		}
		if id := g.header.Get(wire.HeaderSessionID); id != "" {
			t.Errorf("a session id was issued: %q", id)
		}
	}
}

func TestDiscover(t *testing.T) {
	f := newFixture(t)
	g := f.modern(wire.MethodDiscover, "", "", nil)
	want := `{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete","supportedVersions":["2026-07-28","2025-11-25","2025-06-18",` +
		`"2025-03-26","2024-11-05","2024-10-07"],"capabilities":{"tools":{},"resources":{}},"ttlMs":0,"cacheScope":"private",` +
		`"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"mooring","version":"1.2.3"}}}}`
	if g.status != http.StatusOK || g.body != want {
		t.Errorf("%d %s\nwant %s", g.status, g.body, want)
	}
}

// messageCase is a whole message, and the status, the code and the id of what comes back.
type messageCase struct {
	body    string
	headers map[string]string
	status  int
	code    int64 // 0: no error
	id      string
}

// headersOf makes a map of names and values in turns.
func headersOf(pairs ...string) map[string]string {
	h := map[string]string{}
	for ; len(pairs) > 1; pairs = pairs[2:] {
		h[pairs[0]] = pairs[1]
	}
	return h
}

func testMessages(t *testing.T, cases map[string]messageCase) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.runtime.call = answer(`{"content":[]}`, wire.Version20251125)
			g := f.post(tc.body, tc.headers)
			if g.status != tc.status {
				t.Fatalf("status %d, want %d: %s", g.status, tc.status, g.body)
			}
			if tc.code == 0 {
				if strings.Contains(g.body, `"error"`) {
					t.Errorf("an error: %s", g.body)
				}
				return
			}
			if id, code, _ := g.problem(t); code != tc.code || id != tc.id {
				t.Errorf("code %d, id %s; want %d, %s: %s", code, id, tc.code, tc.id, g.body)
			}
		})
	}
}

func TestLegacyMessages(t *testing.T) {
	testMessages(t, map[string]messageCase{
		"ping":                    {body: ping, status: 200},
		"ping, with version":      {body: ping, headers: headersOf(wire.HeaderProtocolVersion, "2025-06-18"), status: 200},
		"ping, bad version":       {body: ping, headers: headersOf(wire.HeaderProtocolVersion, "2025-06-19"), status: 400, code: -32022, id: "1"},
		"unknown method":          {body: `{"jsonrpc":"2.0","id":1,"method":"prompts/list"}`, status: 200, code: -32601, id: "1"},
		"modern method":           {body: `{"jsonrpc":"2.0","id":1,"method":"server/discover"}`, status: 200, code: -32601, id: "1"},
		"initialize, no version":  {body: `{"jsonrpc":"2.0","id":1,"method":"initialize"}`, status: 200, code: -32602, id: "1"},
		"initialized":             {body: `{"jsonrpc":"2.0","method":"notifications/initialized"}`, status: 202},
		"unknown notification":    {body: `{"jsonrpc":"2.0","method":"notifications/x","params":{}}`, status: 202},
		"cancelled, unknown":      {body: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`, status: 202},
		"cancelled, malformed":    {body: `{"jsonrpc":"2.0","method":"notifications/cancelled"}`, status: 202},
		"response":                {body: `{"jsonrpc":"2.0","id":1,"result":{}}`, status: 202},
		"call without name":       {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`, status: 200, code: -32602, id: "1"},
		"call without params":     {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, status: 200, code: -32602, id: "1"},
		"call, arguments a list":  {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":[]}}`, status: 200, code: -32602, id: "1"},
		"call, arguments null":    {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":null}}`, status: 200},
		"call, token a number":    {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","_meta":{"progressToken":1.5}}}`, status: 200, code: -32602, id: "1"},
		"call, meta a string":     {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","_meta":""}}`, status: 400, code: -32602, id: "1"},
		"call, meta too large":    {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","_meta":{"v":"` + strings.Repeat("x", wire.MaxMetaBytes) + `"}}}`, status: 200, code: -32602, id: "1"},
		"list, cursor of another": {body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"MS54"}}`, status: 200, code: -32602, id: "1"},
		"list, cursor a number":   {body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":1}}`, status: 200, code: -32602, id: "1"},
		"list, cursor empty":      {body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":""}}`, status: 200, code: -32602, id: "1"},
		"list, cursor null":       {body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":null}}`, status: 200},
	})
}

// TestNoMessages is threat row 24.
func TestNoMessages(t *testing.T) {
	testMessages(t, map[string]messageCase{
		"not JSON":              {body: `{`, status: 400, code: -32700},
		"empty":                 {body: ``, status: 400, code: -32700},
		"duplicate method":      {body: `{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}`, status: 400, code: -32700},
		"duplicate name":        {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","name":"b"}}`, status: 400, code: -32700},
		"duplicate, escaped":    {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","n\u0061me":"b"}}`, status: 400, code: -32700},
		"case-folded method":    {body: `{"jsonrpc":"2.0","id":1,"METHOD":"ping"}`, status: 400, code: -32600, id: "1"},
		"case-folded beside it": {body: `{"jsonrpc":"2.0","id":1,"method":"ping","METHOD":"tools/call"}`, status: 200},
		"folded name":           {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"Name":"x"}}`, status: 200, code: -32602, id: "1"},
		"batch":                 {body: `[` + ping + `]`, status: 400, code: -32600},
		"no version":            {body: `{"id":"a","method":"ping"}`, status: 400, code: -32600, id: `"a"`},
		"id an object":          {body: `{"jsonrpc":"2.0","id":{},"method":"ping"}`, status: 400, code: -32600},
		"invalid UTF-8":         {body: "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", status: 400, code: -32700},
		"big id":                {body: `{"jsonrpc":"2.0","id":9007199254740993,"method":"nope"}`, status: 200, code: -32601, id: "9007199254740993"},
		"text after":            {body: ping + `x`, status: 400, code: -32700},
	})
}

func TestModernMessages(t *testing.T) {
	const v, m, n = wire.HeaderProtocolVersion, wire.HeaderMethod, wire.HeaderName
	const meta = `"_meta":{` + modernMeta + `}`
	header := headersOf
	testMessages(t, map[string]messageCase{
		"discover":                       {body: `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + meta + `}}`, headers: header(v, "2026-07-28", m, "server/discover"), status: 200},
		"no version header":              {body: `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + meta + `}}`, headers: header(m, "server/discover"), status: 400, code: -32020, id: "1"},
		"version header differs":         {body: `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + meta + `}}`, headers: header(v, "2025-11-25", m, "server/discover"), status: 400, code: -32020, id: "1"},
		"no method header":               {body: `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + meta + `}}`, headers: header(v, "2026-07-28"), status: 400, code: -32020, id: "1"},
		"method header differs":          {body: `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + meta + `}}`, headers: header(v, "2026-07-28", m, "Server/Discover"), status: 400, code: -32020, id: "1"},
		"method header, space":           {body: `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + meta + `}}`, headers: header(v, "2026-07-28", m, "  server/discover "), status: 200},
		"no meta":                        {body: `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{}}`, headers: header(v, "2026-07-28", m, "server/discover"), status: 400, code: -32602, id: "1"},
		"no params":                      {body: `{"jsonrpc":"2.0","id":1,"method":"server/discover"}`, headers: header(v, "2026-07-28", m, "server/discover"), status: 400, code: -32602, id: "1"},
		"no capabilities":                {body: `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, headers: header(v, "2026-07-28", m, "server/discover"), status: 400, code: -32602, id: "1"},
		"version not a string":           {body: `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":1}}}`, headers: header(v, "2026-07-28", m, "server/discover"), status: 400, code: -32602, id: "1"},
		"unknown version":                {body: `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01"}}}`, headers: header(v, "2099-01-01", m, "server/discover"), status: 400, code: -32022, id: "1"},
		"legacy version, modern meta":    {body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25"}}}`, headers: header(v, "2025-11-25", m, "tools/list"), status: 400, code: -32022, id: "1"},
		"bad log level":                  {body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{` + modernMeta + `,"io.modelcontextprotocol/logLevel":"loud"}}}`, headers: header(v, "2026-07-28", m, "tools/list"), status: 400, code: -32602, id: "1"},
		"unknown method, modern":         {body: `{"jsonrpc":"2.0","id":1,"method":"prompts/list","params":{` + meta + `}}`, headers: header(v, "2026-07-28", m, "prompts/list"), status: 404, code: -32601, id: "1"},
		"initialize, modern":             {body: `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",` + meta + `}}`, headers: header(v, "2026-07-28", m, "initialize"), status: 404, code: -32601, id: "1"},
		"ping, modern":                   {body: `{"jsonrpc":"2.0","id":1,"method":"ping","params":{` + meta + `}}`, headers: header(v, "2026-07-28", m, "ping"), status: 404, code: -32601, id: "1"},
		"notification, modern":           {body: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, headers: header(v, "2026-07-28"), status: 202},
		"response, modern":               {body: `{"jsonrpc":"2.0","id":1,"result":{}}`, headers: header(v, "2026-07-28"), status: 400, code: -32600, id: "1"},
		"call":                           {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x",` + meta + `}}`, headers: header(v, "2026-07-28", m, "tools/call", n, "x"), status: 200},
		"call, name header encoded":      {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"é",` + meta + `}}`, headers: header(v, "2026-07-28", m, "tools/call", n, "=?base64?w6k=?="), status: 200},
		"call, name header not encoded":  {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"é",` + meta + `}}`, headers: header(v, "2026-07-28", m, "tools/call", n, "é"), status: 400, code: -32020, id: "1"},
		"call, name header missing":      {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x",` + meta + `}}`, headers: header(v, "2026-07-28", m, "tools/call"), status: 400, code: -32020, id: "1"},
		"call, name header differs":      {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x",` + meta + `}}`, headers: header(v, "2026-07-28", m, "tools/call", n, "X"), status: 400, code: -32020, id: "1"},
		"call, name header bad encoding": {body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x",` + meta + `}}`, headers: header(v, "2026-07-28", m, "tools/call", n, "=?base64?eA?="), status: 400, code: -32020, id: "1"},
	})
}

func TestUnsupportedVersionNamesThoseServed(t *testing.T) {
	f := newFixture(t)
	g := f.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`, map[string]string{wire.HeaderProtocolVersion: "2099-01-01"})
	want := `"data":{"supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05","2024-10-07"],"requested":"2099-01-01"}`
	if !strings.Contains(g.body, want) {
		t.Errorf("%s lacks %s", g.body, want)
	}
}

func TestContentNegotiation(t *testing.T) {
	for name, tc := range map[string]struct {
		headers map[string]string
		want    int
		kind    string
	}{
		"both":               {nil, 200, "application/json"},
		"charset":            {map[string]string{"Content-Type": "application/json; charset=UTF-8"}, 200, "application/json"},
		"other charset":      {map[string]string{"Content-Type": "application/json; charset=utf-16"}, 415, "application/json"},
		"form":               {map[string]string{"Content-Type": "text/plain"}, 415, "application/json"},
		"no type":            {map[string]string{"Content-Type": ""}, 415, "application/json"},
		"compressed":         {map[string]string{"Content-Encoding": "gzip"}, 415, "application/json"},
		"anything":           {map[string]string{"Accept": "*/*"}, 200, "application/json"},
		"no Accept":          {map[string]string{"Accept": ""}, 200, "application/json"},
		"JSON only":          {map[string]string{"Accept": "application/json;q=0.5"}, 200, "application/json"},
		"event streams only": {map[string]string{"Accept": "text/event-stream"}, 200, "text/event-stream"},
		"neither":            {map[string]string{"Accept": "text/html, image/png"}, 406, "application/json"},
	} {
		f := newFixture(t)
		g := f.post(ping, tc.headers)
		if g.status != tc.want || g.header.Get("Content-Type") != tc.kind {
			t.Errorf("%s: %d %s, want %d %s", name, g.status, g.header.Get("Content-Type"), tc.want, tc.kind)
		}
	}
}
