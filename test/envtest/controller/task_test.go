// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/mcp"
)

const (
	success   = `{"content":[{"type":"text","text":"hi"}]}`
	writeTask = "update status McpTask o"
)

// taskWorld has a session "s" with the tool mcp__a__echo, and a task "o" that calls it and was not reconciled yet.
func taskWorld(t *testing.T, change func(*v1alpha1.McpTask)) (*world, *caller) {
	t.Helper()
	c := newCaller()
	w := newWorld(t, newFakeRuntime(), c)
	task := newTask("o", "mcp__a__echo")
	change(task)
	w.create(httpServer("a", "https://a.example/mcp"), newSession("s", "a"), task)
	w.reconcile(w.sessions, "s")
	w.reconcile(w.sessions, "s")
	return w, c
}

func asIs(*v1alpha1.McpTask) {}

// ends reconciles the task until it is as wanted.
func (w *world) ends(want string) *v1alpha1.McpTask {
	w.t.Helper()
	eventually(w.t, func() bool {
		w.reconcile(w.tasks, "o")
		return has(w.task("o").Status.Conditions, want)
	})
	return w.task("o")
}

// It is written down before it is sent, and then how it ended: two writes.
func TestTask(t *testing.T) {
	w, c := taskWorld(t, func(task *v1alpha1.McpTask) { task.Spec.Arguments = `{"a":1}` })
	_, writes := w.reconcile(w.tasks, "o")
	wrote(t, writes, writeTask)
	task := w.task("o")
	is(t, task.Status.Conditions, "Ready=Unknown Running", "Reconciling=True Running", "Accepted=True Accepted")
	if e := task.Status.Execution; e == nil || e.SessionUID != w.session("s").UID || e.Server != "a" || e.Tool != "echo" {
		t.Errorf("record %+v", e)
	}
	if task.Status.State != v1alpha1.TaskWorking || task.Status.ID != "mcp_task_"+string(task.UID) || task.Status.StartTime == nil {
		t.Errorf("status %+v", task.Status)
	}
	eventually(t, func() bool { return c.count() == 1 })
	if got := c.sent[0]; got.Tool != "mcp__a__echo" || string(got.Arguments) != `{"a":1}` {
		t.Errorf("sent %+v", got)
	}
	c.answer <- success
	task = w.ends("Ready=True Completed")
	is(t, task.Status.Conditions, "Complete=True Completed", "Failed=", "Reconciling=", "Stalled=")
	if r := task.Status.Result; r == nil || r.Preview != "hi" || r.Outcome != v1alpha1.OutcomeSuccess || c.count() != 1 {
		t.Errorf("result %+v of %d calls", r, c.count())
	}
}

// Whatever fails, and wherever the process ends, a call is sent at most once, and its outcome is true or said to be unknown.
func TestTaskAtMostOnce(t *testing.T) {
	lost := func(string) error { return errors.New("the answer is lost") }
	for name, row := range map[string]struct {
		// run goes from the new task to the trouble.
		run  func(w *world, c *caller)
		want string
		sent int
	}{
		"the process ends after the record, before the call": {func(w *world, c *caller) {
			w.writes.after = lost
			_, _, _ = w.try(w.tasks, "o")
			w.restart(c)
		}, "Ready=False OutcomeUnknown", 0},
		"the process ends while the call runs": {func(w *world, c *caller) {
			w.reconcile(w.tasks, "o")
			eventually(w.t, func() bool { return c.count() == 1 })
			w.restart(c)
		}, "Ready=False OutcomeUnknown", 1},
		"the process ends before the record": {func(w *world, c *caller) { w.restart(c) }, "Ready=True Completed", 1},
		"the record's write lands, and its answer is lost": {func(w *world, _ *caller) {
			w.writes.after = lost
			_, _, _ = w.try(w.tasks, "o")
		}, "Ready=True Completed", 1},
		"the write of the end lands, and its answer is lost": {func(w *world, c *caller) {
			w.reconcile(w.tasks, "o")
			c.answer <- success
			w.writes.after = lost
			eventually(w.t, func() bool {
				_, _, err := w.try(w.tasks, "o")
				return err != nil
			})
		}, "Ready=True Completed", 1},
		"and the process ends after it": {func(w *world, c *caller) {
			w.reconcile(w.tasks, "o")
			c.answer <- success
			w.writes.after = lost
			eventually(w.t, func() bool {
				_, _, err := w.try(w.tasks, "o")
				return err != nil
			})
			w.restart(c)
		}, "Ready=True Completed", 1},
	} {
		t.Run(name, func(t *testing.T) {
			w, c := taskWorld(t, asIs)
			row.run(w, c)
			w.writes.after = nil
			c.answer <- success
			task := w.ends(row.want)
			w.restart(c)
			w.restful(w.tasks, task)
			if c.count() != row.sent {
				t.Errorf("sent %d times, want %d", c.count(), row.sent)
			}
		})
	}
}

