// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mooring-dev/mooring/internal/bridge"
	"github.com/mooring-dev/mooring/internal/mcp"
	"github.com/mooring-dev/mooring/internal/mcp/catalog"
	"github.com/mooring-dev/mooring/internal/mcp/logs"
)

const (
	id   = mcp.SessionID("session")
	name = "one"
	// patience bounds every wait for a server; those of the everything server do something each 5 s.
	patience = 20 * time.Second
)

// sockets dials, without asking where to, and knows what is open.
type sockets struct {
	mu   sync.Mutex
	open map[*socket]string
}

type socket struct {
	net.Conn
	of *sockets
}

// DialContext implements mcp.Dialer.
func (s *sockets) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	out := &socket{Conn: conn, of: s}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[*socket]string{}
	}
	s.open[out] = address
	return out, nil
}

// Close implements net.Conn.
func (c *socket) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

func (s *sockets) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}

// stdio reaches a process through its bridge.
func (s *sockets) stdio(ctx context.Context, at mcp.Bridge) (net.Conn, error) {
	conn, err := s.DialContext(ctx, "tcp", at.Address)
	if err != nil {
		return nil, err
	}
	return bridge.Client(ctx, conn, at.Token)
}

// rig is a runtime with one session on one server.
type rig struct {
	*mcp.Runtime
	t       *testing.T
	sockets *sockets
	watcher *mcp.Watcher
	heard   []mcp.Event
}

// newRig connects a server and waits until it serves.
func newRig(t *testing.T, server mcp.Server, subscriptions ...string) *rig {
	t.Helper()
	s := &sockets{}
	r := &rig{Runtime: mcp.New(mcp.Options{Egress: s, Stdio: s.stdio}), t: t, sockets: s}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
		defer cancel()
		if err := r.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	server.Name, server.Fingerprint = name, "1"
	server.Policy.Logging = mcp.Logging{Level: logs.Debug}
	server.Policy.Recovery = mcp.Recovery{MaxAttempts: 20, InitialDelay: 100 * time.Millisecond, MaxDelay: time.Second}
	desired := mcp.Desired{Servers: []mcp.Server{server}}
	for _, uri := range subscriptions {
		desired.Subscriptions = append(desired.Subscriptions, mcp.Subscription{Server: name, URI: uri})
	}
	r.Ensure(id, desired)
	var err error
	if r.watcher, _, err = r.Watch(id); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.watcher.Stop)
	if got := r.synced(); got.State != mcp.StateConnected {
		t.Fatalf("state %s: %+v", got.State, got.LastError)
	}
	return r
}

// synced is the server's snapshot once no list is outstanding.
func (r *rig) synced() *mcp.ServerSnapshot {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	s, err := r.AwaitSync(ctx, id)
	if err != nil {
		r.t.Fatalf("await: %v", err)
	}
	return &s.Servers[0]
}

// snapshot is the session's, now.
func (r *rig) snapshot() *mcp.Snapshot {
	r.t.Helper()
	s, ok := r.Snapshot(id)
	if !ok {
		r.t.Fatal("there is no session")
	}
	return s
}

// await waits for an event, whether it has come before or not, and returns it.
func (r *rig) await(what string, fits func(*mcp.Event) bool) *mcp.Event {
	r.t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	for at := 0; ; {
		r.heard = append(r.heard, r.watcher.Drain()...)
		for ; at < len(r.heard); at++ {
			if fits(&r.heard[at]) {
				return &r.heard[at]
			}
		}
		select {
		case <-r.watcher.Wake():
		case <-late.C:
			r.t.Fatalf("%s: no such event among %s", what, kinds(r.heard))
		}
	}
}

// forget drops the events that have come so far.
func (r *rig) forget() {
	r.watcher.Drain()
	r.heard = nil
}

func kinds(events []mcp.Event) string {
	var b strings.Builder
	for i := range events {
		e := &events[i]
		fmt.Fprintf(&b, "%s(%s%s %v) ", e.Kind, e.List, e.URI, e.Added)
		if e.Failure != nil {
			fmt.Fprintf(&b, "%s: %s ", e.Failure.Reason, e.Failure.Message)
		}
	}
	return b.String()
}

// eventually polls until fits says nothing more is wrong.
func eventually(t *testing.T, within time.Duration, wrong func() string) {
	t.Helper()
	for end := time.Now().Add(within); ; time.Sleep(10 * time.Millisecond) {
		last := wrong()
		if last == "" {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("after %s: %s", within, last)
		}
	}
}

// call calls a tool by its server's name for it, and returns the result and its texts.
func (r *rig) call(tool toolCall) (raw json.RawMessage, texts string) {
	r.t.Helper()
	raw, texts, err := r.try(tool)
	if err != nil {
		r.t.Fatalf("%s: %v", tool.name, err)
	}
	return raw, texts
}

func (r *rig) try(tool toolCall) (raw json.RawMessage, texts string, err error) {
	r.t.Helper()
	projected := r.tool(tool.name)
	if projected == nil {
		r.t.Fatalf("no tool %s", tool.name)
	}
	req := mcp.CallRequest{Tool: projected.Name, Notify: tool.notify}
	if tool.arguments != "" {
		req.Arguments = json.RawMessage(tool.arguments)
	}
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	res, err := r.Call(ctx, id, req)
	if err != nil {
		return nil, "", err
	}
	return res.Result, textsOf(res.Result), nil
}

func (r *rig) tool(tool string) *catalog.ProjectedTool {
	r.t.Helper()
	p := r.snapshot().Projection
	for i := range p.Tools {
		if p.Tools[i].Tool.Name == tool {
			return &p.Tools[i]
		}
	}
	return nil
}

// textsOf joins the texts of a result of tools/call, resources/read or prompts/get.
func textsOf(raw json.RawMessage) string {
	type part struct {
		Text string `json:"text"`
	}
	var result struct {
		Content  []part `json:"content"`
		Contents []part `json:"contents"`
		Messages []struct {
			Content part `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		return err.Error()
	}
	var texts []string
	for _, p := range append(result.Content, result.Contents...) {
		texts = append(texts, p.Text)
	}
	for _, m := range result.Messages {
		texts = append(texts, m.Content.Text)
	}
	return strings.Join(texts, "\n")
}

// output is a file for what a process writes, which a failed test shows.
func output(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "output"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = f.Close()
		if wrote, err := os.ReadFile(f.Name()); err == nil && t.Failed() {
			t.Logf("the server wrote:\n%s", wrote)
		}
	})
	return f
}
