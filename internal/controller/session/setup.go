// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/controller/report"
)

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	if r.Client == nil || r.Live == nil || r.Runtime == nil || r.Owner == nil || r.Wake == nil || r.Chunks == nil {
		return errors.New("session: Client, Live, Runtime, Owner, Wake and Chunks must be set")
	}
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.McpSession{}, builder.WithPredicates(specOrDeletion())).
		Watches(&v1alpha1.McpServer{}, handler.EnqueueRequestsFromMapFunc(r.sessionsOfServer),
			builder.WithPredicates(specLabelsOrDeletion())).
		WatchesMetadata(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(r.sessionsOfChunk),
			builder.WithPredicates(deleted())).
		WatchesRawSource(r.Wake.Watch()).
		WithOptions(controller.Options{MaxConcurrentReconciles: r.Concurrency}).
		Complete(report.RetryConflicts(r))
}

// specOrDeletion lets through what can change what a session should be. Generation moves with the spec and with the
// deletion timestamp; finalizers and commands move alone.
func specOrDeletion() predicate.Predicate {
	return predicate.Or(predicate.GenerationChangedPredicate{}, predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, after := e.ObjectOld.GetAnnotations(), e.ObjectNew.GetAnnotations()
			return !slices.Equal(e.ObjectOld.GetFinalizers(), e.ObjectNew.GetFinalizers()) ||
				before[v1alpha1.AnnotationReconnect] != after[v1alpha1.AnnotationReconnect] ||
				before[v1alpha1.AnnotationRefresh] != after[v1alpha1.AnnotationRefresh]
		},
	})
}

func specLabelsOrDeletion() predicate.Predicate {
	return predicate.Or(predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{})
}

func deleted() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		UpdateFunc:  func(event.UpdateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// sessionsOfServer finds the sessions that use a definition, or would if it were as it is now.
func (r *Reconciler) sessionsOfServer(ctx context.Context, server client.Object) []reconcile.Request {
	return r.sessions(ctx, server.GetNamespace(), func(session *v1alpha1.McpSession) bool {
		return refersTo(session, server) || selects(session.Spec.Workspace, server) || selects(session.Spec.Plugins, server)
	})
}

// refersTo reports whether the session's spec or its status refers to the definition by name.
func refersTo(session *v1alpha1.McpSession, server client.Object) bool {
	refers := func(entry v1alpha1.SessionServer) bool { return entry.Ref.Name == server.GetName() }
	if slices.ContainsFunc(session.Spec.Servers, refers) {
		return true
	}
	if o := session.Spec.Overrides; o != nil && slices.ContainsFunc(o.Servers, refers) {
		return true
	}
	return slices.ContainsFunc(session.Status.Servers, func(s v1alpha1.SessionServerStatus) bool {
		return s.ServerRef.Name == server.GetName()
	})
}

func selects(source *v1alpha1.ServerSource, server client.Object) bool {
	if source == nil {
		return false
	}
	selector, err := source.Selector.AsSelector()
	return err == nil && selector.Matches(labels.Set(server.GetLabels()))
}

// sessionsOfChunk finds the sessions whose status names a chunk that is gone.
func (r *Reconciler) sessionsOfChunk(ctx context.Context, chunk client.Object) []reconcile.Request {
	return r.sessions(ctx, chunk.GetNamespace(), func(session *v1alpha1.McpSession) bool {
		return slices.ContainsFunc(session.Status.Catalog.Chunks, func(c v1alpha1.CatalogChunk) bool {
			return c.ConfigMap == chunk.GetName()
		})
	})
}

func (r *Reconciler) sessions(ctx context.Context, namespace string, match func(*v1alpha1.McpSession) bool) []reconcile.Request {
	var list v1alpha1.McpSessionList
	if err := r.Client.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		log.FromContext(ctx).Error(err, "List sessions", "namespace", namespace)
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		if match(&list.Items[i]) {
			requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{
				Namespace: namespace, Name: list.Items[i].Name,
			}})
		}
	}
	return requests
}
