// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/mcp"
	"github.com/mooring-dev/mooring/internal/mcp/catalog"
)

// chunkGrace is the grace of catalog chunks in these tests. Times of the API server have whole seconds.
const chunkGrace = 4 * time.Second

func httpServer(name, url string) *v1alpha1.McpServer {
	return &v1alpha1.McpServer{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.McpServerSpec{Transport: v1alpha1.Transport{
			Type: v1alpha1.TransportStreamableHTTP, StreamableHTTP: &v1alpha1.HTTPTransport{URL: url},
		}},
	}
}

// newSession is a session with a server for each name, referring to the McpServer of the same name.
func newSession(name string, servers ...string) *v1alpha1.McpSession {
	s := &v1alpha1.McpSession{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, server := range servers {
		s.Spec.Servers = append(s.Spec.Servers, v1alpha1.SessionServer{Name: server, Ref: v1alpha1.LocalMcpServerReference{Name: server}})
	}
	return s
}

// newTask calls a tool of session "s".
func newTask(name, tool string) *v1alpha1.McpTask {
	return &v1alpha1.McpTask{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.McpTaskSpec{
		SessionRef: v1alpha1.LocalMcpSessionReference{Name: "s"}, Tool: tool, Mode: v1alpha1.TaskModeCall,
	}}
}

// runtime is a fake of the sessions' runtime: it keeps what is desired, and shows what a test says.
type fakeRuntime struct {
	mu       sync.Mutex
	desired  map[mcp.SessionID]mcp.Desired
	show     func(mcp.SessionID, mcp.Desired) *mcp.Snapshot
	teardown *mcp.Teardown // nil: done, and nothing was held
	deadline time.Time
	calls    []string
}

func newFakeRuntime() *fakeRuntime {
	return &fakeRuntime{desired: map[mcp.SessionID]mcp.Desired{}, show: allConnected}
}

func (f *fakeRuntime) Ensure(id mcp.SessionID, d mcp.Desired) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.desired[id] = d
	f.calls = append(f.calls, "Ensure")
}

func (f *fakeRuntime) Snapshot(id mcp.SessionID) (*mcp.Snapshot, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	d, ok := f.desired[id]
	if !ok {
		return nil, false
	}
	return f.show(id, d), true
}

func (f *fakeRuntime) Release(_ mcp.SessionID, deadline time.Time) mcp.Teardown {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, "Release")
	f.deadline = deadline
	if f.teardown == nil {
		return mcp.Teardown{Step: mcp.TeardownDone, Done: true}
	}
	return *f.teardown
}

func (f *fakeRuntime) Forget(id mcp.SessionID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, "Forget")
	delete(f.desired, id)
}

// take returns the calls since the last time.
func (f *fakeRuntime) take() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	calls := f.calls
	f.calls = nil
	return calls
}

func (f *fakeRuntime) wants(id mcp.SessionID) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	names := []string{}
	for _, s := range f.desired[id].Servers {
		names = append(names, s.Name)
	}
	return names
}

// echo is a catalog of one tool.
var echo = func() *catalog.Catalog {
	b := catalog.NewBuilder()
	if _, err := b.AddPage(json.RawMessage(`{"tools":[{"name":"echo","description":"d","inputSchema":{"type":"object"}}]}`)); err != nil {
		panic(err)
	}
	return b.Catalog()
}()

// allConnected shows every server connected, each with the tool echo.
func allConnected(_ mcp.SessionID, d mcp.Desired) *mcp.Snapshot {
	return shown(d, func(s *mcp.ServerSnapshot) { connected(s, echo) })
}

func connected(s *mcp.ServerSnapshot, tools *catalog.Catalog) {
	s.State, s.Generation, s.ProtocolVersion = mcp.StateConnected, 1, "2025-11-25"
	s.ServerInfo = mcp.ServerInfo{Name: "fake", Version: "1"}
	s.Capabilities = []string{"tools"}
	s.Tools, s.CatalogRevision = tools, 1
}

// shown makes a snapshot of what is desired, each server as set says.
func shown(d mcp.Desired, set func(*mcp.ServerSnapshot)) *mcp.Snapshot {
	snapshot := &mcp.Snapshot{Revision: 1}
	var offered []catalog.ServerTools
	for i := range d.Servers {
		s := mcp.ServerSnapshot{Name: d.Servers[i].Name, Fingerprint: d.Servers[i].Fingerprint, State: mcp.StateIdle}
		set(&s)
		snapshot.Servers = append(snapshot.Servers, s)
		if s.Tools != nil {
			offered = append(offered, catalog.ServerTools{Server: s.Name, Catalog: s.Tools})
		}
	}
	snapshot.Projection = catalog.Project(offered, catalog.Filter{Allow: d.Tools.Allow, Deny: d.Tools.Deny})
	return snapshot
}

// caller is a fake server for tasks: it counts what is sent, and answers when it is told to.
type caller struct {
	mu       sync.Mutex
	sent     []mcp.CallRequest
	sessions []mcp.SessionID
	answer   chan string
}

func newCaller() *caller { return &caller{answer: make(chan string, 8)} }

func (c *caller) Call(ctx context.Context, id mcp.SessionID, request mcp.CallRequest) (*mcp.CallResult, error) {
	c.mu.Lock()
	c.sent, c.sessions = append(c.sent, request), append(c.sessions, id)
	c.mu.Unlock()
	select {
	case result := <-c.answer:
		return &mcp.CallResult{Result: json.RawMessage(result)}, nil
	case <-ctx.Done():
		return nil, &mcp.CallError{Reason: mcp.CallAborted, Sent: true, Err: context.Cause(ctx)}
	}
}

func (c *caller) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.sent)
}
