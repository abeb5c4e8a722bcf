// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/mcp"
)

// at is a time with a fraction, as the runtime's are. The API server keeps seconds.
var at = time.Date(2026, 8, 1, 12, 0, 0, 987654321, time.UTC)

func oneFails(_ mcp.SessionID, d mcp.Desired) *mcp.Snapshot {
	return shown(d, func(s *mcp.ServerSnapshot) {
		if s.Name == "a" {
			connected(s, echo)
			return
		}
		s.State, s.Generation, s.Attempt, s.Limit = mcp.StateReconnecting, 7, 3, 5
		s.NextAttempt = at.Add(time.Minute)
		s.LastError = &mcp.Failure{Reason: mcp.FailureUnreachable, Message: "connection refused", Time: at}
	})
}

// A second reconcile of anything writes nothing.
func TestSecondReconcileWritesNothing(t *testing.T) {
	session := func(change func(*v1alpha1.McpSession)) *v1alpha1.McpSession {
		s := newSession("o", "a", "b")
		change(s)
		return s
	}
	for name, row := range map[string]struct {
		session *v1alpha1.McpSession
		show    func(mcp.SessionID, mcp.Desired) *mcp.Snapshot
		want    string
	}{
		"ready":    {session(func(*v1alpha1.McpSession) {}), allConnected, "Ready=True Ready"},
		"degraded": {session(func(*v1alpha1.McpSession) {}), oneFails, "Ready=True Degraded"},
		"first attempts": {session(func(*v1alpha1.McpSession) {}), func(_ mcp.SessionID, d mcp.Desired) *mcp.Snapshot {
			return shown(d, func(s *mcp.ServerSnapshot) { s.State, s.Generation = mcp.StateConnecting, 1 })
		}, "Ready=Unknown Connecting"},
		"suspended":       {session(func(s *v1alpha1.McpSession) { s.Spec.Suspend = v1alpha1.SuspendOn }), allConnected, "Ready=True Suspended"},
		"not implemented": {session(func(s *v1alpha1.McpSession) { s.Spec.TTLSeconds = 60 }), allConnected, "Ready=False NotImplemented"},
		"skipped":         {session(func(s *v1alpha1.McpSession) { s.Spec.Servers[1].Ref.Name = "nowhere" }), allConnected, "Ready=True Degraded"},
		"shadowed": {session(func(s *v1alpha1.McpSession) {
			s.Spec.Workspace = &v1alpha1.ServerSource{Selector: &v1alpha1.LabelSelector{}}
		}), allConnected, "Ready=True Ready"},
		"unresolved": {session(func(s *v1alpha1.McpSession) {
			s.Spec.Servers[1].Headers = []v1alpha1.Header{{Name: "X", SecretKeyRef: &v1alpha1.SecretKeyReference{Name: "nowhere", Key: "k"}}}
		}), allConnected, "Ready=True Degraded"},
		"empty": {session(func(s *v1alpha1.McpSession) {
			s.Spec.Servers = s.Spec.Servers[:1]
			s.Spec.Servers[0].State = v1alpha1.ServerDisabled
		}), allConnected, "Ready=False NoServers"},
	} {
		t.Run("session "+name, func(t *testing.T) {
			f := newFakeRuntime()
			f.show = row.show
			w := newWorld(t, f, newCaller())
			w.create(httpServer("a", "https://a.example/mcp"), httpServer("b", "https://b.example/mcp"), row.session)
			w.reconcile(w.sessions, "o")
			w.writesOnce(w.sessions, row.session)
			is(t, w.session("o").Status.Conditions, row.want)
		})
	}
}

func TestSecondReconcileOfServerWritesNothing(t *testing.T) {
	legacy := httpServer("o", "https://a.example/mcp")
	legacy.Spec.Tasks = &v1alpha1.TaskPolicy{Mode: v1alpha1.On}
	for want, server := range map[string]*v1alpha1.McpServer{
		"Ready=True Accepted": httpServer("o", "https://a.example/mcp"), "Ready=False NotImplemented": legacy,
	} {
		w := newWorld(t, newFakeRuntime(), newCaller())
		w.create(server)
		w.writesOnce(w.servers, server)
		is(t, w.server("o").Status.Conditions, want)

		// A session that uses it is counted, once.
		s := newSession("s", "o")
		w.create(s)
		s.Status = v1alpha1.McpSessionStatus{Servers: []v1alpha1.SessionServerStatus{{
			Name: "o", Layer: v1alpha1.LayerSession, State: v1alpha1.ServerStateIdle,
			ServerRef: v1alpha1.ObservedServerReference{Name: "o", UID: server.UID},
		}}}
		if err := w.api.Status().Update(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		w.writesOnce(w.servers, server)
		if n := w.server("o").Status.Sessions; n != 1 {
			t.Errorf("%d sessions, want 1", n)
		}
	}
}

func TestSecondReconcileOfTaskWritesNothing(t *testing.T) {
	for name, row := range map[string]struct {
		tool, arguments, answer string
		want                    string
	}{
		"waiting for its session": {tool: "mcp__a__echo", want: "Ready=Unknown SessionNotFound"},
		"running":                 {tool: "mcp__a__echo", want: "Ready=Unknown Running"},
		"completed":               {tool: "mcp__a__echo", answer: `{"content":[{"type":"text","text":"hi"}]}`, want: "Ready=True Completed"},
		"failed":                  {tool: "mcp__a__echo", answer: `{"content":[],"isError":true}`, want: "Ready=False ToolError"},
		"no such tool":            {tool: "mcp__a__other", want: "Ready=False ToolNotFound"},
		"invalid":                 {tool: "mcp__a__echo", arguments: `{"a":}`, want: "Ready=False InvalidArguments"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCaller()
			w := newWorld(t, newFakeRuntime(), c)
			task := newTask("o", row.tool)
			task.Spec.Arguments = row.arguments
			w.create(httpServer("a", "https://a.example/mcp"), task)
			if name != "waiting for its session" {
				w.create(newSession("s", "a"))
				w.reconcile(w.sessions, "s")
				w.reconcile(w.sessions, "s")
			}
			if row.answer != "" {
				c.answer <- row.answer
				w.reconcile(w.tasks, "o")
				eventually(t, func() bool {
					_, writes := w.reconcile(w.tasks, "o")
					return len(writes) > 0
				})
			} else {
				w.writesOnce(w.tasks, task)
			}
			w.restful(w.tasks, task)
			is(t, w.task("o").Status.Conditions, row.want)
		})
	}
}

// writesOnce reconciles twice: the first time writes status once, the second nothing.
func (w *world) writesOnce(r reconcile.Reconciler, o client.Object) {
	w.t.Helper()
	if _, writes := w.reconcile(r, o.GetName()); len(writes) != 1 {
		w.t.Errorf("wrote %q, want one write of status", writes)
	}
	w.restful(r, o)
}

// restful checks that a reconcile writes nothing, by its calls and by the object's resource version.
func (w *world) restful(r reconcile.Reconciler, o client.Object) {
	w.t.Helper()
	before := get(w, o).GetResourceVersion()
	for range 3 {
		_, writes := w.reconcile(r, o.GetName())
		wrote(w.t, writes)
	}
	if after := get(w, o).GetResourceVersion(); after != before {
		w.t.Errorf("resource version %s is %s now", before, after)
	}
}

// eventually waits for something that happens elsewhere.
func eventually(t *testing.T, happened func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !happened() {
		if time.Now().After(deadline) {
			t.Fatal("waited for 30 s")
		}
		time.Sleep(20 * time.Millisecond)
	}
}
