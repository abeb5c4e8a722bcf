// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp"
)

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

func TestNewHandlerRefusesMissingPorts(t *testing.T) {
	if _, err := NewHandler(Options{}); err == nil {
		t.Error("a Handler without an Authenticator was made")
	}
}

// TestMatrix is four sessions by four tokens: each token opens its own session and nothing else (threat row 10).
func TestMatrix(t *testing.T) {
	f := newFixture(t)
	names := []string{"ns/one", "ns/two", "other/one", "other/two"}
	tokens := map[string]string{}
	for _, name := range names {
		namespace, session, _ := strings.Cut(name, "/")
		tokens[name] = f.cluster.add(namespace, session)
	}
	for _, holder := range names {
		for _, target := range names {
			namespace, session, _ := strings.Cut(target, "/")
			url := fmt.Sprintf("%s/v1/namespaces/%s/sessions/%s/mcp", f.base, namespace, session)
			want := http.StatusUnauthorized // the audience is another one
			if holder == target {
				want = http.StatusOK
			}
			if got := f.status(url, tokens[holder]); got != want {
				t.Errorf("token of %s at %s: %d, want %d", holder, target, got, want)
			}
		}
	}
	// The same matrix for tokens that carry every audience: then the subject decides.
	for _, holder := range names {
		namespace, session, _ := strings.Cut(holder, "/")
		p := f.cluster.tokens[tokens[holder]+"@"+Audience(namespace, session)]
		for _, target := range names {
			namespace, session, _ := strings.Cut(target, "/")
			f.cluster.tokens["all-"+holder+"@"+Audience(namespace, session)] = p
			want := http.StatusNotFound
			if holder == target {
				want = http.StatusOK
			}
			url := fmt.Sprintf("%s/v1/namespaces/%s/sessions/%s/mcp", f.base, namespace, session)
			if got := f.status(url, "all-"+holder); got != want {
				t.Errorf("subject of %s at %s: %d, want %d", holder, target, got, want)
			}
		}
	}
}