// A task may come before its session, and both before the server.
func TestTaskBeforeItsSession(t *testing.T) {
	c := newCaller()
	w := newWorld(t, newFakeRuntime(), c)
	w.create(newTask("o", "mcp__a__echo"))
	result, _ := w.reconcile(w.tasks, "o")
	is(t, w.task("o").Status.Conditions, "Ready=Unknown SessionNotFound", "Reconciling=True SessionNotFound")
	if result.RequeueAfter < 29*time.Minute || result.RequeueAfter > 30*time.Minute {
		t.Errorf("it gives up after %v", result.RequeueAfter)
	}
	w.create(newSession("s", "a"))
	w.reconcile(w.tasks, "o")
	w.reconcile(w.sessions, "s")
	w.reconcile(w.sessions, "s")
	w.reconcile(w.tasks, "o")
	is(t, w.task("o").Status.Conditions, "Ready=Unknown WaitingForSession")
	w.create(httpServer("a", "https://a.example/mcp"))
	w.reconcile(w.sessions, "s")
	w.reconcile(w.tasks, "o")
	is(t, w.task("o").Status.Conditions, "Ready=Unknown Running")
	c.answer <- success
	w.ends("Ready=True Completed")
}

func TestTaskOfASuspendedSessionWaits(t *testing.T) {
	w, c := taskWorld(t, asIs)
	update(w, w.session("s"), func(s *v1alpha1.McpSession) { s.Spec.Suspend = v1alpha1.SuspendOn })
	w.reconcile(w.sessions, "s")
	w.reconcile(w.tasks, "o")
	is(t, w.task("o").Status.Conditions, "Ready=Unknown WaitingForSession")
	update(w, w.session("s"), func(s *v1alpha1.McpSession) { s.Spec.Suspend = v1alpha1.SuspendOff })
	w.reconcile(w.sessions, "s")
	c.answer <- success
	w.ends("Ready=True Completed")
}

func TestTaskCancelled(t *testing.T) {
	w, c := taskWorld(t, func(task *v1alpha1.McpTask) { task.Spec.Cancel = v1alpha1.CancelRequested })
	w.ends("Ready=False CancelRequested")
	if c.count() != 0 {
		t.Error("a task that was cancelled was sent")
	}

	w, c = taskWorld(t, asIs)
	w.reconcile(w.tasks, "o")
	eventually(t, func() bool { return c.count() == 1 })
	update(w, w.task("o"), func(task *v1alpha1.McpTask) { task.Spec.Cancel = v1alpha1.CancelRequested })
	task := w.ends("Ready=False CancelRequested")
	is(t, task.Status.Conditions, "Failed=True CancelRequested", "Stalled=True CancelRequested")
	if task.Status.State != v1alpha1.TaskCancelled {
		t.Errorf("state %s", task.Status.State)
	}
}

