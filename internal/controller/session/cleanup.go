// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/controller/report"
	"github.com/mooring-dev/mooring/internal/failpoint"
	"github.com/mooring-dev/mooring/internal/mcp"
)

// cleanUp ends a session in order (design, "Cleanup order of a session"). Each call does what can be done now; the
// runtime's wake-ups and the deadline bring it back. It works from what the runtime holds, for the session's servers,
// Secrets and ServiceAccount may be gone already, and it ends at the deadline whatever the servers do.
func (r *Reconciler) cleanUp(ctx context.Context, session *v1alpha1.McpSession) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(session, v1alpha1.SessionFinalizer) {
		return ctrl.Result{}, nil // somebody else's finalizer holds it
	}
	id := mcp.SessionID(session.UID)
	r.Wake.Bind(id, client.ObjectKeyFromObject(session))
	before := session.Status.DeepCopy()
	if terminatingSince(session).IsZero() {
		// The deadline counts from this write, so that an operator that was down still has its time to clean up. It also
		// closes the gateway's intake on every replica.
		if err := r.reportCleanup(ctx, session, before, mcp.Teardown{Step: mcp.TeardownIntakeClosed}); err != nil {
			return ctrl.Result{}, err
		}
		before = session.Status.DeepCopy()
	}
	started := terminatingSince(session)
	failpoint.Reach("cleanup/terminating")
	deadline := started.Add(r.cleanupTimeout())
	teardown := r.Runtime.Release(id, deadline)
	if !teardown.Held {
		teardown.Unconfirmed = append(teardown.Unconfirmed, leftBehind(session, &teardown)...)
	}
	failpoint.Reach("cleanup/released")
	if !teardown.Done {
		return ctrl.Result{RequeueAfter: max(time.Until(deadline), time.Second)}, r.reportCleanup(ctx, session, before, teardown)
	}
	if len(teardown.Unconfirmed) > 0 {
		if err := r.reportCleanup(ctx, session, before, teardown); err != nil {
			return ctrl.Result{}, err
		}
		unconfirmedCleanups.Inc()
		log.FromContext(ctx).Info("Session ended with servers that did not confirm", "servers", teardown.Unconfirmed)
	}
	failpoint.Reach("cleanup/finalizer")
	if err := report.RemoveFinalizer(ctx, r.Client, session, v1alpha1.SessionFinalizer); err != nil {
		return ctrl.Result{}, err
	}
	r.Runtime.Forget(id)
	r.Wake.Unbind(id)
	return ctrl.Result{}, nil
}

func terminatingSince(session *v1alpha1.McpSession) time.Time {
	c := meta.FindStatusCondition(session.Status.Conditions, v1alpha1.ConditionTerminating)
	if c == nil || c.Status != metav1.ConditionTrue {
		return time.Time{}
	}
	return c.LastTransitionTime.Time
}

// leftBehind names the servers that an earlier process had connections to: they are gone with it, and whether the
// servers were told is not known.
func leftBehind(session *v1alpha1.McpSession, teardown *mcp.Teardown) []string {
	if !teardown.Done || len(teardown.Unconfirmed) > 0 {
		return nil
	}
	var names []string
	for i := range session.Status.Servers {
		if session.Status.Servers[i].State == v1alpha1.ServerStateConnected {
			names = append(names, session.Status.Servers[i].Name)
		}
	}
	return names
}

func (r *Reconciler) reportCleanup(ctx context.Context, session *v1alpha1.McpSession, before *v1alpha1.McpSessionStatus,
	teardown mcp.Teardown,
) error {
	session.Status.ObservedGeneration = session.Generation
	c := report.For(&session.Status.Conditions, session.Generation)
	message := "cleaning up"
	if len(teardown.Unconfirmed) > 0 {
		message = fmt.Sprintf("not confirmed by %s", names(teardown.Unconfirmed))
	}
	c.Set(v1alpha1.ConditionTerminating, metav1.ConditionTrue, string(teardown.Step), strings.TrimSpace(message))
	c.Set(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonTerminating, "the session is being deleted")
	c.Flag(v1alpha1.ConditionReconciling, true, v1alpha1.ReasonTerminating, "the session is being deleted")
	c.Flag(v1alpha1.ConditionStalled, false, "", "")
	_, err := report.Write(ctx, r.Client.Status(), session, before, &session.Status)
	return err
}
