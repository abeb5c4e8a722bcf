// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// librarySide serves one echo tool with mcp-go.
func librarySide(t *testing.T, opts ...server.StreamableHTTPOption) (*server.MCPServer, *httptest.Server) {
	t.Helper()
	side := server.NewMCPServer("fixture", "1", server.WithToolCapabilities(true))
	side.AddTool(mcp.NewTool("echo", mcp.WithString("text")),
		func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText(req.GetString("text", "")), nil
		})
	ts := httptest.NewServer(server.NewStreamableHTTPServer(side, opts...))
	t.Cleanup(ts.Close)
	return side, ts
}

func echoParams(text string) wire.Object {
	return wire.Object{
		{Name: "name", Value: wire.Quote("echo")},
		{Name: "arguments", Value: wire.Object{{Name: "text", Value: wire.Quote(text)}}.Raw()},
	}
}

// Both eras against a server that is not ours: negotiate, list, call, hear of a change, close.
func TestAgainstLibrary(t *testing.T) {
	for era, opts := range map[Era][]server.StreamableHTTPOption{
		EraModern: nil,
		EraLegacy: {server.WithStreamableHTTPProtocolVersions(wire.Version20251125)},
	} {
		t.Run(string(era), func(t *testing.T) {
			side, ts := librarySide(t, opts...)
			c := mustDial(t, Config{URL: ts.URL + "/mcp"})
			info := c.Info()
			if info.Era != era {
				t.Fatalf("negotiated %s %s", info.Era, info.ProtocolVersion)
			}
			if name, _ := info.ServerInfo.String("name"); name != "fixture" || !info.Declares("tools", "listChanged") {
				t.Errorf("server info %s, capabilities %s", info.ServerInfo.Raw(), info.Capabilities.Raw())
			}
			raw, err := c.Request(t.Context(), wire.MethodToolsList, nil)
			if err != nil || !strings.Contains(string(raw), `"echo"`) {
				t.Fatalf("tools/list: %s, %v", raw, err)
			}
			header := http.Header{wire.HeaderName: {"echo"}}
			raw, err = c.Do(t.Context(), &Request{Method: wire.MethodToolsCall, Params: echoParams("hi"), Header: header})
			if err != nil || !strings.Contains(string(raw), `"hi"`) {
				t.Fatalf("tools/call: %s, %v", raw, err)
			}
			hearChange(t, c, side)
			if err := c.Check(t.Context()); err != nil {
				t.Errorf("check: %v", err)
			}
			if err := c.Close(t.Context()); err != nil {
				t.Errorf("close: %v", err)
			}
			if n := c.Sockets(); n != 0 {
				t.Errorf("%d sockets left", n)
			}
		})
	}
}

func hearChange(t *testing.T, c *Conn, side *server.MCPServer) {
	t.Helper()
	opened, heard, done := make(chan bool, 1), make(chan string, 8), make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		done <- c.Listen(ctx, Filter{Tools: true}, Listener{
			Opened:  func(gap bool, _ Filter) { opened <- gap },
			Message: func(m *wire.Message) { heard <- m.Method },
		})
	}()
	if <-opened {
		t.Error("a gap at the first opening")
	}
	time.Sleep(50 * time.Millisecond) // the library answers before it registers the stream
	side.AddTool(mcp.NewToolWithRawSchema("second", "", json.RawMessage(`{"type":"object"}`)), nil)
	select {
	case method := <-heard:
		if method != wire.MethodToolsListChanged {
			t.Errorf("heard %s", method)
		}
	case <-time.After(5 * time.Second):
		t.Error("nothing heard")
	}
	cancel()
	if err := <-done; err != nil {
		t.Logf("listening ended: %v", err)
	}
}
