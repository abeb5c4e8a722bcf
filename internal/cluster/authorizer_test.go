// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/internal/gateway"
)

func TestMayConnect(t *testing.T) {
	p := gateway.Principal{
		Username: "jane", UID: "u1", Groups: []string{"a", "b"}, Extra: map[string][]string{"scopes": {"x"}, "empty": nil},
	}
	want := authorizationv1.SubjectAccessReviewSpec{
		User: "jane", UID: "u1", Groups: []string{"a", "b"},
		Extra: map[string]authorizationv1.ExtraValue{"scopes": {"x"}, "empty": nil},
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: "create", Group: "mcp.mooring.dev", Version: "v1alpha1", Resource: "mcpsessions", Subresource: "connect",
			Namespace: "ns", Name: "one",
		},
	}
	for name, c := range map[string]struct {
		status authorizationv1.SubjectAccessReviewStatus
		err    error
		want   bool
	}{
		"allowed":            {status: authorizationv1.SubjectAccessReviewStatus{Allowed: true}, want: true},
		"no opinion":         {},
		"denied":             {status: authorizationv1.SubjectAccessReviewStatus{Denied: true}},
		"denied and allowed": {status: authorizationv1.SubjectAccessReviewStatus{Denied: true, Allowed: true}},
		"evaluation failed":  {status: authorizationv1.SubjectAccessReviewStatus{EvaluationError: "role not found"}},
		"the API fails": {
			status: authorizationv1.SubjectAccessReviewStatus{Allowed: true}, err: errors.New("API"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &api{t: t, review: func(_ context.Context, object client.Object) error {
					review := object.(*authorizationv1.SubjectAccessReview)
					if diff := cmp.Diff(want, review.Spec); diff != "" {
						t.Errorf("spec (-want +got):\n%s", diff)
					}
					review.Status = c.status
					return c.err
				}}
				a := NewAuthorizer(server)
				for range 2 {
					got, err := a.MayConnect(t.Context(), p, "ns", "one")
					if got != c.want || !errors.Is(err, c.err) {
						t.Errorf("want %v, %v, got %v, %v", c.want, c.err, got, err)
					}
				}
				reviews := 1
				if c.err != nil {
					reviews = 2
				}
				if server.asked != reviews {
					t.Errorf("want %d reviews, got %d", reviews, server.asked)
				}
			})
		})
	}
}

// TestPermissionsAreNotShared shows that a permission is kept for exactly the caller and the session that it was for.
func TestPermissionsAreNotShared(t *testing.T) {
	seen := map[string]int{}
	for i, c := range []struct {
		p               gateway.Principal
		namespace, name string
	}{
		{p: gateway.Principal{Username: "a"}, namespace: "ns", name: "one"},
		{p: gateway.Principal{Username: "a"}, namespace: "ns", name: "two"},
		{p: gateway.Principal{Username: "a"}, namespace: "nsone"},
		{p: gateway.Principal{Username: "b"}, namespace: "ns", name: "one"},
		{p: gateway.Principal{Username: "a", UID: "u"}, namespace: "ns", name: "one"},
		{p: gateway.Principal{Username: "a", Groups: []string{"g"}}, namespace: "ns", name: "one"},
		{p: gateway.Principal{Username: "a", Groups: []string{"g", "h"}}, namespace: "ns", name: "one"},
		{p: gateway.Principal{Username: "a", Extra: map[string][]string{"g": nil}}, namespace: "ns", name: "one"},
		{p: gateway.Principal{Username: "a", Extra: map[string][]string{"g": {"h"}}}, namespace: "ns", name: "one"},
		{p: gateway.Principal{Username: "a", Extra: map[string][]string{"g": nil, "h": nil}}, namespace: "ns", name: "one"},
	} {
		key := accessQuestion(&c.p, c.namespace, c.name)
		if other, ok := seen[key]; ok {
			t.Errorf("%d and %d are one question", i, other)
		}
		seen[key] = i
	}
	p := gateway.Principal{Username: "a", Extra: map[string][]string{"a": {"1"}, "b": {"2"}, "c": {"3"}}}
	first := accessQuestion(&p, "ns", "one")
	for range 20 {
		if accessQuestion(&p, "ns", "one") != first {
			t.Fatal("a question depends on the order of a map")
		}
	}
}