func (f *fixture) status(url, token string) int {
	f.t.Helper()
	resp := f.do(http.MethodPost, url, strings.NewReader(ping), map[string]string{"Authorization": "Bearer " + token})
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

func TestSubject(t *testing.T) {
	agent := Principal{Username: "system:serviceaccount:ns:one-agent", IssuedAt: created, PodUID: "p"}
	for name, tc := range map[string]struct {
		reason    string
		principal func(*Principal)
		session   func(*Session)
		options   func(*Options)
		allowed   bool
		want      int
	}{
		"agent":                       {want: 200},
		"token a little older":        {reason: "one apply creates both", principal: func(p *Principal) { p.IssuedAt = created.Add(-59 * time.Second) }, want: 200},
		"token of an earlier session": {principal: func(p *Principal) { p.IssuedAt = created.Add(-61 * time.Second) }, want: 404},
		"token without a time":        {reason: "unknown is not new enough", principal: func(p *Principal) { p.IssuedAt = time.Time{} }, want: 404},
		"unbound token":               {principal: func(p *Principal) { p.PodUID = "" }, want: 404},
		"unbound token, allowed": {
			principal: func(p *Principal) { p.PodUID = "" },
			options:   func(o *Options) { o.AllowUnboundTokens = true }, want: 200,
		},
		"other account":           {principal: func(p *Principal) { p.Username += "2" }, want: 404},
		"account of other space":  {principal: func(p *Principal) { p.Username = "system:serviceaccount:other:one-agent" }, want: 404},
		"session without account": {reason: "an empty name matches nobody", principal: func(p *Principal) { p.Username = "system:serviceaccount:ns:" }, session: func(s *Session) { s.ServiceAccountName = "" }, want: 404},
		"authorised person":       {principal: func(p *Principal) { *p = Principal{Username: "jane"} }, allowed: true, want: 200},
		"other person":            {principal: func(p *Principal) { *p = Principal{Username: "jane"} }, want: 404},
	} {
		t.Run(name, func(t *testing.T) {
			var change []func(*Options)
			if tc.options != nil {
				change = append(change, tc.options)
			}
			f := newFixture(t, change...)
			p, s := agent, f.cluster.sessions["ns/one"]
			if tc.principal != nil {
				tc.principal(&p)
			}
			if tc.session != nil {
				tc.session(&s)
			}
			f.cluster.tokens["x@"+Audience("ns", "one")] = p
			f.cluster.sessions["ns/one"] = s
			f.cluster.mayConnect[p.Username+" ns/one"] = tc.allowed
			if got := f.status(f.url(), "x"); got != tc.want {
				t.Errorf("status %d, want %d (%s)", got, tc.want, tc.reason)
			}
		})
	}
}

// TestAbsenceAndNoRightLookAlike compares the two answers byte for byte, and what was asked on the way to them.
func TestAbsenceAndNoRightLookAlike(t *testing.T) {
	f := newFixture(t)
	f.cluster.tokens["x@"+Audience("ns", "one")] = Principal{Username: "jane"}
	f.cluster.tokens["x@"+Audience("ns", "none")] = Principal{Username: "jane"}
	ask := func(session, method string) (string, []string) {
		f.cluster.takeAsked()
		resp := f.do(method, f.base+"/v1/namespaces/ns/sessions/"+session+"/mcp", strings.NewReader(ping),
			map[string]string{"Authorization": "Bearer x"})
		defer func() { _ = resp.Body.Close() }()
		b, _ := io.ReadAll(resp.Body)
		resp.Header.Del("Date")
		return fmt.Sprint(resp.StatusCode, resp.Header, string(b)), f.cluster.takeAsked()
	}
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		forbidden, askedForbidden := ask("one", method)
		absent, askedAbsent := ask("none", method)
		if forbidden != absent || !strings.HasPrefix(absent, "404") {
			t.Errorf("%s: no right: %s\nabsent: %s", method, forbidden, absent)
		}
		want := []string{"Authenticate", "Lookup", "MayConnect"}
		if !slices.Equal(askedForbidden, want) || !slices.Equal(askedAbsent, want) {
			t.Errorf("%s: asked %v and %v, want %v", method, askedForbidden, askedAbsent, want)
		}
	}
}

func TestUnauthenticated(t *testing.T) {
	f := newFixture(t)
	bodies := map[string]bool{}
	for name, value := range map[string]string{
		"none": "", "other scheme": "Basic YTpi", "empty": "Bearer", "bad": "Bearer wrong", "two words": "Bearer " + f.token + " x",
		"control": "Bearer \x01", "huge": "Bearer " + strings.Repeat("x", maxTokenBytes+1), "not ASCII": "Bearer " + f.token + "é",
	} {
		if name == "control" {
			continue // net/http does not send it
		}
		g := f.post(ping, map[string]string{"Authorization": value})
		if g.status != http.StatusUnauthorized || g.header.Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%s: status %d, WWW-Authenticate %q", name, g.status, g.header.Get("WWW-Authenticate"))
		}
		bodies[g.body] = true
	}
	if len(bodies) != 1 {
		t.Errorf("the answers differ: %v", bodies)
	}
	if asked := f.cluster.takeAsked(); slices.Contains(asked, "Lookup") {
		t.Error("a session was looked up for an unknown caller")
	}
}

func TestTwoAuthorizationHeadersAreRefused(t *testing.T) {
	f := newFixture(t)
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, f.url(), strings.NewReader(ping))
	r.Header["Authorization"] = []string{"Bearer " + f.token, "Bearer " + f.token}
	resp, err := f.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("status %d, want 401", resp.StatusCode)
	}
}

