// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/controller/definition"
	"github.com/mooring-dev/mooring/internal/controller/report"
)

// countDelay is how long a change of a server's sessions waits before it is counted.
const countDelay = 30 * time.Second

// Reconciler converges McpServers.
type Reconciler struct {
	// Client reads from the cache and sees its own writes.
	Client      client.Client
	Concurrency int
	// CountDelay replaces countDelay; zero keeps it.
	CountDelay time.Duration
}

var _ reconcile.Reconciler = (*Reconciler)(nil)

// +kubebuilder:rbac:groups=mcp.mooring.dev,resources=mcpservers,verbs=get;list;watch
// +kubebuilder:rbac:groups=mcp.mooring.dev,resources=mcpservers/status,verbs=get;update;patch

// Reconcile writes the definition's conditions and count.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	server := &v1alpha1.McpServer{}
	if err := r.Client.Get(ctx, request.NamespacedName, server); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if server.DeletionTimestamp != nil {
		return ctrl.Result{}, nil // nothing of ours holds it
	}
	var sessions v1alpha1.McpSessionList
	if err := r.Client.List(ctx, &sessions, client.InNamespace(server.Namespace)); err != nil {
		return ctrl.Result{}, fmt.Errorf("list sessions: %w", err)
	}
	before := server.Status.DeepCopy()
	server.Status.ObservedGeneration = server.Generation
	server.Status.Sessions = count(sessions.Items, server.UID)
	setConditions(report.For(&server.Status.Conditions, server.Generation), definition.CheckServer(server))
	_, err := report.Write(ctx, r.Client.Status(), server, before, &server.Status)
	return ctrl.Result{}, err
}

func count(sessions []v1alpha1.McpSession, uid types.UID) int32 {
	var n int32
	for i := range sessions {
		if uses(&sessions[i])[uid] != "" {
			n++
		}
	}
	return n
}

// uses returns the definitions that a session's status names, by UID.
func uses(session *v1alpha1.McpSession) map[types.UID]string {
	servers := make(map[types.UID]string, len(session.Status.Servers))
	for i := range session.Status.Servers {
		servers[session.Status.Servers[i].ServerRef.UID] = session.Status.Servers[i].ServerRef.Name
	}
	return servers
}

func setConditions(c report.Conditions, problem *definition.Problem) {
	if problem != nil {
		c.Set(v1alpha1.ConditionAccepted, metav1.ConditionFalse, problem.Reason, problem.Message)
		c.Set(v1alpha1.ConditionReady, metav1.ConditionFalse, problem.Reason, problem.Message)
		c.Flag(v1alpha1.ConditionStalled, true, problem.Reason, problem.Message)
		return
	}
	const message = "sessions can use this definition"
	c.Set(v1alpha1.ConditionAccepted, metav1.ConditionTrue, v1alpha1.ReasonAccepted, message)
	c.Set(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonAccepted, message)
	c.Flag(v1alpha1.ConditionStalled, false, "", "")
}

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.McpServer{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.McpSession{}, r.countLater()).
		WithOptions(controller.Options{MaxConcurrentReconciles: r.Concurrency}).
		Complete(report.RetryConflicts(r))
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// countLater enqueues the definitions that a session began or ceased to use.
func (r *Reconciler) countLater() handler.EventHandler {
	delay := r.CountDelay
	if delay == 0 {
		delay = countDelay
	}
	enqueue := func(q queue, namespace string, used, other map[types.UID]string) {
		for uid, name := range used {
			if other[uid] == "" {
				q.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}, delay)
			}
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) {
			enqueue(q, e.Object.GetNamespace(), sessionUses(e.Object), nil)
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			before, after := sessionUses(e.ObjectOld), sessionUses(e.ObjectNew)
			enqueue(q, e.ObjectNew.GetNamespace(), after, before)
			enqueue(q, e.ObjectNew.GetNamespace(), before, after)
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) {
			enqueue(q, e.Object.GetNamespace(), sessionUses(e.Object), nil)
		},
	}
}

func sessionUses(object client.Object) map[types.UID]string {
	if session, ok := object.(*v1alpha1.McpSession); ok {
		return uses(session)
	}
	return nil
}
