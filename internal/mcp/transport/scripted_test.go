// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// scripted is a server whose answers a test writes, by method of the protocol, or "GET" and "DELETE".
type scripted struct {
	*httptest.Server
	answers map[string]func(w http.ResponseWriter, r *http.Request, id string)

	mu    sync.Mutex
	heard []string
}

func newScripted(t *testing.T, answers map[string]func(http.ResponseWriter, *http.Request, string)) *scripted {
	t.Helper()
	s := &scripted{answers: answers}
	s.Server = httptest.NewServer(s)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	method, id := r.Method, ""
	if method == http.MethodPost {
		body, _ := io.ReadAll(r.Body)
		m, err := wire.Parse(body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		method, id = m.Method, string(m.ID.Raw())
	}
	s.mu.Lock()
	s.heard = append(s.heard, method)
	s.mu.Unlock()
	if answer := s.answers[method]; answer != nil {
		answer(w, r, id)
		return
	}
	switch {
	case method == wire.MethodDiscover:
		result(w, id, `null`, `{"code":-32601,"message":"no"}`)
	case method == wire.MethodInitialize:
		w.Header().Set(wire.HeaderSessionID, "s1")
		result(w, id, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`, "")
	case r.Method == http.MethodPost:
		w.WriteHeader(http.StatusAccepted)
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

// times counts how often a method was heard.
func (s *scripted) times(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, h := range s.heard {
		if h == method {
			n++
		}
	}
	return n
}

func result(w http.ResponseWriter, id, value, failure string) {
	w.Header().Set("Content-Type", "application/json")
	if failure != "" {
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":%s}`, id, failure)
		return
	}
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, value)
}

// status answers with a status and nothing else.
func status(code int, header ...string) func(http.ResponseWriter, *http.Request, string) {
	return func(w http.ResponseWriter, _ *http.Request, _ string) {
		for ; len(header) > 1; header = header[2:] {
			w.Header().Set(header[0], header[1])
		}
		w.WriteHeader(code)
	}
}

// raw answers with a body of a media type.
func raw(mediaType, body string) func(http.ResponseWriter, *http.Request, string) {
	return func(w http.ResponseWriter, _ *http.Request, id string) {
		w.Header().Set("Content-Type", mediaType)
		_, _ = io.WriteString(w, strings.ReplaceAll(body, "ID", id))
	}
}

// call makes a tools/call and returns it, and its error.
func call(t *testing.T, c *Conn) (*Request, error) {
	t.Helper()
	req := &Request{Method: wire.MethodToolsCall, Params: wire.Object{{Name: "name", Value: wire.Quote("x")}}}
	_, err := c.Do(t.Context(), req)
	return req, err
}
