// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/controller/report"
	"github.com/mooring-dev/mooring/internal/mcp"
	"github.com/mooring-dev/mooring/internal/mcp/catalog"
	"github.com/mooring-dev/mooring/internal/mcp/content"
)

// fillStatus derives the whole status from what this reconcile observed. Nothing in it moves while nothing happens.
func (s *scope) fillStatus(gatewayURL string) {
	status := &s.session.Status
	status.ObservedGeneration = s.session.Generation
	status.Endpoint = fmt.Sprintf("%s/v1/namespaces/%s/sessions/%s/mcp", gatewayURL, s.session.Namespace, s.session.Name)
	status.ShadowedServers = s.resolution.shadowed
	status.SkippedServers = s.resolution.skipped
	o := &observed{
		problem: s.problem, suspended: s.session.Spec.Suspend == v1alpha1.SuspendOn, skipped: len(s.resolution.skipped),
		missing: s.resolution.missing(), unstored: s.unstored,
	}
	status.Servers = s.servers(o)
	enabled := tally(o.servers)
	status.EnabledServers, status.ConnectedServers = ptr.To(enabled.enabled), ptr.To(enabled.serving)
	status.Tools = s.projection.tools
	status.Catalog = s.catalog()
	status.Subscriptions = s.subscriptions()
	if s.snapshot.Reconnected != "" {
		status.LastReconnect = s.snapshot.Reconnected
	}
	if s.snapshot.Refreshed != "" {
		status.LastRefresh = s.snapshot.Refreshed
	}
	o.listed, o.total = len(status.Tools), int(status.Catalog.ToolCount)
	o.dropped = append(o.dropped, clashes(s.snapshot.Projection)...)
	setConditions(report.For(&status.Conditions, s.session.Generation), o)
}

func (s *scope) servers(o *observed) []v1alpha1.SessionServerStatus {
	live := make(map[string]*mcp.ServerSnapshot, len(s.snapshot.Servers))
	for i := range s.snapshot.Servers {
		live[s.snapshot.Servers[i].Name] = &s.snapshot.Servers[i]
	}
	statuses := make([]v1alpha1.SessionServerStatus, 0, len(s.resolution.servers))
	for i := range s.resolution.servers {
		in := &s.resolution.servers[i]
		status := v1alpha1.SessionServerStatus{
			Name: in.name, Layer: in.layer,
			ServerRef: v1alpha1.ObservedServerReference{Name: in.server.Name, UID: in.server.UID},
		}
		seen := observedServer{name: in.name, disabled: in.disabled, required: in.required}
		switch reason, invalid := s.invalid[in.name]; {
		case in.disabled:
			status.State = v1alpha1.ServerStateDisabled
		case invalid:
			seen.invalid = true
			status.State = v1alpha1.ServerStateInvalid
			status.LastError = &v1alpha1.ServerError{Reason: v1alpha1.ReasonUnresolvedReference, Message: reason}
		case live[in.name] == nil && slices.Contains(s.unread, in.name):
			seen.invalid = true
			status.State = v1alpha1.ServerStateInvalid
			status.LastError = &v1alpha1.ServerError{
				Reason: v1alpha1.ReasonUnresolvedReference, Message: "what its definition refers to cannot be read now",
			}
		case live[in.name] == nil:
			seen.state = mcp.StateIdle
			status.State = v1alpha1.ServerStateIdle
		default:
			describe(live[in.name], &status, &seen)
			o.dropped = append(o.dropped, dropped(live[in.name])...)
		}
		statuses = append(statuses, status)
		o.servers = append(o.servers, seen)
	}
	return statuses
}

// describe copies what the runtime knows of one connection.
func describe(live *mcp.ServerSnapshot, status *v1alpha1.SessionServerStatus, seen *observedServer) {
	seen.state = live.State
	seen.synced = live.Tools != nil
	seen.first = live.State == mcp.StateIdle || live.State == mcp.StateConnecting && live.LastError == nil
	status.State = v1alpha1.SessionServerState(live.State)
	status.ConnectionGeneration = live.Generation
	status.ProtocolVersion = live.ProtocolVersion
	if live.State == mcp.StateConnected {
		status.ServerInfo = &v1alpha1.ServerInfo{
			Name: live.ServerInfo.Name, Title: live.ServerInfo.Title, Version: live.ServerInfo.Version,
		}
	}
	status.Capabilities = capabilities(live.Capabilities)
	if live.Tools != nil {
		status.ToolCount = int32(len(live.Tools.Tools)) //nolint:gosec // at most 1000 (CAT-11)
		status.CatalogDigest = live.Tools.Digest
		status.CatalogRevision = live.CatalogRevision
	}
	status.ResourceCount, status.ResourceTemplateCount = entries(live.Resources), entries(live.Templates)
	status.PromptCount = entries(live.Prompts)
	status.InstructionsDigest = live.Instructions.SHA256
	if live.State == mcp.StateConnecting || live.State == mcp.StateReconnecting {
		status.Recovery = recovery(live)
	}
	if live.LastError != nil {
		status.LastError = &v1alpha1.ServerError{
			Reason: string(live.LastError.Reason), Message: live.LastError.Message, Time: seconds(live.LastError.Time),
		}
	}
}

