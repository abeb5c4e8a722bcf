// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/internal/gateway"
)

const audience = "mooring:ns/one"

// jwt makes a token of a payload.
func jwt(payload string) string {
	return "eyJhbGciOiJSUzI1NiJ9." + base64.RawURLEncoding.EncodeToString([]byte(payload)) + ".c2lnbmF0dXJl"
}

var goodToken = jwt(`{"aud":["mooring:ns/one"],"iat":946684790,"exp":946685400,"sub":"system:serviceaccount:ns:agent"}`)

func accepted() authenticationv1.TokenReviewStatus {
	return authenticationv1.TokenReviewStatus{
		Authenticated: true, Audiences: []string{audience},
		User: authenticationv1.UserInfo{
			Username: "system:serviceaccount:ns:agent", UID: "u1", Groups: []string{"system:serviceaccounts"},
			Extra: map[string]authenticationv1.ExtraValue{podUIDKey: {"p1"}, "other": {"a", "b"}},
		},
	}
}

// tokenAPI answers every TokenReview with a status, or fails.
func tokenAPI(t *testing.T, status authenticationv1.TokenReviewStatus, err error) *api {
	return &api{t: t, review: func(_ context.Context, object client.Object) error {
		review := object.(*authenticationv1.TokenReview)
		if diff := cmp.Diff([]string{audience}, review.Spec.Audiences); diff != "" || review.Spec.Token == "" {
			t.Errorf("token %q, audiences (-want +got):\n%s", review.Spec.Token, diff)
		}
		review.Status = status
		return err
	}}
}

func TestAuthenticate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := tokenAPI(t, accepted(), nil)
		a := NewAuthenticator(server)
		want := gateway.Principal{
			Username: "system:serviceaccount:ns:agent", UID: "u1", Groups: []string{"system:serviceaccounts"},
			Extra: map[string][]string{podUIDKey: {"p1"}, "other": {"a", "b"}}, PodUID: "p1",
			IssuedAt: time.Unix(946684790, 0),
		}
		for range 3 {
			got, err := a.Authenticate(t.Context(), goodToken, audience)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
		if server.asked != 1 {
			t.Errorf("want one review, got %d", server.asked)
		}
		// Another audience is another question, which this token is not an answer to.
		if _, err := a.Authenticate(t.Context(), goodToken, "mooring:ns/two"); !errors.Is(err, gateway.ErrUnauthenticated) {
			t.Errorf("another audience: want it refused, got %v", err)
		}
	})
}

func TestRefused(t *testing.T) {
	with := func(change func(*authenticationv1.TokenReviewStatus)) authenticationv1.TokenReviewStatus {
		status := accepted()
		change(&status)
		return status
	}
	for name, status := range map[string]authenticationv1.TokenReviewStatus{
		"not authenticated":    with(func(s *authenticationv1.TokenReviewStatus) { s.Authenticated = false }),
		"nothing":              {},
		"an error":             {Error: "[invalid bearer token]"},
		"no audience":          with(func(s *authenticationv1.TokenReviewStatus) { s.Audiences = nil }),
		"another audience":     with(func(s *authenticationv1.TokenReviewStatus) { s.Audiences = []string{"mooring:ns/two", "mooring:ns"} }),
		"nobody":               with(func(s *authenticationv1.TokenReviewStatus) { s.User.Username = "" }),
		"the API server's own": {Authenticated: true, Audiences: []string{"https://kubernetes.default.svc"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := tokenAPI(t, status, nil)
				a := NewAuthenticator(server)
				for range 3 {
					p, err := a.Authenticate(t.Context(), goodToken, audience)
					if !errors.Is(err, gateway.ErrUnauthenticated) || p.Username != "" {
						t.Errorf("want it refused, got %v, %v", p, err)
					}
				}
				if server.asked != 1 {
					t.Errorf("want the refusal kept, got %d reviews", server.asked)
				}
			})
		})
	}
}

