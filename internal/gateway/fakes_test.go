// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp"
	"github.com/mooring-dev/mooring/internal/mcp/catalog"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// created is when every session of these tests was created, and its tokens issued.
var created = time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)

// cluster is a fake of everything that the gateway asks the cluster.
type cluster struct {
	mu         sync.Mutex
	tokens     map[string]Principal // by token + "@" + audience
	sessions   map[string]Session   // by namespace/name
	mayConnect map[string]bool      // by username + " " + namespace/name
	fail       map[string]error     // by method
	notOwner   bool
	asked      []string // methods in the order in which they were called
}

func (c *cluster) ask(method string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, method)
	return c.fail[method]
}

func (c *cluster) takeAsked() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	asked := c.asked
	c.asked = nil
	return asked
}

func (c *cluster) Authenticate(_ context.Context, token, audience string) (Principal, error) {
	if err := c.ask("Authenticate"); err != nil {
		return Principal{}, err
	}
	p, ok := c.tokens[token+"@"+audience]
	if !ok {
		return p, ErrUnauthenticated
	}
	return p, nil
}

func (c *cluster) Lookup(_ context.Context, namespace, name string) (Session, error) {
	if err := c.ask("Lookup"); err != nil {
		return Session{}, err
	}
	s, ok := c.sessions[namespace+"/"+name]
	if !ok {
		return s, ErrSessionNotFound
	}
	return s, nil
}

func (c *cluster) MayConnect(_ context.Context, p Principal, namespace, name string) (bool, error) {
	if err := c.ask("MayConnect"); err != nil {
		return false, err
	}
	return c.mayConnect[p.Username+" "+namespace+"/"+name], nil
}

func (c *cluster) Owner(mcp.SessionID) (string, bool) { return "", !c.notOwner }

// add makes a session with a ServiceAccount and a token of its own, and returns the token.
func (c *cluster) add(namespace, name string) string {
	account, token := name+"-agent", "token-"+namespace+"-"+name
	c.sessions[namespace+"/"+name] = Session{
		ID: mcp.SessionID("uid-" + namespace + "-" + name), Namespace: namespace, Name: name,
		ServiceAccountName: account, CreatedAt: created, Resolved: true,
	}
	c.tokens[token+"@"+Audience(namespace, name)] = Principal{
		Username: "system:serviceaccount:" + namespace + ":" + account,
		UID:      "u-" + account, IssuedAt: created, PodUID: "pod-" + name,
	}
	return token
}

// runtime is a fake Runtime: a projection, and a function for each call.
type runtime struct {
	projection *catalog.Projection
	call       func(ctx context.Context, id mcp.SessionID, req mcp.CallRequest) (*mcp.CallResult, error)
	// pending keeps AwaitSync waiting.
	pending   atomic.Bool
	missing   atomic.Bool
	artifacts map[string]*mcp.Artifact
}

func (r *runtime) Artifact(_ context.Context, _ mcp.SessionID, id string, _, _ int64) (*mcp.Artifact, error) {
	if artifact := r.artifacts[id]; artifact != nil {
		return artifact, nil
	}
	return nil, mcp.ErrArtifactNotFound
}

func (r *runtime) Snapshot(mcp.SessionID) (*mcp.Snapshot, bool) {
	return &mcp.Snapshot{Projection: r.projection}, !r.missing.Load()
}

func (r *runtime) AwaitSync(ctx context.Context, id mcp.SessionID) (*mcp.Snapshot, error) {
	s, ok := r.Snapshot(id)
	if !ok {
		return nil, mcp.ErrSessionNotFound
	}
	if r.pending.Load() {
		<-ctx.Done()
		return s, ctx.Err()
	}
	return s, nil
}

func (r *runtime) Call(ctx context.Context, id mcp.SessionID, req mcp.CallRequest) (*mcp.CallResult, error) {
	if r.call == nil {
		return nil, &mcp.CallError{Reason: mcp.CallToolNotFound}
	}
	return r.call(ctx, id, req)
}

// answer is a call that always ends with one result of a server that speaks version.
func answer(result, version string) func(context.Context, mcp.SessionID, mcp.CallRequest) (*mcp.CallResult, error) {
	return func(context.Context, mcp.SessionID, mcp.CallRequest) (*mcp.CallResult, error) {
		return &mcp.CallResult{Result: json.RawMessage(result), ProtocolVersion: version}, nil
	}
}

// fixture is a gateway that listens, with one session "ns/one".
type fixture struct {
	t       *testing.T
	cluster *cluster
	runtime *runtime
	handler *Handler
	server  *Server
	base    string
	token   string
	client  *http.Client
}

