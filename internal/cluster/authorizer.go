// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/gateway"
)

// Authorizer asks the API server what a caller may do.
type Authorizer struct {
	client  client.Client
	reviews *reviewer[struct{}]
}

var _ gateway.Authorizer = (*Authorizer)(nil)

// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create

// NewAuthorizer returns an Authorizer that asks through c.
func NewAuthorizer(c client.Client) *Authorizer {
	return &Authorizer{client: c, reviews: newReviewer[struct{}]("access")}
}

// MayConnect implements gateway.Authorizer: whether p may create mcpsessions/connect of that name. It answers within 5 s;
// a refusal may be 5 s old and a permission 10 s. An error is a *ReviewError or the context's, and means no permission.
func (a *Authorizer) MayConnect(ctx context.Context, p gateway.Principal, namespace, name string) (bool, error) {
	reply, err := a.reviews.review(ctx, accessQuestion(&p, namespace, name), func(ctx context.Context) (answer[struct{}], error) {
		return a.ask(ctx, &p, namespace, name)
	})
	if err != nil {
		return false, fmt.Errorf("authorize: %w", err)
	}
	return reply.yes, nil
}

func (a *Authorizer) ask(ctx context.Context, p *gateway.Principal, namespace, name string) (answer[struct{}], error) {
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: p.Username, UID: p.UID, Groups: p.Groups,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: "create", Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version,
			Resource: "mcpsessions", Subresource: "connect", Namespace: namespace, Name: name,
		},
	}}
	if len(p.Extra) > 0 {
		review.Spec.Extra = make(map[string]authorizationv1.ExtraValue, len(p.Extra))
		for key, values := range p.Extra {
			review.Spec.Extra[key] = values
		}
	}
	if err := a.client.Create(ctx, review, client.DisableReadYourWritesConsistency); err != nil {
		return answer[struct{}]{}, err
	}
	return answer[struct{}]{yes: review.Status.Allowed && !review.Status.Denied}, nil
}

// accessQuestion covers all that an authorizer is told.
func accessQuestion(p *gateway.Principal, namespace, name string) string {
	parts := []string{namespace, name, p.Username, p.UID, strconv.Itoa(len(p.Groups))}
	parts = append(parts, p.Groups...)
	for _, key := range slices.Sorted(maps.Keys(p.Extra)) {
		parts = append(parts, key, strconv.Itoa(len(p.Extra[key])))
		parts = append(parts, p.Extra[key]...)
	}
	return question(parts...)
}
