// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/controller/definition"
	"github.com/mooring-dev/mooring/internal/controller/report"
	"github.com/mooring-dev/mooring/internal/mcp"
)

// observed is all that the conditions of a session are computed from.
type observed struct {
	// problem is why the spec is not accepted, or nil.
	problem   *definition.Problem
	suspended bool
	servers   []observedServer
	// skipped counts the entries that lead nowhere; missing names those of them that are required.
	skipped int
	missing []string
	// dropped names tools that their servers offered and that cannot be used, "server: tool (reason)".
	dropped []string
	// listed of total projected tools stand in status.
	listed, total int
	// unstored says which servers' catalogs could not be stored, and why.
	unstored []string
}

type observedServer struct {
	name     string
	disabled bool
	required bool
	// invalid says that the server has a definition that cannot be connected to: a reference leads nowhere.
	invalid bool
	// first says that its first attempt is still under way: nothing has failed yet.
	first  bool
	state  mcp.State
	synced bool
}

func (s *observedServer) serves() bool {
	return !s.disabled && !s.invalid && s.state == mcp.StateConnected
}

// rests says that the server does not serve, and that nothing is being tried.
func (s *observedServer) rests() bool { return s.invalid || s.state.Settled() && !s.serves() }

// verdict is the summary that Ready, Reconciling and Stalled are read from (design, "The resources", the Ready table).
type verdict struct {
	ready      metav1.ConditionStatus
	reason     string
	message    string
	recovering bool
	stalled    bool
}

// judge is the Ready table.
func judge(o *observed) verdict {
	switch {
	case o.problem != nil:
		return verdict{ready: metav1.ConditionFalse, reason: o.problem.Reason, message: o.problem.Message, stalled: true}
	case o.suspended:
		return verdict{ready: metav1.ConditionTrue, reason: v1alpha1.ReasonSuspended, message: "spec.suspend is On: nothing runs"}
	}
	return judgeServers(tally(o.servers), o.missing, o.skipped)
}

// judgeServers is the part of the table that looks at the servers. missing names required ones that lead nowhere.
func judgeServers(t count, missing []string, skipped int) verdict {
	required := slices.Concat(t.requiredDown, missing)
	switch {
	case t.enabled == 0:
		return verdict{
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonNoServers, stalled: true,
			message: "no usable server is enabled for this session",
		}
	case t.serving == 0 && t.resting == t.enabled:
		return verdict{
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonNoServerServes, stalled: true,
			message: "no server serves and none is being tried: " + names(t.down),
		}
	case t.serving == 0 && t.first == t.enabled-t.resting:
		return verdict{
			ready: metav1.ConditionUnknown, reason: v1alpha1.ReasonConnecting, recovering: true,
			message: "connecting to " + names(t.down),
		}
	case t.serving == 0:
		return verdict{
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonNoServerServes, recovering: true,
			message: "no server serves yet: " + names(t.down),
		}
	case len(required) > 0:
		return verdict{
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonRequiredServerDown,
			message: "required servers do not serve: " + names(required), recovering: t.trying > 0, stalled: t.trying == 0,
		}
	case len(t.down) > 0 || skipped > 0:
		return verdict{
			ready: metav1.ConditionTrue, reason: v1alpha1.ReasonDegraded, recovering: t.trying > 0,
			message: degraded(t.down, skipped),
		}
	}
	return verdict{ready: metav1.ConditionTrue, reason: v1alpha1.ReasonReady, message: "every server serves"}
}

type count struct {
	enabled, serving       int32
	resting, trying, first int32
	down, requiredDown     []string
}

func tally(servers []observedServer) count {
	var t count
	for i := range servers {
		s := &servers[i]
		if s.disabled {
			continue
		}
		t.enabled++
		if s.serves() {
			t.serving++
			continue
		}
		t.down = append(t.down, s.name)
		if s.required {
			t.requiredDown = append(t.requiredDown, s.name)
		}
		if s.rests() {
			t.resting++
			continue
		}
		t.trying++
		if s.first {
			t.first++
		}
	}
	return t
}

func degraded(down []string, skipped int) string {
	var parts []string
	if len(down) > 0 {
		parts = append(parts, "some servers do not serve: "+names(down))
	}
	if skipped > 0 {
		parts = append(parts, fmt.Sprintf("%d entries are skipped, see status.skippedServers", skipped))
	}
	return strings.Join(parts, "; ")
}

// names lists a few names, so that a message stays short whatever the session holds.
func names(all []string) string { return some(all, 5) }

func some(all []string, shown int) string {
	if len(all) <= shown {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:shown], ", "), len(all)-shown)
}

