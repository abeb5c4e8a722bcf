// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/mooring-dev/mooring/api/v1alpha1"
)

// httpServer is a definition that sessions can use. A plugin's carries its plugin's label.
func httpServer(name string, labels ...string) v1alpha1.McpServer {
	server := v1alpha1.McpServer{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{}},
		Spec: v1alpha1.McpServerSpec{Transport: v1alpha1.Transport{
			Type: v1alpha1.TransportStreamableHTTP, StreamableHTTP: &v1alpha1.HTTPTransport{URL: "https://" + name + ".example/mcp"},
		}},
	}
	for _, label := range labels {
		key, value, _ := strings.Cut(label, "=")
		server.Labels[key] = value
	}
	return server
}

func everything() *v1alpha1.ServerSource {
	return &v1alpha1.ServerSource{Selector: &v1alpha1.LabelSelector{}}
}

func labelled(key, value string) *v1alpha1.ServerSource {
	labels := map[string]v1alpha1.LabelValue{key: v1alpha1.LabelValue(value)}
	return &v1alpha1.ServerSource{Selector: &v1alpha1.LabelSelector{MatchLabels: labels}}
}

func entry(name, ref string) v1alpha1.SessionServer {
	return v1alpha1.SessionServer{Name: name, Ref: v1alpha1.LocalMcpServerReference{Name: ref}}
}

func requiredEntry(name, ref string) v1alpha1.SessionServer {
	e := entry(name, ref)
	e.Required = v1alpha1.RequiredAlways
	return e
}

// resolveRows: want lists "name<-definition layer", shadowed "name layer<layer", skipped "name layer/reason".
var resolveRows = map[string]struct {
	spec                             v1alpha1.McpSessionSpec
	want, shadowed, skipped, missing []string
}{
	"nothing": {},
	"workspace takes no plugin's servers, by name": {
		spec: v1alpha1.McpSessionSpec{Workspace: everything()},
		want: []string{"alpha<-alpha Workspace", "beta<-beta Workspace"}, skipped: []string{"pod Workspace/NotAccepted"},
	},
	"workspace by label": {
		spec: v1alpha1.McpSessionSpec{Workspace: labelled("team", "b")}, want: []string{"beta<-beta Workspace"},
	},
	"an absent selector selects nothing": {
		spec: v1alpha1.McpSessionSpec{Workspace: &v1alpha1.ServerSource{}},
	},
	"plugins": {
		spec:    v1alpha1.McpSessionSpec{Plugins: everything()},
		want:    []string{"git-issues<-git-issues Plugin", "git-search<-git-search Plugin"},
		skipped: []string{"git2misnamed Plugin/InvalidName"},
	},
	"plugins by label": {
		spec: v1alpha1.McpSessionSpec{Plugins: labelled(v1alpha1.LabelPlugin, "git")},
		want: []string{"git-issues<-git-issues Plugin", "git-search<-git-search Plugin"},
	},
	"an invalid selector is skipped, and what was merged stays": {
		spec: v1alpha1.McpSessionSpec{
			Workspace: labelled("team", "b"),
			Plugins: &v1alpha1.ServerSource{Selector: &v1alpha1.LabelSelector{MatchExpressions: []v1alpha1.LabelRequirement{
				{Key: "k", Operator: "Near"},
			}}},
		},
		want: []string{"beta<-beta Workspace"}, skipped: []string{"Plugin Plugin/InvalidSelector"},
	},
	"later layers replace earlier ones whole, in their place": {
		spec: v1alpha1.McpSessionSpec{
			Workspace: everything(), Plugins: labelled(v1alpha1.LabelPlugin, "git"),
			Servers:   []v1alpha1.SessionServer{requiredEntry("alpha", "beta"), entry("mine", "alpha")},
			Overrides: &v1alpha1.SessionOverrides{Servers: []v1alpha1.SessionServer{entry("git-search", "alpha"), entry("alpha", "alpha")}},
		},
		want: []string{
			"alpha<-alpha Override", "beta<-beta Workspace", "git-issues<-git-issues Plugin", "git-search<-alpha Override",
			"mine<-alpha Session",
		},
		shadowed: []string{"alpha<-alpha Workspace<Session", "git-search<-git-search Plugin<Override", "alpha<-beta Session<Override"},
		skipped:  []string{"pod Workspace/NotAccepted"},
	},
	"exclusive overrides ignore the other layers": {
		spec: v1alpha1.McpSessionSpec{
			Workspace: everything(), Plugins: everything(), Servers: []v1alpha1.SessionServer{entry("mine", "nowhere")},
			Overrides: &v1alpha1.SessionOverrides{Mode: v1alpha1.OverrideExclusive, Servers: []v1alpha1.SessionServer{entry("only", "beta")}},
		},
		want: []string{"only<-beta Override"},
	},
	"exclusive and empty is a session without servers": {
		spec: v1alpha1.McpSessionSpec{Workspace: everything(), Overrides: &v1alpha1.SessionOverrides{Mode: v1alpha1.OverrideExclusive}},
	},
	"bad entries leave the earlier layer's server where it is": {
		spec: v1alpha1.McpSessionSpec{
			Workspace: labelled("team", "b"),
			Servers:   []v1alpha1.SessionServer{requiredEntry("beta", "nowhere"), entry("x", "pod"), entry("y", "going")},
		},
		want:    []string{"beta<-beta Workspace"},
		skipped: []string{"beta Session/NotFound", "x Session/NotAccepted", "y Session/NotFound"},
	},
	"a required entry that is skipped is missing": {
		spec:    v1alpha1.McpSessionSpec{Servers: []v1alpha1.SessionServer{requiredEntry("a", "nowhere"), entry("b", "nowhere")}},
		skipped: []string{"a Session/NotFound", "b Session/NotFound"}, missing: []string{"a"},
	},
	"a disabled one is not missing": {
		spec: v1alpha1.McpSessionSpec{Servers: []v1alpha1.SessionServer{
			{Name: "a", Ref: v1alpha1.LocalMcpServerReference{Name: "nowhere"}, Required: v1alpha1.RequiredAlways, State: v1alpha1.ServerDisabled},
		}},
		skipped: []string{"a Session/NotFound"},
	},
}

