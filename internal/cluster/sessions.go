// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/gateway"
	"github.com/mooring-dev/mooring/internal/mcp"
)

// Sessions finds McpSessions in a cache.
type Sessions struct {
	reader client.Reader
}

var _ gateway.Sessions = (*Sessions)(nil)

// +kubebuilder:rbac:groups=mcp.mooring.dev,resources=mcpsessions,verbs=get;list;watch

// NewSessions returns a Sessions that reads from r, which must be a cache: it is asked for every request.
func NewSessions(r client.Reader) *Sessions { return &Sessions{reader: r} }

// Lookup implements gateway.Sessions. It waits at most 5 s for a cache that is being filled. Other errors than
// gateway.ErrSessionNotFound are *ReviewError.
func (s *Sessions) Lookup(ctx context.Context, namespace, name string) (gateway.Session, error) {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	session := &v1alpha1.McpSession{}
	// The status may be large and is not changed here, so it is not copied; nor is a write of a controller waited for.
	err := s.reader.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, session,
		client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
	switch {
	case apierrors.IsNotFound(err):
		return gateway.Session{}, gateway.ErrSessionNotFound
	case err != nil:
		return gateway.Session{}, fmt.Errorf("look up: %w", &ReviewError{What: "session", Err: err})
	case session.DeletionTimestamp != nil:
		return gateway.Session{}, gateway.ErrSessionNotFound
	}
	return gateway.Session{
		ID: mcp.SessionID(session.UID), Namespace: session.Namespace, Name: session.Name,
		ServiceAccountName: session.Spec.ServiceAccountName, CreatedAt: session.CreationTimestamp.Time,
		Resolved: resolved(session),
	}, nil
}

// resolved reports whether the runtime was told of the session's servers. Conditions are written after it was told, and
// an accepted session is told of every server that its entries lead to, whether Resolved is True or not. After a restart
// the conditions are there before the runtime is told again; it says itself that it does not hold a session yet.
func resolved(session *v1alpha1.McpSession) bool {
	return meta.IsStatusConditionTrue(session.Status.Conditions, v1alpha1.ConditionAccepted) &&
		meta.FindStatusCondition(session.Status.Conditions, v1alpha1.ConditionResolved) != nil
}
