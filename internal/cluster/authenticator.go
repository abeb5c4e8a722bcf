// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/internal/gateway"
)

const (
	// maxTokenBytes is more than any ServiceAccount token.
	maxTokenBytes = 16 << 10
	// leeway lets the API server decide about a token that is expired by our clock, for clocks differ.
	leeway = 60 * time.Second
	// podUIDKey is where a TokenReview names the Pod that a ServiceAccount token is bound to.
	podUIDKey = "authentication.kubernetes.io/pod-uid"
)

// Authenticator asks the API server who a token's bearer is.
type Authenticator struct {
	client  client.Client
	reviews *reviewer[gateway.Principal]
}

var _ gateway.Authenticator = (*Authenticator)(nil)

// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create

// NewAuthenticator returns an Authenticator that asks through c.
func NewAuthenticator(c client.Client) *Authenticator {
	return &Authenticator{client: c, reviews: newReviewer[gateway.Principal]("token")}
}

// Authenticate implements gateway.Authenticator. Only JWTs that name the audience are reviewed: an API server vouches for
// no other token that a session's audience was meant. It answers within 5 s; a refusal may be 5 s old and an acceptance
// 10 s, but no acceptance outlives the token. Errors wrap gateway.ErrUnauthenticated, or are a *ReviewError or the
// context's.
func (a *Authenticator) Authenticate(ctx context.Context, token, audience string) (gateway.Principal, error) {
	claims, ok := parseClaims(token)
	if !ok || audience == "" || !slices.Contains(claims.audiences, audience) || claims.expired(time.Now()) {
		return gateway.Principal{}, gateway.ErrUnauthenticated
	}
	reply, err := a.reviews.review(ctx, question(token, audience), func(ctx context.Context) (answer[gateway.Principal], error) {
		return a.ask(ctx, token, audience, claims)
	})
	switch {
	case err != nil:
		return gateway.Principal{}, fmt.Errorf("authenticate: %w", err)
	case !reply.yes:
		return gateway.Principal{}, gateway.ErrUnauthenticated
	}
	return reply.value, nil
}

func (a *Authenticator) ask(ctx context.Context, token, audience string, c *claims) (answer[gateway.Principal], error) {
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{
		Token: token, Audiences: []string{audience},
	}}
	// A review is no object: a client that sees its own writes would wait for an informer of TokenReviews.
	if err := a.client.Create(ctx, review, client.DisableReadYourWritesConsistency); err != nil {
		return answer[gateway.Principal]{}, err
	}
	status := &review.Status
	// An authenticator that does not know audiences leaves them empty and accepts any token of the cluster.
	if !status.Authenticated || status.User.Username == "" || !slices.Contains(status.Audiences, audience) {
		return answer[gateway.Principal]{}, nil
	}
	p := gateway.Principal{
		Username: status.User.Username, UID: status.User.UID, Groups: status.User.Groups, IssuedAt: c.issuedAt,
	}
	if len(status.User.Extra) > 0 {
		p.Extra = make(map[string][]string, len(status.User.Extra))
		for key, values := range status.User.Extra {
			p.Extra[key] = values
		}
	}
	if uids := p.Extra[podUIDKey]; len(uids) == 1 {
		p.PodUID = uids[0]
	}
	return answer[gateway.Principal]{value: p, yes: true, until: c.expires}, nil
}

// claims are what a JWT says about itself. They are believed once the API server has accepted the token; until then they
// can only refuse it.
type claims struct {
	audiences         []string
	issuedAt, expires time.Time
}

func (c *claims) expired(now time.Time) bool {
	return !c.expires.IsZero() && now.After(c.expires.Add(leeway))
}

// parseClaims reads the payload of a signed JWT in compact form (RFC 7519), member names by their exact case. Nothing is
// verified.
func parseClaims(token string) (*claims, bool) {
	if len(token) > maxTokenBytes {
		return nil, false
	}
	parts := strings.Split(token, ".")
	if len(parts) != 3 || parts[0] == "" || parts[2] == "" {
		return nil, false
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return nil, false
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(payload, &members) != nil {
		return nil, false
	}
	c := &claims{}
	ok := parseAudiences(members["aud"], &c.audiences) &&
		parseDate(members["iat"], &c.issuedAt) && parseDate(members["exp"], &c.expires)
	return c, ok
}

// parseAudiences reads one audience or a list of them.
func parseAudiences(raw json.RawMessage, out *[]string) bool {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		*out = []string{one}
		return true
	}
	return json.Unmarshal(raw, out) == nil
}

// parseDate reads a NumericDate: seconds since 1970, perhaps with a fraction. An absent one stays zero.
func parseDate(raw json.RawMessage, out *time.Time) bool {
	if len(raw) == 0 {
		return true
	}
	var seconds float64
	const year9999 = 253402300799
	if json.Unmarshal(raw, &seconds) != nil || seconds < 0 || seconds > year9999 {
		return false
	}
	whole, fraction := math.Modf(seconds)
	*out = time.Unix(int64(whole), int64(fraction*1e9))
	return true
}
