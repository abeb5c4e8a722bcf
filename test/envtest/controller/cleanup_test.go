// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/mcp"
	"github.com/mooring-dev/mooring/test/servers"
)

// gone reports whether there is no session "s" any more.
func (w *world) gone() bool {
	err := w.api.Get(w.t.Context(), types.NamespacedName{Namespace: w.namespace, Name: "s"}, &v1alpha1.McpSession{})
	return apierrors.IsNotFound(err)
}

func (w *world) terminating() metav1.Condition {
	w.t.Helper()
	c := meta.FindStatusCondition(w.session("s").Status.Conditions, v1alpha1.ConditionTerminating)
	if c == nil {
		w.t.Fatal("no condition Terminating")
	}
	return *c
}

// Each step stands in status; the announcement comes before the runtime lets go, and the finalizer goes last.
func TestCleanupSteps(t *testing.T) {
	f := newFakeRuntime()
	w := converged(t, f, newSession("s", "a"), "a")
	f.take()
	w.delete(w.session("s"))

	f.teardown = &mcp.Teardown{Step: mcp.TeardownIntakeClosed, Held: true}
	w.writes.after = func(string) error { return errors.New("the answer is lost") }
	if _, _, err := w.try(w.sessions, "s"); err == nil {
		t.Error("no error")
	}
	w.writes.after = nil
	if calls := f.take(); len(calls) != 0 {
		t.Errorf("the runtime was asked before the cleanup was announced: %v", calls)
	}
	_, writes := w.reconcile(w.sessions, "s")
	wrote(t, writes) // it was announced
	is(t, w.session("s").Status.Conditions, "Terminating=True IntakeClosed", "Ready=False Terminating",
		"Reconciling=True Terminating", "Stalled=")
	announced := w.terminating().LastTransitionTime

	for _, step := range []mcp.TeardownStep{mcp.TeardownCallsCancelled, mcp.TeardownProjectionWithdrawn, mcp.TeardownSessionsEnded} {
		f.teardown = &mcp.Teardown{Step: step, Held: true}
		result, writes := w.reconcile(w.sessions, "s")
		wrote(t, writes, writeStatus)
		is(t, w.session("s").Status.Conditions, "Terminating=True "+string(step))
		if result.RequeueAfter <= 0 || result.RequeueAfter > 30*time.Second {
			t.Errorf("%s: looked at again after %v", step, result.RequeueAfter)
		}
		w.restful(w.sessions, w.session("s"))
	}
	if now := w.terminating().LastTransitionTime; !now.Equal(&announced) {
		t.Error("the deadline counts from the announcement, and that moved")
	}
	if want := announced.Add(30 * time.Second); !f.deadline.Equal(want) {
		t.Errorf("deadline %v, want %v", f.deadline, want)
	}
	f.take()
	f.teardown = &mcp.Teardown{Step: mcp.TeardownDone, Done: true, Held: true}
	_, writes = w.reconcile(w.sessions, "s")
	wrote(t, writes, patchFinalizer)
	if diff := cmp.Diff([]string{"Release", "Forget"}, f.take()); diff != "" {
		t.Error(diff)
	}
	if !w.gone() {
		t.Error("the session is still there")
	}
}

// Cleanup works from what the runtime holds: the session's servers may be gone already.
func TestCleanupWithoutServers(t *testing.T) {
	f := newFakeRuntime()
	w := converged(t, f, newSession("s", "a"), "a")
	w.delete(w.session("s"))
	w.delete(w.server("a"))
	f.teardown = &mcp.Teardown{Step: mcp.TeardownDone, Done: true, Held: true}
	w.reconcile(w.sessions, "s")
	if !w.gone() {
		t.Error("the session is still there")
	}
}

