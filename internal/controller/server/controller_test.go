// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/controller/definition"
	"github.com/mooring-dev/mooring/internal/controller/report"
)

func TestConditions(t *testing.T) {
	notImplemented := &definition.Problem{Reason: v1alpha1.ReasonNotImplemented, Message: "this release does not act upon spec.oauth"}
	invalid := &definition.Problem{Reason: v1alpha1.ReasonInvalidConfiguration, Message: "spec.transport is odd"}
	for name, row := range map[string]struct {
		problems []*definition.Problem // one reconcile after another
		want     []string
		kstatus  status.Status
	}{
		"accepted":         {[]*definition.Problem{nil}, []string{"Accepted True Accepted", "Ready True Accepted"}, status.CurrentStatus},
		"not implemented":  {[]*definition.Problem{notImplemented}, []string{"Accepted False NotImplemented", "Ready False NotImplemented", "Stalled True NotImplemented"}, status.FailedStatus},
		"invalid":          {[]*definition.Problem{nil, invalid}, []string{"Accepted False InvalidConfiguration", "Ready False InvalidConfiguration", "Stalled True InvalidConfiguration"}, status.FailedStatus},
		"mended afterward": {[]*definition.Problem{invalid, nil}, []string{"Accepted True Accepted", "Ready True Accepted"}, status.CurrentStatus},
	} {
		t.Run(name, func(t *testing.T) {
			server := &v1alpha1.McpServer{
				TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "McpServer"},
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s", Generation: 2},
			}
			server.Status.ObservedGeneration = server.Generation
			for _, problem := range row.problems {
				setConditions(report.For(&server.Status.Conditions, server.Generation), problem)
			}
			var got []string
			for _, c := range server.Status.Conditions {
				got = append(got, c.Type+" "+string(c.Status)+" "+c.Reason)
				if c.ObservedGeneration != 2 || c.Message == "" {
					t.Errorf("condition is not whole: %+v", c)
				}
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Error(diff)
			}
			content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(server)
			if err != nil {
				t.Fatal(err)
			}
			result, err := status.Compute(&unstructured.Unstructured{Object: content})
			if err != nil || result.Status != row.kstatus {
				t.Errorf("kstatus: %+v, %v; want %s", result, err, row.kstatus)
			}
		})
	}
}

// using is a session whose status names the definitions with these UIDs, each called n-<uid>.
func using(name string, uids ...types.UID) *v1alpha1.McpSession {
	session := &v1alpha1.McpSession{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	for _, uid := range uids {
		session.Status.Servers = append(session.Status.Servers, v1alpha1.SessionServerStatus{
			ServerRef: v1alpha1.ObservedServerReference{Name: "n-" + string(uid), UID: uid},
		})
	}
	return session
}

// A session counts once, and for the very object that it uses, not for one that has its name now.
func TestCount(t *testing.T) {
	sessions := []v1alpha1.McpSession{*using("one", "a", "b"), *using("two", "a", "a"), *using("three")}
	for uid, want := range map[types.UID]int32{"a": 2, "b": 1, "c": 0} {
		if got := count(sessions, uid); got != want {
			t.Errorf("%s is used by %d, want %d", uid, got, want)
		}
	}
}

// delayed is a queue that keeps what was added for later.
type delayed struct {
	queue
	added map[string]time.Duration
}

func (d *delayed) AddAfter(request reconcile.Request, after time.Duration) {
	d.added[request.String()] = after
}

func TestCountLater(t *testing.T) {
	for name, row := range map[string]struct {
		before, after *v1alpha1.McpSession
		want          map[string]time.Duration
	}{
		"created":   {nil, using("s", "a"), map[string]time.Duration{"ns/n-a": countDelay}},
		"deleted":   {using("s", "a", "b"), nil, map[string]time.Duration{"ns/n-a": countDelay, "ns/n-b": countDelay}},
		"as it was": {using("s", "a"), using("s", "a"), map[string]time.Duration{}},
		"changed":   {using("s", "a", "b"), using("s", "b", "c"), map[string]time.Duration{"ns/n-a": countDelay, "ns/n-c": countDelay}},
	} {
		t.Run(name, func(t *testing.T) {
			q := &delayed{added: map[string]time.Duration{}}
			handler := (&Reconciler{}).countLater()
			ctx := context.WithoutCancel(t.Context())
			switch {
			case row.before == nil:
				handler.Create(ctx, event.CreateEvent{Object: row.after}, q)
			case row.after == nil:
				handler.Delete(ctx, event.DeleteEvent{Object: row.before}, q)
			default:
				handler.Update(ctx, event.UpdateEvent{ObjectOld: row.before, ObjectNew: row.after}, q)
			}
			if diff := cmp.Diff(row.want, q.added); diff != "" {
				t.Error(diff)
			}
		})
	}
}
