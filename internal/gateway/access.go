// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"errors"
	"net"
	"net/http"
	"strings"
	"time"
)

const (
	// maxTokenBytes is more than any ServiceAccount token, and less than makes a review expensive.
	maxTokenBytes = 16 << 10
	// leeway lets an agent's token be a little older than its session: one `apply` creates both in any order, and
	// clocks differ.
	leeway = 60 * time.Second
)

// Audience is the audience that a token for a session must be issued for. It is made of names, for manifests cannot
// know a UID.
func Audience(namespace, name string) string { return "mooring:" + namespace + "/" + name }

// guard refuses what a browser on somebody else's page could send.
type guard struct {
	origins, hosts map[string]bool
}

func newGuard(o Options) guard {
	g := guard{origins: map[string]bool{}, hosts: map[string]bool{}}
	for _, origin := range o.AllowedOrigins {
		g.origins[strings.ToLower(origin)] = true
	}
	for _, host := range o.AllowedHosts {
		g.hosts[strings.ToLower(host)] = true
	}
	return g
}

func (g guard) check(r *http.Request) *problem {
	if len(g.hosts) > 0 && !g.hosts[strings.ToLower(r.Host)] && !g.hosts[withoutPort(strings.ToLower(r.Host))] {
		return refusal(http.StatusForbidden, ReasonHostRefused, "This Host is not served here.")
	}
	origins := r.Header["Origin"]
	if len(origins) == 0 {
		return nil
	}
	if len(origins) > 1 || !g.origins[strings.ToLower(origins[0])] {
		return refusal(http.StatusForbidden, ReasonOriginRefused, "This Origin is not allowed.")
	}
	return nil
}

func withoutPort(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		return h
	}
	return host
}

// admit authenticates the caller and finds the session for it. What is missing and what is forbidden end alike, after
// the same questions to the cluster.
func (x *exchange) admit(namespace, name string) *problem {
	ctx := x.request.Context()
	token, ok := bearer(x.request.Header["Authorization"])
	if !ok {
		return x.unauthenticated()
	}
	principal, err := x.opts.Authenticator.Authenticate(ctx, token, Audience(namespace, name))
	switch {
	case errors.Is(err, ErrUnauthenticated):
		return x.unauthenticated()
	case err != nil:
		return later(ReasonUnavailable, "The caller cannot be authenticated at the moment.")
	}
	session, err := x.opts.Sessions.Lookup(ctx, namespace, name)
	found := err == nil
	if err != nil && !errors.Is(err, ErrSessionNotFound) {
		return later(ReasonUnavailable, "Sessions cannot be looked up at the moment.")
	}
	if !found || !x.isAgent(&principal, &session) {
		allowed, err := x.opts.Authorizer.MayConnect(ctx, principal, namespace, name)
		if err != nil {
			return later(ReasonUnavailable, "The caller cannot be authorised at the moment.")
		}
		if !found || !allowed {
			return notFound()
		}
	}
	x.principal, x.session = principal, session
	return nil
}

// isAgent reports whether the caller is the session's own agent: its ServiceAccount, by a token that is bound to a Pod
// and no older than the session, so that a token for an earlier session of the same name opens nothing.
func (x *exchange) isAgent(p *Principal, s *Session) bool {
	return s.ServiceAccountName != "" &&
		p.Username == "system:serviceaccount:"+s.Namespace+":"+s.ServiceAccountName &&
		(p.PodUID != "" || x.opts.AllowUnboundTokens) &&
		!p.IssuedAt.IsZero() && !p.IssuedAt.Before(s.CreatedAt.Add(-leeway))
}

// unauthenticated says the same for no, a bad and an expired token.
func (x *exchange) unauthenticated() *problem {
	x.reply.header().Set("WWW-Authenticate", "Bearer")
	return refusal(http.StatusUnauthorized, ReasonUnauthenticated, "A bearer token for this session is required.")
}

// bearer takes the token out of the one Authorization header.
func bearer(values []string) (string, bool) {
	if len(values) != 1 {
		return "", false
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "Bearer") || token == "" || len(token) > maxTokenBytes {
		return "", false
	}
	for i := range len(token) {
		if token[i] <= ' ' || token[i] >= 0x7f {
			return "", false
		}
	}
	return token, true
}
