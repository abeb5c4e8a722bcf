// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// conflictDelay is what the cache gets to catch up with the write that came first.
const conflictDelay = 100 * time.Millisecond

// RetryConflicts makes r come back after a conflict without calling it an error: somebody else wrote first, which is how
// optimistic locking is meant to work, and an error would be logged with a stack and counted as a failure.
func RetryConflicts(r reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
		result, err := r.Reconcile(ctx, request)
		if apierrors.IsConflict(err) {
			return ctrl.Result{RequeueAfter: conflictDelay}, nil
		}
		return result, err
	})
}