// setConditions writes every condition of a living session.
func setConditions(c report.Conditions, o *observed) {
	v := judge(o)
	c.Set(v1alpha1.ConditionReady, v.ready, v.reason, v.message)
	c.Flag(v1alpha1.ConditionReconciling, v.recovering, v.reason, v.message)
	c.Flag(v1alpha1.ConditionStalled, v.stalled, v.reason, v.message)
	if o.problem != nil {
		c.Set(v1alpha1.ConditionAccepted, metav1.ConditionFalse, o.problem.Reason, o.problem.Message)
	} else {
		c.Set(v1alpha1.ConditionAccepted, metav1.ConditionTrue, v1alpha1.ReasonAccepted, "the spec can be acted upon")
	}
	setResolved(c, o)
	setConnected(c, o)
	setCatalogSynced(c, o)
	c.Flag(v1alpha1.ConditionToolsDropped, len(o.dropped) > 0, v1alpha1.ReasonInvalidTools,
		fmt.Sprintf("%d tools cannot be used and are left out: %s", len(o.dropped), names(o.dropped)))
}

func setResolved(c report.Conditions, o *observed) {
	invalid := 0
	for i := range o.servers {
		if o.servers[i].invalid {
			invalid++
		}
	}
	switch {
	case o.problem != nil:
		c.Set(v1alpha1.ConditionResolved, metav1.ConditionUnknown, v1alpha1.ReasonNotAccepted, "the spec is not accepted")
	case o.skipped > 0 || invalid > 0:
		c.Set(v1alpha1.ConditionResolved, metav1.ConditionFalse, v1alpha1.ReasonEntriesSkipped,
			fmt.Sprintf("%d entries lead nowhere; the others are used", o.skipped+invalid))
	default:
		c.Set(v1alpha1.ConditionResolved, metav1.ConditionTrue, v1alpha1.ReasonResolved, "every entry leads to a usable server")
	}
}

func setConnected(c report.Conditions, o *observed) {
	t := tally(o.servers)
	switch {
	case o.problem != nil:
		c.Set(v1alpha1.ConditionConnected, metav1.ConditionFalse, v1alpha1.ReasonNotAccepted, "the spec is not accepted")
	case o.suspended:
		c.Set(v1alpha1.ConditionConnected, metav1.ConditionFalse, v1alpha1.ReasonSuspended, "nothing is connected")
	case t.enabled == 0:
		c.Set(v1alpha1.ConditionConnected, metav1.ConditionFalse, v1alpha1.ReasonNoServers, "there is nothing to connect to")
	case len(t.down) > 0:
		c.Set(v1alpha1.ConditionConnected, metav1.ConditionFalse, v1alpha1.ReasonServersDown,
			fmt.Sprintf("%d of %d servers are connected; not: %s", t.serving, t.enabled, names(t.down)))
	default:
		c.Set(v1alpha1.ConditionConnected, metav1.ConditionTrue, v1alpha1.ReasonConnected,
			fmt.Sprintf("%d of %d servers are connected", t.serving, t.enabled))
	}
}

func setCatalogSynced(c report.Conditions, o *observed) {
	waiting, synced := []string{}, 0
	for i := range o.servers {
		s := &o.servers[i]
		if !s.serves() {
			continue
		}
		if s.synced {
			synced++
		} else {
			waiting = append(waiting, s.name)
		}
	}
	switch {
	case len(waiting) > 0:
		c.Set(v1alpha1.ConditionCatalogSynced, metav1.ConditionFalse, v1alpha1.ReasonListing,
			"tool lists are outstanding: "+names(waiting))
	case synced == 0:
		c.Set(v1alpha1.ConditionCatalogSynced, metav1.ConditionFalse, v1alpha1.ReasonNoServerServes, "no server has listed its tools")
	case len(o.unstored) > 0:
		c.Set(v1alpha1.ConditionCatalogSynced, metav1.ConditionFalse, v1alpha1.ReasonNotStored,
			"the tools are offered, and their descriptions stand nowhere but at the endpoint: "+some(o.unstored, 2))
	case o.listed < o.total:
		c.Set(v1alpha1.ConditionCatalogSynced, metav1.ConditionTrue, v1alpha1.ReasonListedInPart,
			fmt.Sprintf("%d of %d tools are named in status; all are in the ConfigMaps of status.catalog.chunks", o.listed, o.total))
	default:
		c.Set(v1alpha1.ConditionCatalogSynced, metav1.ConditionTrue, v1alpha1.ReasonSynced,
			fmt.Sprintf("%d tools are offered", o.total))
	}
}