func newFixture(t *testing.T, change ...func(*Options)) *fixture {
	t.Helper()
	f := &fixture{
		t: t, runtime: &runtime{projection: &catalog.Projection{Digest: "d0"}},
		cluster: &cluster{
			tokens: map[string]Principal{}, sessions: map[string]Session{}, mayConnect: map[string]bool{}, fail: map[string]error{},
		},
	}
	f.token = f.cluster.add("ns", "one")
	opts := Options{
		Authenticator: f.cluster, Sessions: f.cluster, Authorizer: f.cluster, Owner: f.cluster, Runtime: f.runtime, Version: "1.2.3",
	}
	for _, c := range change {
		c(&opts)
	}
	handler, err := NewHandler(opts)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f.handler, f.server, f.base = handler, NewServer(handler, handler), "http://"+listener.Addr().String()
	served := make(chan error, 1)
	go func() { served <- f.server.Serve(listener) }()
	f.client = &http.Client{Transport: &http.Transport{}}
	t.Cleanup(func() {
		f.client.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = f.server.Shutdown(ctx)
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return f
}

func (f *fixture) url() string { return f.base + "/v1/namespaces/ns/sessions/one/mcp" }

// got is an answer, read to its end.
type got struct {
	status int
	header http.Header
	body   string
}

// post sends a body with the headers that a legacy client sends; more replaces and adds ("" deletes).
func (f *fixture) post(body string, more map[string]string) got {
	f.t.Helper()
	resp := f.do(http.MethodPost, f.url(), strings.NewReader(body), more)
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		f.t.Fatalf("reading the answer: %v", err)
	}
	return got{status: resp.StatusCode, header: resp.Header, body: string(b)}
}

func (f *fixture) do(method, url string, body io.Reader, more map[string]string) *http.Response {
	f.t.Helper()
	r, err := http.NewRequestWithContext(f.t.Context(), method, url, body)
	if err != nil {
		f.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+f.token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range more {
		switch {
		case value == "":
			r.Header.Del(name)
		case name == "Host":
			r.Host = value
		default:
			r.Header.Set(name, value)
		}
	}
	resp, err := f.client.Do(r)
	if err != nil {
		f.t.Fatal(err)
	}
	return resp
}

const modernMeta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":` +
	`{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}`

// modern sends a modern request; params are its members without _meta, meta more members of that.
func (f *fixture) modern(method, params, meta string, more map[string]string) got {
	f.t.Helper()
	if meta != "" {
		meta = "," + meta
	}
	if params != "" {
		params += ","
	}
	headers := map[string]string{wire.HeaderProtocolVersion: wire.Version20260728, wire.HeaderMethod: method}
	for k, v := range more {
		headers[k] = v
	}
	return f.post(`{"jsonrpc":"2.0","id":7,"method":"`+method+`","params":{`+params+`"_meta":{`+modernMeta+meta+`}}}`, headers)
}

// problem reads the error of an answer.
func (g got) problem(t *testing.T) (id string, code int64, reason string) {
	t.Helper()
	var m struct {
		ID    json.RawMessage
		Error *struct {
			Code int64
			Data struct{ Reason string }
		}
	}
	if err := json.Unmarshal([]byte(g.body), &m); err != nil || m.Error == nil {
		t.Fatalf("status %d: not an error: %q", g.status, g.body)
	}
	return string(m.ID), m.Error.Code, m.Error.Data.Reason
}

// events reads the messages of an event stream.
func (g got) events(t *testing.T) []string {
	t.Helper()
	if got := g.header.Get("Content-Type"); got != "text/event-stream" {
		t.Fatalf("Content-Type %q with body %q; want an event stream", got, g.body)
	}
	var messages []string
	for block := range strings.SplitSeq(strings.TrimSuffix(g.body, "\n\n"), "\n\n") {
		if block == ":" {
			continue
		}
		data, ok := strings.CutPrefix(block, "event: message\ndata: ")
		if !ok || strings.Contains(data, "\n") {
			t.Fatalf("not one event: %q", block)
		}
		messages = append(messages, data)
	}
	return messages
}

// compact makes JSON comparable as text.
func compact(t *testing.T, s string) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(s)); err != nil {
		t.Fatalf("%v in %q", err, s)
	}
	return b.String()
}

var errDown = errors.New("down")

// failing is a call that ends without a result.
func failing(err error) func(context.Context, mcp.SessionID, mcp.CallRequest) (*mcp.CallResult, error) {
	return func(context.Context, mcp.SessionID, mcp.CallRequest) (*mcp.CallResult, error) { return nil, err }
}

// withProgress is failing, after one progress notification.
func withProgress(err error) func(context.Context, mcp.SessionID, mcp.CallRequest) (*mcp.CallResult, error) {
	return func(_ context.Context, _ mcp.SessionID, req mcp.CallRequest) (*mcp.CallResult, error) {
		req.Notify(&wire.Message{Method: wire.MethodProgress, Params: json.RawMessage(`{"progress":1}`)})
		return nil, err
	}
}
