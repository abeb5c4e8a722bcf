// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mooring-dev/mooring/internal/egress"
	"github.com/mooring-dev/mooring/internal/gateway"
	runtime "github.com/mooring-dev/mooring/internal/mcp"
)

const (
	roleVariable     = "MOORING_BENCH_ROLE"
	upstreamVariable = "MOORING_BENCH_UPSTREAM"

	token     = "the-agent"
	sessionID = runtime.SessionID("bench")
)

// roles are the processes: each serves MCP on a listener until its standard input ends.
var roles = map[string]func(upstream string) (http.Handler, error){
	"direct":  serveUpstream,
	"mooring": serveMooring,
	"typed":   serveTyped,
	"proxy":   serveProxy,
}

func TestMain(m *testing.M) {
	role, ok := roles[os.Getenv(roleVariable)]
	if !ok {
		os.Exit(m.Run())
	}
	if err := serve(role); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(role func(string) (http.Handler, error)) error {
	handler, err := role(os.Getenv(upstreamVariable))
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // nothing to wait for
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintln(os.Stdout, listener.Addr())
	go func() {
		s := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
		_ = s.Serve(listener)
	}()
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// serveUpstream is the MCP server: one tool that echoes.
func serveUpstream(string) (http.Handler, error) {
	s := server.NewMCPServer("echo", "1")
	s.AddTool(echoTool(), func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(r.GetString("text", "")), nil
	})
	return server.NewStreamableHTTPServer(s, server.WithStateLess(true)), nil
}

func echoTool() mcp.Tool {
	return mcp.NewToolWithRawSchema("echo", "Echoes.", json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`))
}

// serveMooring is the gateway and the runtime, with every check that the manager makes; what the cluster would be asked
// is answered from memory, as the manager answers it from its caches.
func serveMooring(upstream string) (http.Handler, error) {
	r := runtime.New(runtime.Options{Egress: &egress.Policy{AllowLoopback: true}})
	r.Ensure(sessionID, runtime.Desired{Servers: []runtime.Server{{
		Name: "s", Fingerprint: "f", HTTP: runtime.Endpoint{URL: "http://" + upstream + "/mcp", Era: runtime.EraLegacy},
	}}})
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if _, err := r.AwaitSync(ctx, sessionID); err != nil {
		return nil, err
	}
	return gateway.NewHandler(gateway.Options{
		Authenticator: memory{}, Sessions: memory{}, Authorizer: memory{}, Owner: memory{}, Runtime: r,
		AllowedHosts: []string{"127.0.0.1"}, MaxCallsPerSession: 1024,
	})
}

// serveTyped is a gateway of mcp-go's server in front of mcp-go's client.
func serveTyped(upstream string) (http.Handler, error) {
	c, err := client.NewStreamableHttpClient("http://"+upstream+"/mcp", transport.WithHTTPBasicClient(&http.Client{Transport: pooled()}))
	if err != nil {
		return nil, err
	}
	if err := c.Start(context.Background()); err != nil {
		return nil, err
	}
	hello := mcp.InitializeRequest{}
	hello.Params.ProtocolVersion = version
	hello.Params.ClientInfo = mcp.Implementation{Name: "typed", Version: "1"}
	if _, err := c.Initialize(context.Background(), hello); err != nil {
		return nil, err
	}
	s := server.NewMCPServer("typed", "1")
	tool := echoTool()
	tool.Name = toolName
	s.AddTool(tool, func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if r.Header.Get("Authorization") != "Bearer "+token {
			return nil, gateway.ErrUnauthenticated
		}
		r.Params.Name = "echo"
		return c.CallTool(ctx, r)
	})
	return server.NewStreamableHTTPServer(s, server.WithStateLess(true)), nil
}

// serveProxy passes bytes on and knows nothing.
func serveProxy(upstream string) (http.Handler, error) {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: upstream})
			r.Out.URL.Path = "/mcp"
		},
		Transport: pooled(), FlushInterval: -1,
	}, nil
}

// pooled keeps as many sockets as it has callers; the default keeps two.
func pooled() *http.Transport {
	return &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true}
}

// memory is a cluster with one session and one agent.
type memory struct{}

func (memory) Authenticate(_ context.Context, got, _ string) (gateway.Principal, error) {
	if got != token {
		return gateway.Principal{}, gateway.ErrUnauthenticated
	}
	return gateway.Principal{Username: "system:serviceaccount:ns:agent", IssuedAt: time.Now(), PodUID: "pod"}, nil
}

func (memory) Lookup(_ context.Context, namespace, name string) (gateway.Session, error) {
	return gateway.Session{ID: sessionID, Namespace: namespace, Name: name, ServiceAccountName: "agent", Resolved: true}, nil
}

func (memory) MayConnect(context.Context, gateway.Principal, string, string) (bool, error) {
	return false, nil
}

func (memory) Owner(runtime.SessionID) (string, bool) { return "", true }