func TestResolve(t *testing.T) {
	going := httpServer("going", "team=g")
	going.DeletionTimestamp = ptr.To(metav1.Now())
	pod := httpServer("pod")
	pod.Spec.Transport = v1alpha1.Transport{Type: v1alpha1.TransportStdio, Stdio: &v1alpha1.StdioTransport{Image: "a"}}
	plugin := v1alpha1.LabelPlugin
	all := []v1alpha1.McpServer{
		httpServer("alpha", "team=a"), httpServer("beta", "team=b"), pod,
		httpServer("git-search", plugin+"=git"), httpServer("git-issues", plugin+"=git"), httpServer("git2misnamed", plugin+"=git2"),
	}
	for name, row := range resolveRows {
		t.Run(name, func(t *testing.T) {
			servers := append([]v1alpha1.McpServer{}, all...)
			for i := range row.spec.Servers {
				if row.spec.Servers[i].Ref.Name == going.Name {
					servers = append(servers, going)
				}
			}
			// A cache lists in no order: the result may not depend on it.
			for range 8 {
				rand.Shuffle(len(servers), func(i, j int) { servers[i], servers[j] = servers[j], servers[i] })
				got := resolve(&v1alpha1.McpSession{Spec: row.spec}, servers)
				check := func(what string, want, got []string) {
					if diff := cmp.Diff(strings.Join(want, "\n"), strings.Join(got, "\n")); diff != "" {
						t.Errorf("%s: %s", what, diff)
					}
				}
				check("servers", row.want, describeServers(got.servers))
				check("shadowed", row.shadowed, describeShadowed(got.shadowed))
				check("skipped", row.skipped, describeSkipped(got.skipped))
				check("missing", row.missing, got.missing())
			}
		})
	}
}

func describeServers(servers []resolved) []string {
	var out []string
	for i := range servers {
		out = append(out, fmt.Sprintf("%s<-%s %s", servers[i].name, servers[i].server.Name, servers[i].layer))
	}
	return out
}

func describeShadowed(shadowed []v1alpha1.ShadowedServer) []string {
	var out []string
	for _, s := range shadowed {
		out = append(out, fmt.Sprintf("%s<-%s %s<%s", s.Name, s.ServerName, s.Layer, s.ByLayer))
	}
	return out
}

func describeSkipped(skipped []v1alpha1.SkippedServer) []string {
	var out []string
	for _, s := range skipped {
		out = append(out, fmt.Sprintf("%s %s/%s", s.Name, s.Layer, s.Reason))
	}
	return out
}

func TestResolveCarriesTheEntry(t *testing.T) {
	e := requiredEntry("mine", "alpha")
	e.State = v1alpha1.ServerDisabled
	e.Headers = []v1alpha1.Header{{Name: "X-A", Value: "1"}}
	got := resolve(&v1alpha1.McpSession{Spec: v1alpha1.McpSessionSpec{
		Workspace: everything(), Servers: []v1alpha1.SessionServer{e},
	}}, []v1alpha1.McpServer{httpServer("mine"), httpServer("alpha")})
	if len(got.servers) != 2 || got.servers[1].name != "mine" {
		t.Fatalf("servers: %v", describeServers(got.servers))
	}
	mine := got.servers[1]
	if !mine.disabled || !mine.required || len(mine.headers) != 1 || mine.server.Name != "alpha" {
		t.Errorf("%+v does not carry its entry", mine)
	}
}

func TestResolveAtMost64(t *testing.T) {
	var servers []v1alpha1.McpServer
	for i := range 100 {
		servers = append(servers, httpServer(fmt.Sprintf("s%03d", i)))
	}
	var entries []v1alpha1.SessionServer
	for i := range 32 {
		entries = append(entries, entry(fmt.Sprintf("s%03d", i), "s099"))
	}
	entries = append(entries, requiredEntry("late", "s000"))
	got := resolve(&v1alpha1.McpSession{Spec: v1alpha1.McpSessionSpec{Workspace: everything(), Servers: entries}}, servers)
	if len(got.servers) != 64 {
		t.Errorf("%d servers, want 64", len(got.servers))
	}
	if first, last := got.servers[0], got.servers[63]; first.server.Name != "s099" || last.name != "s063" {
		t.Errorf("the first is %s<-%s and the last %s: a replacement takes its place also when there is no more room",
			first.name, first.server.Name, last.name)
	}
	if n := len(got.skipped); n != 37 || got.skipped[0].Reason != v1alpha1.SkipTooMany || got.skipped[0].Name != "s064" {
		t.Errorf("%d skipped, the first %v", n, got.skipped[0])
	}
	if diff := cmp.Diff([]string{"late"}, got.missing()); diff != "" {
		t.Errorf("missing: %s", diff)
	}

	entries = nil
	for i := range 100 {
		entries = append(entries, entry(fmt.Sprintf("e%03d", i), "nowhere"))
	}
	got = resolve(&v1alpha1.McpSession{Spec: v1alpha1.McpSessionSpec{Servers: entries}}, servers)
	if len(got.skipped) != v1alpha1.MaxSessionServers {
		t.Errorf("%d skipped, want at most %d in status", len(got.skipped), v1alpha1.MaxSessionServers)
	}
}