func TestOriginAndHost(t *testing.T) {
	f := newFixture(t, func(o *Options) {
		o.AllowedOrigins = []string{"https://console.example"}
		o.AllowedHosts = []string{"127.0.0.1", "gateway.example:8443"}
	})
	for name, tc := range map[string]struct {
		headers map[string]string
		want    int
	}{
		"no origin":       {nil, 200},
		"allowed origin":  {map[string]string{"Origin": "https://Console.example"}, 200},
		"other origin":    {map[string]string{"Origin": "https://evil.example"}, 403},
		"null origin":     {map[string]string{"Origin": "null"}, 403},
		"other scheme":    {map[string]string{"Origin": "http://console.example"}, 403},
		"allowed host":    {map[string]string{"Host": "gateway.example:8443"}, 200},
		"other port":      {map[string]string{"Host": "gateway.example:1"}, 403},
		"rebinding":       {map[string]string{"Host": "evil.example"}, 403},
		"without a token": {map[string]string{"Host": "evil.example", "Authorization": ""}, 403},
	} {
		if g := f.post(ping, tc.headers); g.status != tc.want {
			t.Errorf("%s: status %d, want %d", name, g.status, tc.want)
		}
	}
	closed := newFixture(t)
	if g := closed.post(ping, map[string]string{"Origin": closed.base}); g.status != http.StatusForbidden {
		t.Errorf("an Origin passed an empty allow list: %d", g.status)
	}
}

func TestUnableToTell(t *testing.T) {
	for _, method := range []string{"Authenticate", "Lookup", "MayConnect"} {
		f := newFixture(t)
		f.cluster.fail[method] = errDown
		delete(f.cluster.sessions, "ns/other")
		if method == "MayConnect" {
			s := f.cluster.sessions["ns/one"]
			s.ServiceAccountName = "nobody"
			f.cluster.sessions["ns/one"] = s
		}
		g := f.post(ping, nil)
		_, _, reason := g.problem(t)
		if g.status != http.StatusServiceUnavailable || reason != "Unavailable" || g.header.Get("Retry-After") == "" {
			t.Errorf("%s: status %d, reason %s, Retry-After %q", method, g.status, reason, g.header.Get("Retry-After"))
		}
		if strings.Contains(g.body, "down") {
			t.Errorf("%s: the cause is shown: %s", method, g.body)
		}
	}
}

func TestNotReady(t *testing.T) {
	for name, change := range map[string]func(*fixture){
		"not resolved": func(f *fixture) {
			s := f.cluster.sessions["ns/one"]
			s.Resolved = false
			f.cluster.sessions["ns/one"] = s
		},
		"not the owner":         func(f *fixture) { f.cluster.notOwner = true },
		"not held, while named": func(f *fixture) { f.runtime.missing.Store(true) },
		"call without session": func(f *fixture) {
			f.runtime.missing.Store(true)
			f.runtime.call = failing(&mcp.CallError{Reason: mcp.CallSessionNotFound})
		},
	} {
		f := newFixture(t)
		change(f)
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
		if f.runtime.call != nil {
			body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`
		}
		if g := f.post(body, nil); g.status != http.StatusServiceUnavailable || g.header.Get("Retry-After") != "1" {
			t.Errorf("%s: status %d, Retry-After %q", name, g.status, g.header.Get("Retry-After"))
		}
	}
}

func TestRoutes(t *testing.T) {
	f := newFixture(t)
	for _, path := range []string{
		"/", "/v1/namespaces/ns/sessions/one", "/v1/namespaces/ns/sessions/one/mcp/", "/v1/namespaces/ns/sessions/one/x/mcp",
		"/v1/namespaces/NS/sessions/one/mcp", "/v1/namespaces/ns/sessions/../mcp", "/v1/namespaces//sessions/one/mcp",
		"/v1/namespaces/ns%2fsessions%2fone/mcp", "/v1/namespaces/ns/sessions/" + strings.Repeat("a", 64) + "/mcp",
	} {
		if got := f.status(f.base+path, f.token); got != http.StatusNotFound {
			t.Errorf("%s: %d, want 404", path, got)
		}
	}
	for _, method := range []string{http.MethodGet, http.MethodDelete, http.MethodPut, http.MethodOptions} {
		resp := f.do(method, f.url(), nil, nil)
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusMethodNotAllowed || resp.Header.Get("Allow") != "POST" {
			t.Errorf("%s: %d, Allow %q", method, resp.StatusCode, resp.Header.Get("Allow"))
		}
		resp = f.do(method, f.url(), nil, map[string]string{"Authorization": ""})
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s without a token: %d", method, resp.StatusCode)
		}
	}
}
