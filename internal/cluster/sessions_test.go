// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/gateway"
)

var created = time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)

func session(name string, conditions ...metav1.Condition) *v1alpha1.McpSession {
	return &v1alpha1.McpSession{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: "uid-1", CreationTimestamp: metav1.NewTime(created)},
		Spec:       v1alpha1.McpSessionSpec{ServiceAccountName: "agent"},
		Status:     v1alpha1.McpSessionStatus{Conditions: conditions},
	}
}

func is(typ string, status metav1.ConditionStatus) metav1.Condition {
	return metav1.Condition{Type: typ, Status: status, Reason: "Test"}
}

func TestLookup(t *testing.T) {
	const accepted, resolved = v1alpha1.ConditionAccepted, v1alpha1.ConditionResolved
	deleting := session("deleting", is(accepted, metav1.ConditionTrue), is(resolved, metav1.ConditionTrue))
	deleting.DeletionTimestamp, deleting.Finalizers = &metav1.Time{Time: created}, []string{v1alpha1.SessionFinalizer}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	sessions := NewSessions(fake.NewClientBuilder().WithScheme(scheme).WithObjects(deleting,
		session("new"),
		session("resolved", is(accepted, metav1.ConditionTrue), is(resolved, metav1.ConditionTrue)),
		session("skipping", is(accepted, metav1.ConditionTrue), is(resolved, metav1.ConditionFalse)),
		session("refused", is(accepted, metav1.ConditionFalse), is(resolved, metav1.ConditionUnknown)),
		session("half", is(accepted, metav1.ConditionTrue)),
	).Build())
	for name, want := range map[string]bool{"new": false, "resolved": true, "skipping": true, "refused": false, "half": false} {
		got, err := sessions.Lookup(t.Context(), "ns", name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got.CreatedAt = got.CreatedAt.UTC()
		if diff := cmp.Diff(gateway.Session{
			ID: "uid-1", Namespace: "ns", Name: name, ServiceAccountName: "agent", CreatedAt: created, Resolved: want,
		}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for _, c := range [][2]string{{"ns", "absent"}, {"other", "resolved"}, {"ns", "deleting"}} {
		if got, err := sessions.Lookup(t.Context(), c[0], c[1]); !errors.Is(err, gateway.ErrSessionNotFound) || got.ID != "" {
			t.Errorf("%v: want none, got %v, %v", c, got, err)
		}
	}
}

// reader fails, and shows how it is asked.
type reader struct {
	client.Reader
	t   *testing.T
	err error
}

func (r *reader) Get(ctx context.Context, _ client.ObjectKey, _ client.Object, opts ...client.GetOption) error {
	o := (&client.GetOptions{}).ApplyOptions(opts)
	if !o.DisableReadYourWritesConsistency || o.UnsafeDisableDeepCopy == nil || !*o.UnsafeDisableDeepCopy {
		r.t.Errorf("a look-up must not wait or copy: %+v", o)
	}
	if _, ok := ctx.Deadline(); !ok {
		r.t.Error("a look-up must be bounded")
	}
	return r.err
}

func TestLookupFails(t *testing.T) {
	errCache := errors.New("cache")
	_, err := NewSessions(&reader{t: t, err: errCache}).Lookup(t.Context(), "ns", "one")
	var review *ReviewError
	if !errors.Is(err, errCache) || !errors.As(err, &review) || errors.Is(err, gateway.ErrSessionNotFound) {
		t.Errorf("got %v", err)
	}
}