func entries(list *content.Catalog) int32 {
	if list == nil {
		return 0
	}
	return int32(len(list.Entries)) //nolint:gosec // at most 1000 (CNT-03)
}

// subscriptions shows what is wanted, declared and made by agents, as far as it fits.
func (s *scope) subscriptions() []v1alpha1.SubscriptionStatus {
	var out []v1alpha1.SubscriptionStatus
	left := v1alpha1.SubscriptionsBytes
	for i := range s.snapshot.Servers {
		server := &s.snapshot.Servers[i]
		for _, wanted := range server.Subscriptions {
			one := v1alpha1.SubscriptionStatus{Server: server.Name, URI: wanted.URI, State: v1alpha1.SubscriptionDesired}
			if wanted.Active {
				one.State = v1alpha1.SubscriptionActive
			}
			if !wanted.Updated.IsZero() {
				one.UpdatedTime = seconds(wanted.Updated)
			}
			encoded, err := json.Marshal(&one)
			if left -= len(encoded) + 1; err != nil || left < 0 {
				return out
			}
			out = append(out, one)
		}
	}
	return out
}

// capabilityName is what the API takes for a name.
var capabilityName = regexp.MustCompile(`^[A-Za-z0-9._/-]{1,64}$`)

// capabilities keeps what the API takes. A server may declare anything, and must not make its session unwritable.
func capabilities(declared []string) []string {
	var out []string
	left := v1alpha1.CapabilitiesBytes
	for _, name := range declared {
		if left -= len(name); len(out) == v1alpha1.MaxCapabilities || left < 0 {
			break
		}
		if capabilityName.MatchString(name) {
			out = append(out, name)
		}
	}
	return out
}

// recovery is left out while the first attempt runs: it would be a write that tells nobody anything.
func recovery(live *mcp.ServerSnapshot) *v1alpha1.RecoveryStatus {
	if live.LastError == nil {
		return nil
	}
	out := &v1alpha1.RecoveryStatus{
		Attempt: int32(live.Attempt), Limit: int32(live.Limit), //nolint:gosec // both are bounded by the policy
	}
	if !live.NextAttempt.IsZero() {
		out.NextAttemptTime = seconds(live.NextAttempt)
	}
	return out
}

// seconds is t as the API server keeps it: what is computed must equal what is read back, or each reconcile would write.
func seconds(t time.Time) *metav1.Time {
	return &metav1.Time{Time: t.UTC().Truncate(time.Second)}
}

func dropped(live *mcp.ServerSnapshot) []string {
	if live.Tools == nil {
		return nil
	}
	out := make([]string, 0, len(live.Tools.Dropped))
	for _, tool := range live.Tools.Dropped {
		out = append(out, fmt.Sprintf("%s of %s (%s)", tool.Name, live.Name, tool.Reason))
	}
	return out
}

// clashes names the tools that another tool's name is in the way of (DEV-11).
func clashes(p *catalog.Projection) []string {
	if p == nil {
		return nil
	}
	out := make([]string, 0, len(p.Clashes))
	for _, name := range p.Clashes {
		out = append(out, name+" (another tool has this name)")
	}
	return out
}

func (s *scope) catalog() v1alpha1.CatalogStatus {
	status := v1alpha1.CatalogStatus{Revision: max(s.snapshot.Revision, s.before.Catalog.Revision)}
	if p := s.snapshot.Projection; p != nil {
		status.Digest = p.Digest
		status.ToolCount = int32(len(p.Tools))                  //nolint:gosec // at most 64 servers of 1000 tools
		status.ListedToolCount = int32(len(s.projection.tools)) //nolint:gosec // at most MaxListedTools
		status.Bytes = int64(p.Bytes)
	}
	status.Chunks = s.chunks
	return status
}
