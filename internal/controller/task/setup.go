// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/controller/report"
)

// indexWaiting finds the tasks that have not begun, by the session that they name.
const indexWaiting = "waitingForSession"

// SetupWithManager registers the controller, its index and its executor.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	if r.Client == nil || r.Sessions == nil || r.Executor == nil || r.Owner == nil || r.Wake == nil {
		return errors.New("task: Client, Sessions, Executor, Owner and Wake must be set")
	}
	err := mgr.GetFieldIndexer().IndexField(context.Background(), &v1alpha1.McpTask{}, indexWaiting, func(o client.Object) []string {
		task, ok := o.(*v1alpha1.McpTask)
		if !ok || task.Status.Execution != nil || terminal(task) {
			return nil
		}
		return []string{task.Spec.SessionRef.Name}
	})
	if err != nil {
		return err
	}
	if err := mgr.Add(r.Executor); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.McpTask{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.McpSession{}, handler.EnqueueRequestsFromMapFunc(r.waiting)).
		WatchesRawSource(r.Wake.Watch()).
		WithOptions(controller.Options{MaxConcurrentReconciles: r.Concurrency}).
		Complete(report.RetryConflicts(r))
}

// waiting finds the tasks that wait for a session: each change of it may be what they wait for.
func (r *Reconciler) waiting(ctx context.Context, session client.Object) []reconcile.Request {
	var tasks v1alpha1.McpTaskList
	err := r.Client.List(ctx, &tasks, client.InNamespace(session.GetNamespace()),
		client.MatchingFields{indexWaiting: session.GetName()})
	if err != nil {
		log.FromContext(ctx).Error(err, "List tasks", "namespace", session.GetNamespace())
		return nil
	}
	requests := make([]reconcile.Request, 0, len(tasks.Items))
	for i := range tasks.Items {
		requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{
			Namespace: tasks.Items[i].Namespace, Name: tasks.Items[i].Name,
		}})
	}
	return requests
}
