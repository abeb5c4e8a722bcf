// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/mcp"
)

const (
	writeStatus    = "update status McpSession s"
	patchFinalizer = "patch McpSession s"
)

// converged is a world with one session "s" that was reconciled until it is at rest.
func converged(t *testing.T, f *fakeRuntime, session *v1alpha1.McpSession, servers ...string) *world {
	t.Helper()
	w := newWorld(t, f, newCaller())
	for _, name := range servers {
		w.create(httpServer(name, "https://"+name+".example/mcp"))
	}
	w.create(session)
	w.reconcile(w.sessions, "s")
	w.reconcile(w.sessions, "s")
	return w
}

func id(s *v1alpha1.McpSession) mcp.SessionID { return mcp.SessionID(s.UID) }

func TestFinalizerFirstAndAlone(t *testing.T) {
	f := newFakeRuntime()
	w := newWorld(t, f, newCaller())
	w.create(httpServer("a", "https://a.example/mcp"), newSession("s", "a"))
	_, writes := w.reconcile(w.sessions, "s")
	wrote(t, writes, patchFinalizer)
	if diff := cmp.Diff([]string{v1alpha1.SessionFinalizer}, w.session("s").Finalizers); diff != "" {
		t.Error(diff)
	}
	if calls := f.take(); len(calls) != 0 {
		t.Errorf("the runtime was asked before there was a finalizer: %v", calls)
	}
	_, writes = w.reconcile(w.sessions, "s")
	wrote(t, writes, writeStatus)
	if diff := cmp.Diff([]string{"Ensure"}, f.take()); diff != "" {
		t.Error(diff)
	}
}

func TestReadySession(t *testing.T) {
	w := converged(t, newFakeRuntime(), newSession("s", "a", "b"), "a", "b")
	s := w.session("s")
	is(t, s.Status.Conditions, "Ready=True Ready", "Accepted=True Accepted", "Resolved=True Resolved",
		"Connected=True Connected", "CatalogSynced=True Synced", "Reconciling=", "Stalled=", "ToolsDropped=")
	if want := "http://gateway.example:8090/v1/namespaces/" + w.namespace + "/sessions/s/mcp"; s.Status.Endpoint != want {
		t.Errorf("endpoint %s, want %s", s.Status.Endpoint, want)
	}
	if s.Status.ObservedGeneration != s.Generation || *s.Status.EnabledServers != 2 || *s.Status.ConnectedServers != 2 {
		t.Errorf("status %+v", s.Status)
	}
	var tools []string
	for _, tool := range s.Status.Tools {
		tools = append(tools, tool.Name+" "+tool.Description+" "+tool.InputSchema)
	}
	want := []string{`mcp__a__echo d {"type":"object"}`, `mcp__b__echo d {"type":"object"}`}
	if diff := cmp.Diff(want, tools); diff != "" {
		t.Error(diff)
	}
	if ref := s.Status.Servers[0].ServerRef; ref.UID != w.server("a").UID || s.Status.Servers[0].State != v1alpha1.ServerStateConnected {
		t.Errorf("server %+v", s.Status.Servers[0])
	}
}

// A session may come before its servers, and they before their Secrets.
func TestAnyOrder(t *testing.T) {
	f := newFakeRuntime()
	w := converged(t, f, newSession("s", "a"))
	is(t, w.session("s").Status.Conditions, "Ready=False NoServers", "Stalled=True NoServers", "Resolved=False EntriesSkipped")

	server := httpServer("a", "https://a.example/mcp")
	server.Spec.Transport.StreamableHTTP.Headers = []v1alpha1.Header{
		{Name: "X-Key", SecretKeyRef: &v1alpha1.SecretKeyReference{Name: "later", Key: "k"}},
	}
	w.create(server)
	result, writes := w.reconcile(w.sessions, "s")
	wrote(t, writes, writeStatus)
	s := w.session("s")
	is(t, s.Status.Conditions, "Ready=False NoServerServes", "Stalled=True NoServerServes", "Resolved=False EntriesSkipped")
	if s.Status.Servers[0].State != v1alpha1.ServerStateInvalid || len(f.wants(id(s))) != 0 {
		t.Errorf("%+v, and the runtime wants %v", s.Status.Servers[0], f.wants(id(s)))
	}
	if result.RequeueAfter < 50*time.Second || result.RequeueAfter > 70*time.Second {
		t.Errorf("the Secret is looked for again after %v", result.RequeueAfter)
	}

	w.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "later"}, StringData: map[string]string{"k": "v"}})
	_, writes = w.reconcile(w.sessions, "s")
	wrote(t, writes, writeStatus)
	is(t, w.session("s").Status.Conditions, "Ready=True Ready", "Stalled=", "Resolved=True Resolved")
}

