// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// What a server offers while it behaves.
const (
	toolsResult     = `"tools":[{"name":"echo","description":"d","inputSchema":{"type":"object"}}]`
	resourcesResult = `"resources":[{"uri":"file:///a","name":"a"},{"uri":"file:///b","name":"b"}]`
	templatesResult = `"resourceTemplates":[]`
	promptsResult   = `"prompts":[{"name":"p"}]`
	callResult      = `"content":[{"type":"text","text":"hello"}]`

	capabilities = `"capabilities":{"tools":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},` +
		`"prompts":{"listChanged":true}}`
	serverInfo = `"serverInfo":{"name":"it","version":"1"}`

	mediaJSON   = "application/json"
	mediaStream = "text/event-stream"
)

// exchange is one HTTP request and its response. m is the message in it, if there is one.
type exchange struct {
	s *server
	w http.ResponseWriter
	r *http.Request
	m *wire.Message
}

func (x *exchange) id() string { return string(x.m.ID.Raw()) }

// head begins a response of a media type.
func (x *exchange) head(mediaType string) { x.w.Header().Set("Content-Type", mediaType) }

func (x *exchange) write(text string) error {
	_, err := io.WriteString(x.w, text)
	return err
}

func (x *exchange) flush() { _ = http.NewResponseController(x.w).Flush() }

// event sends one event of a stream.
func (x *exchange) event(data string) error {
	err := x.write("data: " + data + "\n\n")
	x.flush()
	return err
}

// response is a JSON-RPC response to the request, with the members of its result.
func (x *exchange) response(id, members string) string {
	if x.s.modern {
		members = `"resultType":"complete","ttlMs":0,"cacheScope":"private",` + members
	}
	return `{"jsonrpc":"2.0","id":` + id + `,"result":{` + strings.TrimSuffix(members, ",") + `}}`
}

func (x *exchange) result(members string) {
	x.head(mediaJSON)
	_ = x.write(x.response(x.id(), members))
}

func (x *exchange) fail(code int64) {
	x.head(mediaJSON)
	_ = x.write(`{"jsonrpc":"2.0","id":` + x.id() + `,"error":{"code":` + strconv.FormatInt(code, 10) + `,"message":"no"}}`)
}

// honest answers well.
func honest(x *exchange) {
	session := x.r.Header.Get(wire.HeaderSessionID)
	switch {
	case session != "" && !x.s.known(session):
		x.w.WriteHeader(http.StatusNotFound)
	case x.r.Method == http.MethodGet && !x.s.modern:
		x.head(mediaStream)
		x.flush()
		x.s.join(x, newStream(""))
	case x.r.Method != http.MethodPost:
		x.w.WriteHeader(http.StatusOK)
	case !x.m.IsRequest():
		x.w.WriteHeader(http.StatusAccepted)
	default:
		x.respond()
	}
}

// respond answers a request well.
func (x *exchange) respond() {
	results := map[string]string{
		wire.MethodToolsList: toolsResult, wire.MethodToolsCall: callResult, wire.MethodResourcesList: resourcesResult,
		wire.MethodTemplatesList: templatesResult, wire.MethodPromptsList: promptsResult,
		wire.MethodPing: "", wire.MethodSubscribe: "", wire.MethodUnsubscribe: "",
	}
	switch method := x.m.Method; {
	case method == wire.MethodDiscover && x.s.modern:
		x.result(`"supportedVersions":["2026-07-28"],` + capabilities)
	case method == wire.MethodInitialize && !x.s.modern:
		x.w.Header().Set(wire.HeaderSessionID, x.s.begin())
		x.result(`"protocolVersion":"2025-11-25",` + capabilities + `,` + serverInfo)
	case method == wire.MethodListen && x.s.modern:
		x.listen()
	default:
		if result, ok := results[method]; ok {
			x.result(result)
			return
		}
		x.fail(wire.CodeMethodNotFound)
	}
}

// listen grants all that a subscription asks for.
func (x *exchange) listen() {
	params, _ := wire.ParseObject(x.m.Params)
	one := newStream(x.id())
	x.head(mediaStream)
	if x.event(one.notification(wire.MethodListenAcknowledged, `"notifications":`+string(params.Get("notifications")))) == nil {
		x.s.join(x, one)
	}
}