// Servers that did not confirm are named before the object goes.
func TestCleanupNamesTheUnconfirmed(t *testing.T) {
	for name, row := range map[string]struct {
		teardown *mcp.Teardown
		want     string
	}{
		"hung":      {&mcp.Teardown{Step: mcp.TeardownDone, Done: true, Held: true, Unconfirmed: []string{"b"}}, "not confirmed by b"},
		"successor": {nil, "not confirmed by a"}, // what an earlier process was connected to
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeRuntime()
			f.show = oneFails
			w := converged(t, f, newSession("s", "a", "b"), "a", "b")
			update(w, w.session("s"), func(s *v1alpha1.McpSession) { s.Finalizers = append(s.Finalizers, "example.com/held") })
			w.delete(w.session("s"))
			f.teardown = row.teardown
			_, writes := w.reconcile(w.sessions, "s")
			wrote(t, writes, writeStatus, writeStatus, patchFinalizer)
			if got := w.terminating(); got.Message != row.want || got.Reason != "Done" {
				t.Errorf("%s: %q, want %q", got.Reason, got.Message, row.want)
			}
			_, writes = w.reconcile(w.sessions, "s") // somebody else's finalizer is none of ours
			wrote(t, writes)
			update(w, w.session("s"), func(s *v1alpha1.McpSession) { s.Finalizers = nil })
		})
	}
}

// A write that fails is done again, and the runtime keeps what it holds until the finalizer is off.
func TestCleanupGoesOnAfterAFailedWrite(t *testing.T) {
	f := newFakeRuntime()
	w := converged(t, f, newSession("s", "a"), "a")
	w.delete(w.session("s"))
	f.teardown = &mcp.Teardown{Step: mcp.TeardownDone, Done: true, Held: true}
	f.take()
	w.writes.after = func(write string) error {
		if write == patchFinalizer {
			return errors.New("the answer is lost")
		}
		return nil
	}
	if _, _, err := w.try(w.sessions, "s"); err == nil {
		t.Fatal("no error")
	}
	if calls := f.take(); strings.Contains(strings.Join(calls, " "), "Forget") {
		t.Errorf("forgotten before the finalizer is known to be off: %v", calls)
	}
	w.writes.after = nil
	w.reconcile(w.sessions, "s")
	if !w.gone() || len(f.desired) != 0 {
		t.Errorf("gone: %v, and the runtime holds %v", w.gone(), f.desired)
	}
}

// A server that hangs costs its session the cleanup's time, and not more.
func TestCleanupOfAHangingServer(t *testing.T) {
	w := newLiveWorld(t)
	w.sessions.CleanupTimeout = 3 * time.Second
	counter := servers.NewCounter()
	t.Cleanup(counter.Close)
	gate := newGate(t, counter.URL)
	hanging := httpServer("hanging", gate.url)
	hanging.Spec.Transport.StreamableHTTP.Protocol = v1alpha1.ProtocolLegacy // has sessions that end
	silent, err := servers.NewSilent()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(silent.Close)
	w.create(hanging, httpServer("silent", silent.URL), newSession("s", "hanging", "silent"))
	w.until("s", "Ready=True Degraded")
	gate.hang.Store(true)

	update(w.world, w.session("s"), func(s *v1alpha1.McpSession) { s.Finalizers = append(s.Finalizers, "example.com/held") })
	w.delete(w.session("s"))
	began := time.Now()
	eventually(t, func() bool {
		w.reconcile(w.sessions, "s")
		return len(w.session("s").Finalizers) == 1
	})
	// The deadline has whole seconds, and is noticed by polling here.
	if took := time.Since(began); took > w.sessions.CleanupTimeout+2*time.Second {
		t.Errorf("took %v of %v", took, w.sessions.CleanupTimeout)
	}
	if got := w.terminating(); got.Message != "not confirmed by hanging" {
		t.Errorf("%s: %q", got.Reason, got.Message)
	}
	if n := w.runtime.Stats(); n.Sessions+n.Releasing != 0 {
		t.Errorf("the runtime still holds %+v", n)
	}
	update(w.world, w.session("s"), func(s *v1alpha1.McpSession) { s.Finalizers = nil })
}