func TestSuspendAndResume(t *testing.T) {
	f := newFakeRuntime()
	w := converged(t, f, newSession("s", "a"), "a")
	update(w, w.session("s"), func(s *v1alpha1.McpSession) { s.Spec.Suspend = v1alpha1.SuspendOn })
	_, writes := w.reconcile(w.sessions, "s")
	wrote(t, writes, writeStatus)
	s := w.session("s")
	is(t, s.Status.Conditions, "Ready=True Suspended", "Connected=False Suspended", "Reconciling=", "Stalled=")
	if wants := f.wants(id(s)); len(wants) != 0 || len(s.Status.Tools) != 0 || s.Status.Servers[0].State != v1alpha1.ServerStateIdle {
		t.Errorf("suspended, and the runtime wants %v, and status says %+v", wants, s.Status.Servers)
	}
	revision := s.Status.Catalog.Revision
	update(w, s, func(s *v1alpha1.McpSession) { s.Spec.Suspend = v1alpha1.SuspendOff })
	w.reconcile(w.sessions, "s")
	s = w.session("s")
	is(t, s.Status.Conditions, "Ready=True Ready", "Connected=True Connected")
	if s.Status.Catalog.Revision < revision || len(s.Status.Tools) != 1 {
		t.Errorf("resumed with %+v", s.Status.Catalog)
	}
}

func TestExclusiveOverride(t *testing.T) {
	f := newFakeRuntime()
	session := newSession("s", "a", "nowhere")
	session.Spec.Overrides = &v1alpha1.SessionOverrides{Servers: newSession("", "b").Spec.Servers}
	w := converged(t, f, session, "a", "b")
	is(t, w.session("s").Status.Conditions, "Ready=True Degraded", "Resolved=False EntriesSkipped")
	if diff := cmp.Diff([]string{"a", "b"}, f.wants(id(w.session("s")))); diff != "" {
		t.Error(diff)
	}
	update(w, w.session("s"), func(s *v1alpha1.McpSession) { s.Spec.Overrides.Mode = v1alpha1.OverrideExclusive })
	w.reconcile(w.sessions, "s")
	s := w.session("s")
	is(t, s.Status.Conditions, "Ready=True Ready", "Resolved=True Resolved")
	if diff := cmp.Diff([]string{"b"}, f.wants(id(s))); diff != "" || s.Status.Servers[0].Layer != v1alpha1.LayerOverride {
		t.Errorf("%s, %+v", diff, s.Status.Servers)
	}
}

func TestServerDeletedAndCreatedAgain(t *testing.T) {
	f := newFakeRuntime()
	w := converged(t, f, newSession("s", "a", "b"), "a", "b")
	first := f.desired[id(w.session("s"))].Servers[0].Fingerprint
	w.delete(w.server("a"))
	_, writes := w.reconcile(w.sessions, "s")
	wrote(t, writes, writeStatus)
	s := w.session("s")
	is(t, s.Status.Conditions, "Ready=True Degraded", "Resolved=False EntriesSkipped")
	if len(s.Status.SkippedServers) != 1 || s.Status.SkippedServers[0].Reason != v1alpha1.SkipNotFound || len(s.Status.Servers) != 1 {
		t.Errorf("skipped %+v of %+v", s.Status.SkippedServers, s.Status.Servers)
	}
	if diff := cmp.Diff([]string{"b"}, f.wants(id(s))); diff != "" {
		t.Error(diff)
	}
	w.create(httpServer("a", "https://a.example/mcp"))
	w.reconcile(w.sessions, "s")
	is(t, w.session("s").Status.Conditions, "Ready=True Ready")
	if second := f.desired[id(s)].Servers[0].Fingerprint; second == first {
		t.Error("another McpServer of the same name kept the connection of the first")
	}
}

// One that is held by somebody's finalizer is gone all the same.
func TestServerThatIsBeingDeleted(t *testing.T) {
	f := newFakeRuntime()
	w := converged(t, f, newSession("s", "a", "b"), "a", "b")
	update(w, w.server("a"), func(s *v1alpha1.McpServer) { s.Finalizers = []string{"example.com/held"} })
	w.delete(w.server("a"))
	w.reconcile(w.sessions, "s")
	if diff := cmp.Diff([]string{"b"}, f.wants(id(w.session("s")))); diff != "" {
		t.Error(diff)
	}
	_, writes := w.reconcile(w.servers, "a")
	wrote(t, writes)
	update(w, w.server("a"), func(s *v1alpha1.McpServer) { s.Finalizers = nil })
}

