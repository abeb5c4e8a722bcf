// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

// Command endpoint is what the protocol's conformance suite tests as a server: the gateway in front of the runtime, with
// one session on the MCP server of its first argument. The suite knows no tokens: a handler in front adds one, and the
// gateway's ports to a cluster know it. It prints the endpoint's URL and serves until it is interrupted.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/mooring-dev/mooring/internal/egress"
	"github.com/mooring-dev/mooring/internal/gateway"
	"github.com/mooring-dev/mooring/internal/mcp"
)

const (
	namespace, name = "conformance", "session"
	token           = "the-agent"
	id              = mcp.SessionID("conformance")
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: endpoint URL")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "endpoint:", err)
		os.Exit(1) //nolint:gocritic // stop has nothing left to do
	}
}

func run(ctx context.Context, url string) (err error) {
	runtime := mcp.New(mcp.Options{Egress: &egress.Policy{AllowLoopback: true}})
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		err = errors.Join(err, runtime.Close(ctx))
	}()
	runtime.Ensure(id, mcp.Desired{Servers: []mcp.Server{{Name: "s", Fingerprint: url, HTTP: mcp.Endpoint{URL: url, Era: mcp.EraAuto}}}})
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	handler, err := gateway.NewHandler(gateway.Options{
		Authenticator: cluster{}, Sessions: cluster{}, Authorizer: cluster{}, Owner: cluster{}, Runtime: runtime,
		AllowedHosts:   []string{"localhost", "127.0.0.1"},
		AllowedOrigins: []string{"http://" + listener.Addr().String()},
	})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	server := gateway.NewServer(handler, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+token)
		handler.ServeHTTP(w, r)
	}))
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	fmt.Printf("http://%s/v1/namespaces/%s/sessions/%s/mcp\n", listener.Addr(), namespace, name)
	<-ctx.Done()
	drain, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = server.Shutdown(drain) // streams are cut off
	return <-served
}

// cluster knows one session and one agent.
type cluster struct{}

func (cluster) Authenticate(_ context.Context, got, _ string) (gateway.Principal, error) {
	if got != token {
		return gateway.Principal{}, gateway.ErrUnauthenticated
	}
	return gateway.Principal{Username: "system:serviceaccount:" + namespace + ":agent", IssuedAt: time.Now(), PodUID: "pod"}, nil
}

func (cluster) Lookup(_ context.Context, ns, n string) (gateway.Session, error) {
	if ns != namespace || n != name {
		return gateway.Session{}, gateway.ErrSessionNotFound
	}
	return gateway.Session{ID: id, Namespace: ns, Name: n, ServiceAccountName: "agent", Resolved: true}, nil
}

func (cluster) MayConnect(context.Context, gateway.Principal, string, string) (bool, error) {
	return false, nil
}

func (cluster) Owner(mcp.SessionID) (string, bool) { return "", true }
