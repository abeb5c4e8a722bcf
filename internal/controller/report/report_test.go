// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/mooring-dev/mooring/api/v1alpha1"
)

// writer is a fake API server that answers every write with err.
type writer struct {
	client.Client

	err     error
	updates int
	patches []string
}

func (w *writer) Update(context.Context, client.Object, ...client.UpdateOption) error {
	panic("finalizers are patched")
}

func (w *writer) Patch(_ context.Context, object client.Object, patch client.Patch, _ ...client.PatchOption) error {
	data, err := patch.Data(object)
	if err != nil {
		return err
	}
	w.patches = append(w.patches, string(data))
	return w.err
}

// statusWriter is the part of a writer that writes status.
type statusWriter struct {
	client.SubResourceWriter
	writer *writer
}

func (w statusWriter) Update(context.Context, client.Object, ...client.SubResourceUpdateOption) error {
	w.writer.updates++
	return w.writer.err
}

var resource = schema.GroupResource{Resource: "mcpsessions"}

func TestWrite(t *testing.T) {
	conflict := apierrors.NewConflict(resource, "s", errors.New("stale"))
	for name, row := range map[string]struct {
		change  func(*v1alpha1.McpSessionStatus)
		answer  error
		wrote   bool
		updates int
		err     func(error) bool
	}{
		"nothing changed":    {change: func(*v1alpha1.McpSessionStatus) {}},
		"empty is absent":    {change: func(s *v1alpha1.McpSessionStatus) { s.Tools = []v1alpha1.ProjectedTool{} }},
		"changed":            {change: func(s *v1alpha1.McpSessionStatus) { s.Endpoint = "x" }, wrote: true, updates: 1},
		"gone is no error":   {change: func(s *v1alpha1.McpSessionStatus) { s.Endpoint = "x" }, answer: apierrors.NewNotFound(resource, "s"), updates: 1},
		"a conflict is told": {change: func(s *v1alpha1.McpSessionStatus) { s.Endpoint = "x" }, answer: conflict, updates: 1, err: apierrors.IsConflict},
	} {
		t.Run(name, func(t *testing.T) {
			w := &writer{err: row.answer}
			session := &v1alpha1.McpSession{}
			before := session.Status.DeepCopy()
			row.change(&session.Status)
			wrote, err := Write(t.Context(), statusWriter{writer: w}, session, before, &session.Status)
			if wrote != row.wrote || w.updates != row.updates {
				t.Errorf("wrote: %v with %d updates, want %v with %d", wrote, w.updates, row.wrote, row.updates)
			}
			if (err != nil) != (row.err != nil) || err != nil && !row.err(err) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// A finalizer's write holds finalizers and the resource version that they were read with, and nothing else.
func TestFinalizers(t *testing.T) {
	w := &writer{}
	session := &v1alpha1.McpSession{ObjectMeta: metav1.ObjectMeta{Name: "s", ResourceVersion: "7", Finalizers: []string{"theirs"}}}
	session.Status.Endpoint = "x"
	for range 2 {
		if _, err := AddFinalizer(t.Context(), w, session, "ours"); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := RemoveFinalizer(t.Context(), w, session, "ours"); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		`{"metadata":{"finalizers":["theirs","ours"],"resourceVersion":"7"}}`,
		`{"metadata":{"finalizers":["theirs"],"resourceVersion":"7"}}`,
	}
	if diff := cmp.Diff(want, w.patches); diff != "" {
		t.Error(diff)
	}
	session.Finalizers = []string{"ours"}
	w.err = apierrors.NewNotFound(resource, "s")
	if err := RemoveFinalizer(t.Context(), w, session, "ours"); err != nil {
		t.Errorf("an object that is gone: %v", err)
	}
	if added, err := AddFinalizer(t.Context(), w, session, "ours"); !added || !apierrors.IsNotFound(err) {
		t.Errorf("added %v, %v", added, err)
	}
}

func TestConditions(t *testing.T) {
	var list []metav1.Condition
	For(&list, 1).Set("A", metav1.ConditionTrue, "R", "m")
	past := metav1.Unix(1000, 0)
	list[0].LastTransitionTime = past
	For(&list, 2).Set("A", metav1.ConditionTrue, "S", "n")
	if c := list[0]; c.ObservedGeneration != 2 || c.Reason != "S" || c.Message != "n" || !c.LastTransitionTime.Equal(&past) {
		t.Errorf("%+v: only a new status is a transition", c)
	}
	For(&list, 2).Set("A", metav1.ConditionFalse, "S", "n")
	if list[0].LastTransitionTime.Equal(&past) {
		t.Error("a new status is a transition")
	}
	For(&list, 2).Flag("F", true, "R", "m")
	if len(list) != 2 || list[1].Type != "F" || list[1].Status != metav1.ConditionTrue {
		t.Errorf("flag: %+v", list)
	}
	For(&list, 2).Flag("F", false, "", "")
	if len(list) != 1 {
		t.Errorf("a flag that is down: %+v", list)
	}
}

func TestRetryConflicts(t *testing.T) {
	other := errors.New("other")
	for name, row := range map[string]struct {
		err, want error
		again     bool
	}{
		"none":     {},
		"conflict": {err: apierrors.NewConflict(resource, "s", errors.New("stale")), again: true},
		"other":    {err: other, want: other},
	} {
		t.Run(name, func(t *testing.T) {
			r := RetryConflicts(reconcile.Func(func(context.Context, ctrl.Request) (ctrl.Result, error) { return ctrl.Result{}, row.err }))
			result, err := r.Reconcile(t.Context(), ctrl.Request{})
			if !errors.Is(err, row.want) || (result.RequeueAfter > 0) != row.again {
				t.Errorf("%v, %v", result, err)
			}
		})
	}
}