// A field that is set and not acted upon never fails open.
func TestNotImplementedConnectsNothing(t *testing.T) {
	f := newFakeRuntime()
	session := newSession("s", "a")
	session.Spec.TTLSeconds = 60
	w := converged(t, f, session, "a")
	s := w.session("s")
	is(t, s.Status.Conditions, "Ready=False NotImplemented", "Accepted=False NotImplemented", "Stalled=True NotImplemented",
		"Connected=False NotAccepted")
	if wants := f.wants(id(s)); len(wants) != 0 {
		t.Errorf("the runtime wants %v", wants)
	}

	// The same for one that serves already, and for a definition.
	update(w, s, func(s *v1alpha1.McpSession) { s.Spec.TTLSeconds = 0 })
	w.reconcile(w.sessions, "s")
	is(t, w.session("s").Status.Conditions, "Ready=True Ready")
	update(w, w.server("a"), func(s *v1alpha1.McpServer) { s.Spec.Tasks = &v1alpha1.TaskPolicy{Mode: v1alpha1.On} })
	w.reconcile(w.sessions, "s")
	w.reconcile(w.servers, "a")
	is(t, w.session("s").Status.Conditions, "Ready=False NoServers", "Resolved=False EntriesSkipped")
	is(t, w.server("a").Status.Conditions, "Ready=False NotImplemented", "Accepted=False NotImplemented", "Stalled=True NotImplemented")
	if wants := f.wants(id(w.session("s"))); len(wants) != 0 {
		t.Errorf("the runtime wants %v", wants)
	}
}

func TestNotTheOwner(t *testing.T) {
	f := newFakeRuntime()
	w := newWorld(t, f, newCaller())
	w.create(httpServer("a", "https://a.example/mcp"), newSession("s", "a"))
	*w.owner.other = true
	_, writes := w.reconcile(w.sessions, "s")
	wrote(t, writes)
	*w.owner.other = false
	w.reconcile(w.sessions, "s")
	w.reconcile(w.sessions, "s")
	*w.owner.other = true
	f.take()
	f.show = func(_ mcp.SessionID, d mcp.Desired) *mcp.Snapshot {
		return shown(d, func(s *mcp.ServerSnapshot) { s.State = mcp.StateFailed })
	}
	_, writes = w.reconcile(w.sessions, "s")
	wrote(t, writes)
	w.delete(w.session("s"))
	_, writes = w.reconcile(w.sessions, "s")
	wrote(t, writes)
	if calls := f.take(); len(calls) != 0 {
		t.Errorf("the runtime was asked: %v", calls)
	}
	*w.owner.other = false
	w.reconcile(w.sessions, "s")
	w.reconcile(w.sessions, "s")
}

// A session of the same name is another one. One whose finalizer somebody took away is released when its name is looked
// at next.
func TestSessionCreatedAgain(t *testing.T) {
	f := newFakeRuntime()
	w := converged(t, f, newSession("s", "a"), "a")
	old := w.session("s")
	f.take()
	update(w, w.session("s"), func(s *v1alpha1.McpSession) { s.Finalizers = nil })
	w.delete(old)
	w.create(newSession("s", "a"))
	w.reconcile(w.sessions, "s")
	w.reconcile(w.sessions, "s")
	if diff := cmp.Diff([]string{"Release", "Forget", "Ensure"}, f.take()); diff != "" {
		t.Error(diff)
	}
	if s := w.session("s"); s.UID == old.UID || len(f.wants(id(s))) != 1 || len(f.wants(id(old))) != 0 {
		t.Errorf("the runtime wants %v", f.desired)
	}
	is(t, w.session("s").Status.Conditions, "Ready=True Ready")
}

// A computation over a stale object is refused, and done again.
func TestConflict(t *testing.T) {
	f := newFakeRuntime()
	w := converged(t, f, newSession("s", "a"), "a")
	f.show = func(_ mcp.SessionID, d mcp.Desired) *mcp.Snapshot {
		update(w, w.session("s"), func(s *v1alpha1.McpSession) { s.Labels = map[string]string{"a": time.Now().Format("150405.000000000")} })
		return shown(d, func(s *mcp.ServerSnapshot) { s.State = mcp.StateFailed })
	}
	if _, _, err := w.try(w.sessions, "s"); err == nil {
		t.Fatal("a status that was computed from an old object was written")
	}
	is(t, w.session("s").Status.Conditions, "Ready=True Ready")
}
