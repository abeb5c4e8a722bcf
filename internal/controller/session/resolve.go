// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/controller/definition"
)

// resolution is which servers a session uses, and why (CFG-01 to CFG-04).
type resolution struct {
	// servers in projection order: a replacement takes the place of what it replaces.
	servers  []resolved
	shadowed []v1alpha1.ShadowedServer
	skipped  []v1alpha1.SkippedServer
	// required names the skipped entries that the session cannot be without.
	required []string
}

// missing names the required entries that were skipped and that no other layer provides.
func (r *resolution) missing() []string {
	var missing []string
	for _, name := range r.required {
		if !slices.ContainsFunc(r.servers, func(s resolved) bool { return s.name == name }) {
			missing = append(missing, name)
		}
	}
	return slices.Compact(missing)
}

// resolved is one server of the session with the definition that it refers to.
type resolved struct {
	name     string
	layer    v1alpha1.ServerLayer
	server   *v1alpha1.McpServer
	headers  []v1alpha1.Header
	disabled bool
	required bool
}

// resolve merges the layers: workspace, plugins, spec.servers, overrides; a later layer replaces an earlier one whole, by
// name; mode Exclusive ignores the first three. A bad entry is named in skipped and leaves what was merged so far as it
// is (CFG-12). It is a pure function of the session and the namespace's servers.
func resolve(session *v1alpha1.McpSession, servers []v1alpha1.McpServer) resolution {
	// A cache lists in no order, and what is skipped is named in the order in which it is met.
	servers = slices.SortedFunc(slices.Values(servers), func(a, b v1alpha1.McpServer) int { return cmp.Compare(a.Name, b.Name) })
	byName := make(map[string]*v1alpha1.McpServer, len(servers))
	for i := range servers {
		byName[servers[i].Name] = &servers[i]
	}
	m := merge{byName: byName, place: map[string]int{}}
	overrides := session.Spec.Overrides
	if overrides == nil || overrides.Mode != v1alpha1.OverrideExclusive {
		m.selected(v1alpha1.LayerWorkspace, session.Spec.Workspace, servers)
		m.selected(v1alpha1.LayerPlugin, session.Spec.Plugins, servers)
		m.listed(v1alpha1.LayerSession, session.Spec.Servers)
	}
	if overrides != nil {
		m.listed(v1alpha1.LayerOverride, overrides.Servers)
	}
	return m.resolution
}

type merge struct {
	resolution
	byName map[string]*v1alpha1.McpServer
	place  map[string]int
}

// selected adds what a label selector finds, by name. Plugin servers carry the plugin label and their plugin's name in front.
func (m *merge) selected(layer v1alpha1.ServerLayer, source *v1alpha1.ServerSource, servers []v1alpha1.McpServer) {
	if source == nil {
		return
	}
	selector, err := source.Selector.AsSelector()
	if err != nil {
		m.skip(layer, string(layer), "", v1alpha1.SkipInvalidSelector, "the selector is not valid")
		return
	}
	for i := range servers {
		plugin, isPlugin := servers[i].Labels[v1alpha1.LabelPlugin]
		if isPlugin != (layer == v1alpha1.LayerPlugin) || !selector.Matches(labels.Set(servers[i].Labels)) {
			continue
		}
		if isPlugin && !strings.HasPrefix(servers[i].Name, plugin+"-") {
			m.skip(layer, servers[i].Name, servers[i].Name, v1alpha1.SkipInvalidName,
				"a plugin's server must be named <plugin>-<server>")
			continue
		}
		m.add(resolved{name: servers[i].Name, layer: layer, server: &servers[i]}, servers[i].Name)
	}
}

func (m *merge) listed(layer v1alpha1.ServerLayer, entries []v1alpha1.SessionServer) {
	for i := range entries {
		entry := &entries[i]
		m.add(resolved{
			name: entry.Name, layer: layer, server: m.byName[entry.Ref.Name], headers: entry.Headers,
			disabled: entry.State == v1alpha1.ServerDisabled, required: entry.Required == v1alpha1.RequiredAlways,
		}, entry.Ref.Name)
	}
}

func (m *merge) add(r resolved, ref string) {
	if reason, message := unusable(r.server); reason != "" {
		if r.required && !r.disabled {
			m.required = append(m.required, r.name)
		}
		m.skip(r.layer, r.name, ref, reason, message)
		return
	}
	if at, ok := m.place[r.name]; ok {
		old := m.servers[at]
		if len(m.shadowed) < v1alpha1.MaxSessionServers {
			m.shadowed = append(m.shadowed, v1alpha1.ShadowedServer{
				Name: old.name, Layer: old.layer, ServerName: old.server.Name, ByLayer: r.layer,
			})
		}
		m.servers[at] = r
		return
	}
	if len(m.servers) == v1alpha1.MaxSessionServers {
		if r.required && !r.disabled {
			m.required = append(m.required, r.name)
		}
		m.skip(r.layer, r.name, ref, v1alpha1.SkipTooMany,
			fmt.Sprintf("a session has at most %d servers", v1alpha1.MaxSessionServers))
		return
	}
	m.place[r.name] = len(m.servers)
	m.servers = append(m.servers, r)
}

// unusable says why a definition cannot be used. One that is being deleted is gone already: with foreground deletion its
// catalog chunks go first, and a session that kept using it would write them again.
func unusable(server *v1alpha1.McpServer) (v1alpha1.SkipReason, string) {
	switch {
	case server == nil:
		return v1alpha1.SkipNotFound, "there is no McpServer of this name in the namespace"
	case server.DeletionTimestamp != nil:
		return v1alpha1.SkipNotFound, "the McpServer is being deleted"
	}
	if problem := definition.CheckServer(server); problem != nil {
		return v1alpha1.SkipNotAccepted, problem.Message
	}
	return "", ""
}

func (m *merge) skip(layer v1alpha1.ServerLayer, name, ref string, reason v1alpha1.SkipReason, message string) {
	if len(m.skipped) == v1alpha1.MaxSessionServers {
		return
	}
	m.skipped = append(m.skipped, v1alpha1.SkippedServer{
		Name: name, Layer: layer, ServerName: ref, Reason: reason, Message: message,
	})
}
