// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/controller/definition"
	"github.com/mooring-dev/mooring/internal/controller/report"
	"github.com/mooring-dev/mooring/internal/controller/wake"
	"github.com/mooring-dev/mooring/internal/failpoint"
	"github.com/mooring-dev/mooring/internal/mcp"
	"github.com/mooring-dev/mooring/internal/shard"
)

// Sessions is what a task needs to know of its session's runtime.
type Sessions interface {
	Snapshot(id mcp.SessionID) (*mcp.Snapshot, bool)
}

// Reconciler converges McpTasks.
type Reconciler struct {
	// Client reads from the cache and sees its own writes.
	Client   client.Client
	Sessions Sessions
	Executor *Executor
	Owner    shard.Owner
	Wake     *wake.Source[types.UID]

	Concurrency int
}

var _ reconcile.Reconciler = (*Reconciler)(nil)

// +kubebuilder:rbac:groups=mcp.mooring.dev,resources=mcptasks,verbs=get;list;watch;update;patch;delete
// +kubebuilder:rbac:groups=mcp.mooring.dev,resources=mcptasks/status,verbs=get;update;patch

// Reconcile moves a task one step: refuse, wait, record and launch, or write down how the call ended.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	task := &v1alpha1.McpTask{}
	if err := r.Client.Get(ctx, request.NamespacedName, task); err != nil {
		if apierrors.IsNotFound(err) {
			r.forgetOthers("", request.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	r.forgetOthers(task.UID, request.NamespacedName)
	if terminal(task) {
		return r.settle(ctx, task)
	}
	before := task.Status.DeepCopy()
	next, err := r.step(ctx, task)
	if err != nil || next.wait {
		return ctrl.Result{RequeueAfter: next.after}, err
	}
	task.Status.ObservedGeneration = task.Generation
	setConditions(report.For(&task.Status.Conditions, task.Generation), &task.Status, next.verdict)
	due := !equality.Semantic.DeepEqual(before, &task.Status)
	wrote, err := report.Write(ctx, r.Client.Status(), task, before, &task.Status)
	if err != nil {
		return ctrl.Result{}, err
	}
	if due && !wrote { // it is gone: what was not recorded is not sent
		r.Executor.Forget(task.UID)
		return ctrl.Result{}, nil
	}
	if terminal(task) {
		return r.finish(ctx, task)
	}
	if next.launch != nil {
		failpoint.Reach("task/recorded")
		next.launch()
	}
	return ctrl.Result{RequeueAfter: next.after}, nil
}

// next is what a step decided: a verdict to write, and what to do once it is written.
type next struct {
	verdict verdict
	launch  func()
	after   time.Duration
	// wait says that nothing is to be written: something will wake us.
	wait bool
}

func (r *Reconciler) step(ctx context.Context, task *v1alpha1.McpTask) (next, error) {
	if record := task.Status.Execution; record != nil {
		if later, owns := r.owns(record.SessionUID); !owns {
			return next{wait: true, after: later}, nil // its record says nothing to us
		}
		return r.follow(task), nil
	}
	session := &v1alpha1.McpSession{}
	err := r.Client.Get(ctx, types.NamespacedName{Namespace: task.Namespace, Name: task.Spec.SessionRef.Name}, session)
	if client.IgnoreNotFound(err) != nil {
		return next{}, fmt.Errorf("read session: %w", err)
	}
	found := err == nil && session.DeletionTimestamp == nil
	if found {
		if later, owns := r.owns(session.UID); !owns {
			return next{wait: true, after: later}, nil
		}
	}
	deadline := lifetimeEnd(task)
	if v := refuse(task, deadline); v != nil {
		return next{verdict: *v}, nil
	}
	if !found {
		return next{after: time.Until(deadline), verdict: waiting(v1alpha1.ReasonSessionNotFound,
			"there is no session "+task.Spec.SessionRef.Name+" yet")}, nil
	}
	return r.begin(task, session, deadline), nil
}

// refuse ends a task that is not to be sent, whatever its session is.
func refuse(task *v1alpha1.McpTask, deadline time.Time) *verdict {
	var v verdict
	problem := definition.CheckTask(task)
	switch {
	case problem != nil:
		v = end(task, v1alpha1.TaskFailed, problem.Reason, problem.Message)
	case task.Spec.Cancel == v1alpha1.CancelRequested || task.DeletionTimestamp != nil:
		v = end(task, v1alpha1.TaskCancelled, v1alpha1.ReasonCancelRequested, "cancelled before it was sent")
	case !time.Now().Before(deadline):
		v = end(task, v1alpha1.TaskFailed, v1alpha1.ReasonLifetimeExceeded, "spec.lifetimeSeconds ended before the call could be sent")
	default:
		return nil
	}
	return &v
}

// owns reports whether this replica has the task's session, and if not, when to ask again.
func (r *Reconciler) owns(session types.UID) (later time.Duration, self bool) {
	address, self := r.Owner.Owner(mcp.SessionID(session))
	return shard.Later(address).RequeueAfter, self
}

// begin records the call and returns how to make it, if the session offers the tool.
func (r *Reconciler) begin(task *v1alpha1.McpTask, session *v1alpha1.McpSession, deadline time.Time) next {
	id := mcp.SessionID(session.UID)
	snapshot, _ := r.Sessions.Snapshot(id)
	tool, why := find(snapshot, resolved(session), task.Spec.Tool)
	if why != nil {
		if why.final {
			return next{verdict: end(task, v1alpha1.TaskFailed, why.reason, why.message)}
		}
		after := time.Until(deadline)
		if why.soon {
			after = min(after, time.Second)
		}
		return next{after: after, verdict: waiting(why.reason, why.message)}
	}
	r.Wake.Bind(task.UID, client.ObjectKeyFromObject(task))
	now := metav1.Now().Rfc3339Copy()
	task.Status.ID = "mcp_task_" + string(task.UID)
	task.Status.State = v1alpha1.TaskWorking
	task.Status.StartTime = &now
	task.Status.Execution = &v1alpha1.TaskExecution{
		Holder: r.Executor.Holder, Fence: r.Executor.Prepare(task.UID), SessionUID: session.UID,
		Server: tool.Server, Tool: tool.Tool.Name, RecordedTime: now,
	}
	return next{verdict: running(), launch: r.launch(task, id, deadline)}
}

func (r *Reconciler) launch(task *v1alpha1.McpTask, id mcp.SessionID, deadline time.Time) func() {
	request := mcp.CallRequest{Tool: task.Spec.Tool, Report: true}
	if task.Spec.Arguments != "" {
		request.Arguments = []byte(task.Spec.Arguments)
	}
	return func() { r.Executor.Launch(task.UID, id, request, deadline) }
}

// follow decides what a recorded call has come to.
func (r *Reconciler) follow(task *v1alpha1.McpTask) next {
	record := task.Status.Execution
	if !r.Executor.Holds(task.UID, record.Holder, record.Fence) {
		return next{verdict: end(task, v1alpha1.TaskFailed, v1alpha1.ReasonOutcomeUnknown,
			"the operator ended after the call was recorded and before its answer was: it may have taken effect, and is not sent again")}
	}
	r.Wake.Bind(task.UID, client.ObjectKeyFromObject(task))
	if o := r.Executor.outcomeOf(task.UID); o != nil {
		failpoint.Reach("task/answered")
		return next{verdict: conclude(task, o)}
	}
	if cause := cancelled(task); cause != nil && !r.Executor.Cancel(task.UID, cause) {
		return next{verdict: end(task, v1alpha1.TaskCancelled, v1alpha1.ReasonCancelRequested, "cancelled before it was sent")}
	}
	// The write of the record may have landed although its answer was lost; Launch makes the call once.
	return next{verdict: running(), launch: r.launch(task, mcp.SessionID(record.SessionUID), lifetimeEnd(task))}
}

// cancelled says why the task is not wanted any more, or nil.
func cancelled(task *v1alpha1.McpTask) error {
	switch {
	case task.DeletionTimestamp != nil:
		return errTaskDeleted
	case task.Spec.Cancel == v1alpha1.CancelRequested:
		return errCancelRequested
	}
	return nil
}

// settle finishes a task that was found terminal. Its spec may have changed since (spec.cancel): the end stands, and it is
// said of the newest spec, or clients would wait for that for ever.
func (r *Reconciler) settle(ctx context.Context, task *v1alpha1.McpTask) (ctrl.Result, error) {
	if record := task.Status.Execution; record != nil {
		if later, owns := r.owns(record.SessionUID); !owns {
			return ctrl.Result{RequeueAfter: later}, nil
		}
	}
	before := task.Status.DeepCopy()
	task.Status.ObservedGeneration = task.Generation
	for i := range task.Status.Conditions {
		task.Status.Conditions[i].ObservedGeneration = task.Generation
	}
	if _, err := report.Write(ctx, r.Client.Status(), task, before, &task.Status); err != nil {
		return ctrl.Result{}, err
	}
	return r.finish(ctx, task)
}

// finish drops what is held for a task that is terminal, and deletes it when its time is over.
func (r *Reconciler) finish(ctx context.Context, task *v1alpha1.McpTask) (ctrl.Result, error) {
	r.Executor.Forget(task.UID)
	r.Wake.Unbind(task.UID)
	if task.Spec.TTLSecondsAfterFinished == nil || task.Status.CompletionTime == nil || task.DeletionTimestamp != nil {
		return ctrl.Result{}, nil
	}
	left := time.Until(task.Status.CompletionTime.Add(time.Duration(*task.Spec.TTLSecondsAfterFinished) * time.Second))
	if left > 0 {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	err := r.Client.Delete(ctx, task, client.Preconditions{UID: &task.UID}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	return ctrl.Result{}, client.IgnoreNotFound(err)
}

// forgetOthers ends the calls of tasks that had this name and are gone.
func (r *Reconciler) forgetOthers(uid types.UID, key client.ObjectKey) {
	for _, other := range r.Wake.Others(uid, key) {
		r.Executor.Forget(other)
		r.Wake.Unbind(other)
	}
}

// defaultLifetime is TSK-02's.
const defaultLifetime = 30 * time.Minute

func lifetimeEnd(task *v1alpha1.McpTask) time.Time {
	lifetime := defaultLifetime
	if s := task.Spec.LifetimeSeconds; s > 0 {
		lifetime = time.Duration(s) * time.Second
	}
	return task.CreationTimestamp.Add(lifetime)
}
