// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package servers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
)

// Many is a server with a list of tools that it never changes, and whose bytes it has ready: what many sessions on it cost
// is their own cost. It speaks 2025-11-25 without sessions and without a stream.
type Many struct {
	URL  string
	http *httptest.Server
	list string
}

// NewMany starts a server with n tools of about size bytes each.
func NewMany(n, size int) *Many {
	m := &Many{list: string(ManyTools(n, size))}
	m.http = httptest.NewServer(m)
	m.URL = m.http.URL + "/mcp"
	return m
}

// ManyTools is the tools/list result of such a server.
func ManyTools(n, size int) json.RawMessage {
	tools := make([]string, n)
	for i := range tools {
		tools[i] = fmt.Sprintf(`{"name":"tool_%04d","description":"One of many tools, number %d.","inputSchema":`+
			`{"type":"object","properties":{"key":{"type":"string","description":%q}}}}`, i, i, strings.Repeat("x", size-180))
	}
	return json.RawMessage(`{"tools":[` + strings.Join(tools, ",") + `]}`)
}

// ServeHTTP answers what a session on it asks.
func (m *Many) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	var request struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	answer := `"error":{"code":-32601,"message":"no such method"}`
	switch request.Method {
	case "initialize":
		answer = `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"many","version":"1"}}`
	case "tools/list":
		answer = `"result":` + m.list
	case "tools/call":
		answer = `"result":{"content":[{"type":"text","text":"one of many"}]}`
	}
	if request.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, request.ID, answer)
}

// Close ends the server.
func (m *Many) Close() {
	m.http.CloseClientConnections()
	m.http.Close()
}
