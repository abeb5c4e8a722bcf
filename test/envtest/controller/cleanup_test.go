// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/mcp"
)

// A session's cleanup announces itself, follows the runtime's steps, names who did not confirm, and ends.
func TestCleanup(t *testing.T) {
	f := newFakeRuntime()
	w := newWorld(t, f, newCaller())
	w.create(httpServer("a", "https://a.example/mcp"), newSession("s", "a"))
	w.reconcile(w.sessions, "s")
	w.reconcile(w.sessions, "s")
	f.teardown = &mcp.Teardown{Step: mcp.TeardownCallsCancelled, Held: true}
	w.delete(newSession("s"))
	f.take()

	_, writes := w.reconcile(w.sessions, "s")
	wrote(t, writes, "update status McpSession s", "update status McpSession s")
	s := w.session("s")
	is(t, s.Status.Conditions, "Terminating=True CallsCancelled", "Ready=False Terminating")
	if calls := f.take(); !slices.Equal(calls, []string{"Release"}) {
		t.Errorf("asked the runtime %v", calls)
	}
	started := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionTerminating).LastTransitionTime.Time
	if limit := f.deadline.Sub(started); limit > 31*time.Second || limit < 29*time.Second {
		t.Errorf("the deadline is %s after the start", limit)
	}

	// Nothing moved: nothing is written.
	_, writes = w.reconcile(w.sessions, "s")
	wrote(t, writes)

	f.teardown = &mcp.Teardown{Step: mcp.TeardownDone, Done: true, Held: true, Unconfirmed: []string{"a"}}
	w.sessions.Client = w.writes.intercept(w.api)
	_, writes = w.reconcile(w.sessions, "s")
	wrote(t, writes, "update status McpSession s", "patch McpSession s")
	gone := &v1alpha1.McpSession{}
	err := w.api.Get(t.Context(), types.NamespacedName{Namespace: w.namespace, Name: "s"}, gone)
	if !apierrors.IsNotFound(err) {
		t.Fatalf("the session is there: %v", err)
	}
	if calls := f.take(); !slices.Contains(calls, "Forget") {
		t.Errorf("the runtime remembers: %v", calls)
	}
}

// What a predecessor was connected to is reported, for nobody can confirm it any more.
func TestCleanupAfterRestart(t *testing.T) {
	f := newFakeRuntime()
	w := newWorld(t, f, newCaller())
	session := newSession("s", "a")
	session.Finalizers = []string{"test/hold"}
	w.create(httpServer("a", "https://a.example/mcp"), session)
	w.reconcile(w.sessions, "s")
	w.reconcile(w.sessions, "s")
	w.delete(newSession("s"))
	w.reconcile(w.sessions, "s") // the fake holds nothing, and is done at once
	s := w.session("s")
	c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionTerminating)
	if c == nil || !strings.Contains(c.Message, "not confirmed by a") {
		t.Errorf("Terminating %+v", c)
	}
	if slices.Contains(s.Finalizers, v1alpha1.SessionFinalizer) {
		t.Error("the finalizer stays")
	}
	update(w, s, func(s *v1alpha1.McpSession) { s.Finalizers = nil })
}

// A call is sent once, whatever becomes of the process that sent it.
func TestTaskAcrossRestart(t *testing.T) {
	c := newCaller()
	w := newWorld(t, newFakeRuntime(), c)
	task := newTask("o", "s", "mcp__a__echo")
	w.create(httpServer("a", "https://a.example/mcp"), newSession("s", "a"), task)
	w.reconcile(w.sessions, "s")
	w.reconcile(w.sessions, "s")
	w.reconcile(w.tasks, "o")
	eventually(t, func() bool { return c.count() == 1 })
	is(t, w.task("o").Status.Conditions, "Ready=Unknown Running")

	w.restart(c)
	w.reconcile(w.tasks, "o")
	is(t, w.task("o").Status.Conditions, "Ready=False OutcomeUnknown", "Failed=True OutcomeUnknown", "Stalled=True OutcomeUnknown")
	w.restful(w.tasks, task)
	if n := c.count(); n != 1 {
		t.Errorf("sent %d times", n)
	}
}
