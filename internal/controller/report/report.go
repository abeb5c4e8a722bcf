// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// Write stores object's status when changed says that it differs from what was read. It reports whether it wrote. A
// conflict is returned as it is: the caller's queue tries again on a newer object. An object that is gone is no error.
func Write(ctx context.Context, c client.SubResourceWriter, object client.Object, before, after any) (bool, error) {
	if equality.Semantic.DeepEqual(before, after) {
		return false, nil
	}
	if err := c.Update(ctx, object); err != nil {
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return false, fmt.Errorf("write status: %w", err)
	}
	return true, nil
}

// AddFinalizer adds the finalizer, alone, in its own write, and reports whether it had to.
func AddFinalizer(ctx context.Context, c client.Client, object client.Object, finalizer string) (bool, error) {
	base := object.DeepCopyObject().(client.Object) //nolint:forcetypeassert // a deep copy has its original's type
	if !controllerutil.AddFinalizer(object, finalizer) {
		return false, nil
	}
	return true, patchMetadata(ctx, c, object, base)
}

// RemoveFinalizer removes the finalizer in its own write. An object that is gone already is no error.
func RemoveFinalizer(ctx context.Context, c client.Client, object client.Object, finalizer string) error {
	base := object.DeepCopyObject().(client.Object) //nolint:forcetypeassert // a deep copy has its original's type
	if !controllerutil.RemoveFinalizer(object, finalizer) {
		return nil
	}
	return client.IgnoreNotFound(patchMetadata(ctx, c, object, base))
}

// patchMetadata carries the resource version: a merge patch replaces the whole list of finalizers, and would drop one
// that another writer added in between.
func patchMetadata(ctx context.Context, c client.Client, object, base client.Object) error {
	patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
	if err := c.Patch(ctx, object, patch); err != nil {
		return fmt.Errorf("write finalizers: %w", err)
	}
	return nil
}

// Conditions builds the conditions of one observation.
type Conditions struct {
	generation int64
	list       *[]metav1.Condition
}

// For returns a builder that writes into list and stamps each condition with the generation that was observed.
func For(list *[]metav1.Condition, generation int64) Conditions {
	return Conditions{generation: generation, list: list}
}

// Set sets a condition. The transition time moves only when the status does.
func (c Conditions) Set(conditionType string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(c.list, metav1.Condition{
		Type: conditionType, Status: status, Reason: reason, Message: message, ObservedGeneration: c.generation,
	})
}

// Flag sets a condition that exists only while it is true, as kstatus reads Reconciling and Stalled.
func (c Conditions) Flag(conditionType string, on bool, reason, message string) {
	if !on {
		meta.RemoveStatusCondition(c.list, conditionType)
		return
	}
	c.Set(conditionType, metav1.ConditionTrue, reason, message)
}