// TestNotReviewed are tokens that cost the API server nothing.
func TestNotReviewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // it begins at 946684800
		server := tokenAPI(t, accepted(), nil)
		a := NewAuthenticator(server)
		for name, token := range map[string]string{
			"nothing":              "",
			"opaque":               "abcdef",
			"no signature":         strings.TrimSuffix(goodToken, "c2lnbmF0dXJl"),
			"no header":            "." + strings.SplitN(goodToken, ".", 2)[1],
			"five parts":           goodToken + ".a.b",
			"no base64":            "a.!.b",
			"no JSON":              jwt("x"),
			"null":                 jwt("null"),
			"a list":               jwt("[]"),
			"no audience":          jwt(`{"iat":946684790}`),
			"another audience":     jwt(`{"aud":"mooring:ns/two"}`),
			"a longer audience":    jwt(`{"aud":"mooring:ns/one2"}`),
			"audience of a number": jwt(`{"aud":[1]}`),
			"audience by its case": jwt(`{"AUD":"mooring:ns/one"}`),
			"expired":              jwt(`{"aud":"mooring:ns/one","exp":946684739}`),
			"a date that is none":  jwt(`{"aud":"mooring:ns/one","iat":"now"}`),
			"a date too far":       jwt(`{"aud":"mooring:ns/one","iat":1e300}`),
			"a date too early":     jwt(`{"aud":"mooring:ns/one","exp":-1}`),
			"too long":             jwt(fmt.Sprintf(`{"aud":"mooring:ns/one","a":%q}`, strings.Repeat("a", maxTokenBytes))),
		} {
			if _, err := a.Authenticate(t.Context(), token, audience); !errors.Is(err, gateway.ErrUnauthenticated) {
				t.Errorf("%s: want it refused, got %v", name, err)
			}
		}
		if _, err := a.Authenticate(t.Context(), jwt(`{"aud":""}`), ""); !errors.Is(err, gateway.ErrUnauthenticated) {
			t.Errorf("no audience asked for: want it refused, got %v", err)
		}
		if server.asked != 0 {
			t.Errorf("%d reviews", server.asked)
		}
	})
}

func TestClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			payload string
			issued  time.Time
			pods    []string
			pod     string
		}{
			"one audience":    {payload: `{"aud":"mooring:ns/one"}`},
			"a fraction":      {payload: `{"aud":"mooring:ns/one","iat":946684790.5}`, issued: time.Unix(946684790, 5e8)},
			"just expired":    {payload: `{"aud":"mooring:ns/one","iat":1,"exp":946684790}`, issued: time.Unix(1, 0)},
			"iat by its case": {payload: `{"aud":"mooring:ns/one","IAT":946684790}`},
			"one Pod":         {payload: `{"aud":"mooring:ns/one"}`, pods: []string{"p"}, pod: "p"},
			"two Pods":        {payload: `{"aud":"mooring:ns/one"}`, pods: []string{"p", "q"}},
		} {
			status := accepted()
			status.User.Extra = map[string]authenticationv1.ExtraValue{podUIDKey: c.pods}
			p, err := NewAuthenticator(tokenAPI(t, status, nil)).Authenticate(t.Context(), jwt(c.payload), audience)
			if err != nil || !p.IssuedAt.Equal(c.issued) || p.PodUID != c.pod {
				t.Errorf("%s: got %v, %v", name, p, err)
			}
		}
	})
}

// TestNotAnswered tells an API server that cannot be asked from one that refuses, and keeps nothing of it.
func TestNotAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		errAPI := errors.New("dial tcp 10.0.0.1: " + goodToken)
		server := tokenAPI(t, accepted(), errAPI)
		a := NewAuthenticator(server)
		for range 2 {
			_, err := a.Authenticate(t.Context(), goodToken, audience)
			var review *ReviewError
			if errors.Is(err, gateway.ErrUnauthenticated) || !errors.As(err, &review) || !errors.Is(err, errAPI) {
				t.Errorf("want a *ReviewError, got %v", err)
			}
			if strings.Contains(err.Error(), goodToken) {
				t.Error("the error tells the token")
			}
		}
		if server.asked != 2 {
			t.Errorf("want the error not kept, got %d reviews", server.asked)
		}
	})
}

func FuzzClaims(f *testing.F) {
	f.Add(goodToken)
	f.Add("a.b.c")
	f.Add(jwt(`{"aud":[],"iat":1e9,"exp":null}`))
	f.Fuzz(func(t *testing.T, token string) {
		c, ok := parseClaims(token)
		if ok && (strings.Count(token, ".") != 2 || len(token) > maxTokenBytes || c.issuedAt.Year() > 9999) {
			t.Errorf("%q: %v", token, c)
		}
	})
}
