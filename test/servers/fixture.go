// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package servers

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// Counter is an MCP server in this process that counts the calls it gets, by the argument "key". It speaks both eras.
type Counter struct {
	URL string
	// MCP lets a test change the tools.
	MCP *server.MCPServer

	http *httptest.Server

	mu          sync.Mutex
	calls       map[string]int
	connections int
	ended       int
}

// NewCounter starts a server with the tools count (answers at once) and slow (answers after "milliseconds").
func NewCounter() *Counter {
	c := &Counter{calls: map[string]int{}}
	hooks := &server.Hooks{}
	c.MCP = server.NewMCPServer("counter", "1.0.0", server.WithToolCapabilities(true), server.WithHooks(hooks))
	schema := json.RawMessage(`{"type":"object","properties":{"key":{"type":"string"},"milliseconds":{"type":"integer"}}}`)
	c.MCP.AddTool(mcp.NewToolWithRawSchema("count", "Counts a call.", schema), c.count)
	c.MCP.AddTool(mcp.NewToolWithRawSchema("slow", "Counts a call and takes its time.", schema), c.count)
	streamable := server.NewStreamableHTTPServer(c.MCP)
	c.http = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.see(r)
		streamable.ServeHTTP(w, r)
	}))
	c.URL = c.http.URL + "/mcp"
	return c
}

// see counts sessions: one begins with an answer that carries a session id, and ends with a DELETE.
func (c *Counter) see(r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case r.Method == http.MethodDelete:
		c.ended++
	case r.Method == http.MethodPost && r.Header.Get("Mcp-Session-Id") == "" && r.Header.Get("Mcp-Method") == "":
		c.connections++
	}
}

func (c *Counter) count(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	key := request.GetString("key", "")
	c.mu.Lock()
	c.calls[key]++
	n := c.calls[key]
	c.mu.Unlock()
	select {
	case <-time.After(time.Duration(request.GetInt("milliseconds", 0)) * time.Millisecond):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return mcp.NewToolResultText(fmt.Sprintf("%s: %d", key, n)), nil
}

// Calls says how often a key was called.
func (c *Counter) Calls(key string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[key]
}

// Sessions says how many legacy sessions began and how many were ended by their client.
func (c *Counter) Sessions() (began, ended int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.connections, c.ended
}

// Close ends the server.
func (c *Counter) Close() {
	c.http.CloseClientConnections()
	c.http.Close()
}

// Silent accepts connections and never answers.
type Silent struct {
	URL      string
	listener net.Listener
	mu       sync.Mutex
	held     []net.Conn
}

// NewSilent starts a Silent server.
func NewSilent() (*Silent, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // nothing to wait for
	if err != nil {
		return nil, err
	}
	s := &Silent{listener: listener, URL: "http://" + listener.Addr().String() + "/mcp"}
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.held = append(s.held, c)
			s.mu.Unlock()
		}
	}()
	return s, nil
}

// Close ends the server and its connections.
func (s *Silent) Close() {
	_ = s.listener.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.held {
		_ = c.Close()
	}
}