// What is asked of a task that ended changes nothing, and is not left unobserved for ever.
func TestTaskThatEndedIsFinal(t *testing.T) {
	w, c := taskWorld(t, asIs)
	c.answer <- success
	w.ends("Ready=True Completed")
	update(w, w.task("o"), func(task *v1alpha1.McpTask) { task.Spec.Cancel = v1alpha1.CancelRequested })
	_, writes := w.reconcile(w.tasks, "o")
	wrote(t, writes, writeTask)
	task := w.task("o")
	is(t, task.Status.Conditions, "Ready=True Completed")
	if task.Generation != 2 || task.Status.ObservedGeneration != 2 || task.Status.Conditions[0].ObservedGeneration != 2 {
		t.Errorf("generation %d, observed %d", task.Generation, task.Status.ObservedGeneration)
	}
	w.restful(w.tasks, task)
}

func TestTaskLifetime(t *testing.T) {
	w, c := taskWorld(t, func(task *v1alpha1.McpTask) { task.Spec.LifetimeSeconds = 10 })
	// The session goes away, and the task waits for it.
	update(w, w.session("s"), func(s *v1alpha1.McpSession) { s.Finalizers = nil })
	w.delete(w.session("s"))
	result, _ := w.reconcile(w.tasks, "o")
	if result.RequeueAfter <= 0 || result.RequeueAfter > 10*time.Second {
		t.Errorf("looked at again after %v", result.RequeueAfter)
	}
	w.ends("Ready=False LifetimeExceeded")
	if c.count() != 0 {
		t.Error("sent after its lifetime")
	}
}

func TestTaskTTL(t *testing.T) {
	w, c := taskWorld(t, func(task *v1alpha1.McpTask) { task.Spec.TTLSecondsAfterFinished = ptr.To[int32](1) })
	c.answer <- success
	w.ends("Ready=True Completed")
	eventually(t, func() bool {
		w.reconcile(w.tasks, "o")
		err := w.api.Get(t.Context(), types.NamespacedName{Namespace: w.namespace, Name: "o"}, &v1alpha1.McpTask{})
		return apierrors.IsNotFound(err)
	})
}

// A task that is deleted takes its call with it; one of the same name is another one.
func TestTaskCreatedAgain(t *testing.T) {
	w, c := taskWorld(t, asIs)
	w.reconcile(w.tasks, "o")
	eventually(t, func() bool { return c.count() == 1 })
	old := w.task("o")
	w.delete(old)
	again := newTask("o", "mcp__a__echo")
	w.create(again)
	w.reconcile(w.tasks, "o")
	eventually(t, func() bool { return c.count() == 2 })
	if e := w.tasks.Executor; e.Holds(old.UID, old.Status.Execution.Holder, old.Status.Execution.Fence) {
		t.Error("the first one's call is still held")
	}
	c.answer <- success
	if task := w.ends("Ready=True Completed"); task.UID != again.UID {
		t.Errorf("%s, want %s", task.UID, again.UID)
	}
	w.delete(w.task("o"))
	_, writes := w.reconcile(w.tasks, "o")
	wrote(t, writes)
}

// Only the owner of the session writes, whatever the task's record says.
func TestTaskIsTheOwners(t *testing.T) {
	w, c := taskWorld(t, asIs)
	*w.owner.other = true
	_, writes := w.reconcile(w.tasks, "o")
	wrote(t, writes)
	*w.owner.other = false
	w.reconcile(w.tasks, "o")
	*w.owner.other = true
	w.restart(c) // another replica holds nothing of the record
	w.restful(w.tasks, w.task("o"))
	update(w, w.task("o"), func(task *v1alpha1.McpTask) { task.Spec.Cancel = v1alpha1.CancelRequested })
	w.restful(w.tasks, w.task("o"))
	is(t, w.task("o").Status.Conditions, "Ready=Unknown Running")
}

// The call is made in the session whose UID is recorded.
func TestTaskKeepsToItsSession(t *testing.T) {
	w, c := taskWorld(t, asIs)
	w.reconcile(w.tasks, "o")
	eventually(t, func() bool { return c.count() == 1 })
	first := mcp.SessionID(w.session("s").UID)
	if diff := cmp.Diff([]mcp.SessionID{first}, c.sessions); diff != "" {
		t.Error(diff)
	}
	if record := w.task("o").Status.Execution; mcp.SessionID(record.SessionUID) != first {
		t.Errorf("record %+v", record)
	}
	c.answer <- success
	w.ends("Ready=True Completed")
}
