// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/controller/chunks"
	"github.com/mooring-dev/mooring/internal/controller/definition"
	"github.com/mooring-dev/mooring/internal/controller/report"
	"github.com/mooring-dev/mooring/internal/mcp"
)

func serving(name string) observedServer {
	return observedServer{name: name, state: mcp.StateConnected, synced: true}
}

func in(name string, state mcp.State) observedServer { return observedServer{name: name, state: state} }

func first(name string) observedServer {
	return observedServer{name: name, state: mcp.StateConnecting, first: true}
}

func required(s observedServer) observedServer {
	s.required = true
	return s
}

// readyRows is the Ready table of design §3, row by row.
var readyRows = map[string]struct {
	observed observed
	want     string // the Ready condition, and Reconciling or Stalled
	kstatus  status.Status
}{
	"all servers serve":                 {observed{servers: []observedServer{serving("a"), serving("b")}}, "True Ready", status.CurrentStatus},
	"a disabled server is not missed":   {observed{servers: []observedServer{serving("a"), {name: "b", disabled: true, required: true}}}, "True Ready", status.CurrentStatus},
	"one is down, and being tried":      {observed{servers: []observedServer{serving("a"), in("b", mcp.StateReconnecting)}}, "True Degraded Reconciling", status.InProgressStatus},
	"one is down for good":              {observed{servers: []observedServer{serving("a"), in("b", mcp.StateFailed)}}, "True Degraded", status.CurrentStatus},
	"one wants authorization":           {observed{servers: []observedServer{serving("a"), in("b", mcp.StateAuthorizationRequired)}}, "True Degraded", status.CurrentStatus},
	"one has an invalid reference":      {observed{servers: []observedServer{serving("a"), {name: "b", invalid: true}}}, "True Degraded", status.CurrentStatus},
	"one entry is skipped":              {observed{servers: []observedServer{serving("a")}, skipped: 1}, "True Degraded", status.CurrentStatus},
	"one makes its first attempt":       {observed{servers: []observedServer{serving("a"), first("b")}}, "True Degraded Reconciling", status.InProgressStatus},
	"a required one is being tried":     {observed{servers: []observedServer{serving("a"), required(in("b", mcp.StateReconnecting))}}, "False RequiredServerDown Reconciling", status.InProgressStatus},
	"a required one failed":             {observed{servers: []observedServer{serving("a"), required(in("b", mcp.StateFailed))}}, "False RequiredServerDown Stalled", status.FailedStatus},
	"a required one is invalid":         {observed{servers: []observedServer{serving("a"), required(observedServer{name: "b", invalid: true})}}, "False RequiredServerDown Stalled", status.FailedStatus},
	"a required one is skipped":         {observed{servers: []observedServer{serving("a")}, skipped: 1, missing: []string{"b"}}, "False RequiredServerDown Stalled", status.FailedStatus},
	"the first attempts are under way":  {observed{servers: []observedServer{first("a"), first("b")}}, "Unknown Connecting Reconciling", status.InProgressStatus},
	"nothing was begun yet":             {observed{servers: []observedServer{{name: "a", state: mcp.StateIdle, first: true}}}, "Unknown Connecting Reconciling", status.InProgressStatus},
	"first attempt beside a failed one": {observed{servers: []observedServer{first("a"), in("b", mcp.StateFailed)}}, "Unknown Connecting Reconciling", status.InProgressStatus},
	"none serves, one is tried again":   {observed{servers: []observedServer{in("a", mcp.StateReconnecting), in("b", mcp.StateFailed)}}, "False NoServerServes Reconciling", status.InProgressStatus},
	"an attempt after a failure":        {observed{servers: []observedServer{in("a", mcp.StateConnecting)}}, "False NoServerServes Reconciling", status.InProgressStatus},
	"all rest in Failed":                {observed{servers: []observedServer{in("a", mcp.StateFailed), in("b", mcp.StateFailed)}}, "False NoServerServes Stalled", status.FailedStatus},
	"all want authorization":            {observed{servers: []observedServer{in("a", mcp.StateAuthorizationRequired)}}, "False NoServerServes Stalled", status.FailedStatus},
	"all are invalid":                   {observed{servers: []observedServer{{name: "a", invalid: true}}}, "False NoServerServes Stalled", status.FailedStatus},
	"suspended":                         {observed{suspended: true, servers: []observedServer{in("a", mcp.StateIdle)}}, "True Suspended", status.CurrentStatus},
	"suspended without servers":         {observed{suspended: true}, "True Suspended", status.CurrentStatus},
	"no servers":                        {observed{}, "False NoServers Stalled", status.FailedStatus},
	"unresolved":                        {observed{skipped: 2}, "False NoServers Stalled", status.FailedStatus},
	"all disabled":                      {observed{servers: []observedServer{{name: "a", disabled: true}}}, "False NoServers Stalled", status.FailedStatus},
	"not implemented":                   {observed{problem: &definition.Problem{Reason: v1alpha1.ReasonNotImplemented, Message: "spec.idle"}}, "False NotImplemented Stalled", status.FailedStatus},
	"invalid, and suspended": {
		observed{suspended: true, problem: &definition.Problem{Reason: v1alpha1.ReasonInvalidConfiguration, Message: "x"}},
		"False InvalidConfiguration Stalled", status.FailedStatus,
	},
}

func TestReadyTable(t *testing.T) {
	for name, row := range readyRows {
		t.Run(name, func(t *testing.T) {
			session := conditioned(&row.observed)
			checkConditions(t, session)
			if got := summary(session.Status.Conditions); got != row.want {
				t.Errorf("conditions: %q, want %q", got, row.want)
			}
			result, err := status.Compute(asUnstructured(t, session))
			if err != nil {
				t.Fatal(err)
			}
			if result.Status != row.kstatus {
				t.Errorf("kstatus: %s (%s), want %s", result.Status, result.Message, row.kstatus)
			}
		})
	}
}

// A transition from any row to any other leaves nothing of the first behind.
func TestReadyTableHasNoMemory(t *testing.T) {
	for from, a := range readyRows {
		for to, b := range readyRows {
			session := conditioned(&a.observed)
			setConditions(report.For(&session.Status.Conditions, session.Generation), &b.observed)
			if got := summary(session.Status.Conditions); got != b.want {
				t.Errorf("%s, then %s: %q, want %q", from, to, got, b.want)
			}
		}
	}
}

func conditioned(o *observed) *v1alpha1.McpSession {
	session := &v1alpha1.McpSession{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "McpSession"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s", Generation: 3},
	}
	session.Status.ObservedGeneration = session.Generation
	setConditions(report.For(&session.Status.Conditions, session.Generation), o)
	return session
}

// summary is Ready, and which of Reconciling and Stalled are True.
func summary(conditions []metav1.Condition) string {
	ready := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady)
	if ready == nil {
		return "no Ready"
	}
	s := fmt.Sprintf("%s %s", ready.Status, ready.Reason)
	for _, flag := range []string{v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled} {
		if meta.FindStatusCondition(conditions, flag) != nil {
			s += " " + flag
		}
	}
	return s
}

// checkConditions holds for the conditions of every session: what each one says, it says of this generation and with a
// reason, and Reconciling and Stalled exclude each other.
func checkConditions(t *testing.T, session *v1alpha1.McpSession) {
	t.Helper()
	for _, want := range []string{
		v1alpha1.ConditionReady, v1alpha1.ConditionAccepted, v1alpha1.ConditionResolved,
		v1alpha1.ConditionConnected, v1alpha1.ConditionCatalogSynced,
	} {
		if meta.FindStatusCondition(session.Status.Conditions, want) == nil {
			t.Errorf("no condition %s", want)
		}
	}
	for _, c := range session.Status.Conditions {
		if c.Reason == "" || c.Message == "" || c.ObservedGeneration != session.Generation || c.LastTransitionTime.IsZero() {
			t.Errorf("condition is not whole: %+v", c)
		}
	}
	if meta.IsStatusConditionTrue(session.Status.Conditions, v1alpha1.ConditionReconciling) &&
		meta.IsStatusConditionTrue(session.Status.Conditions, v1alpha1.ConditionStalled) {
		t.Error("both Reconciling and Stalled")
	}
}

func asUnstructured(t *testing.T, object runtime.Object) *unstructured.Unstructured {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: content}
}

func TestOtherConditions(t *testing.T) {
	listing := observedServer{name: "b", state: mcp.StateConnected}
	problem := &definition.Problem{Reason: v1alpha1.ReasonNotImplemented, Message: "spec.idle"}
	for name, row := range map[string]struct {
		observed observed
		want     map[string]string
	}{
		"synced": {observed{servers: []observedServer{serving("a")}, listed: 2, total: 2}, map[string]string{
			"Accepted": "True Accepted", "Resolved": "True Resolved", "Connected": "True Connected", "CatalogSynced": "True Synced",
		}},
		"a list is outstanding": {observed{servers: []observedServer{serving("a"), listing}, listed: 1, total: 2}, map[string]string{
			"Connected": "True Connected", "CatalogSynced": "False Listing",
		}},
		"listed in part": {observed{servers: []observedServer{serving("a")}, listed: 1, total: 2}, map[string]string{
			"CatalogSynced": "True ListedInPart",
		}},
		"not stored": {observed{servers: []observedServer{serving("a")}, listed: 1, total: 2, unstored: []string{"a (why)"}}, map[string]string{
			"Ready": "True Ready", "CatalogSynced": "False NotStored",
		}},
		"nobody listed": {observed{servers: []observedServer{in("a", mcp.StateFailed)}}, map[string]string{
			"Connected": "False ServersDown", "CatalogSynced": "False NoServerServes",
		}},
		"dropped tools": {observed{servers: []observedServer{serving("a")}, dropped: []string{"x of a (y)"}}, map[string]string{
			"ToolsDropped": "True InvalidTools",
		}},
		"no dropped tools": {observed{servers: []observedServer{serving("a")}}, map[string]string{"ToolsDropped": ""}},
		"skipped":          {observed{servers: []observedServer{serving("a")}, skipped: 1}, map[string]string{"Resolved": "False EntriesSkipped"}},
		"invalid": {observed{servers: []observedServer{{name: "a", invalid: true}}}, map[string]string{
			"Resolved": "False EntriesSkipped", "Connected": "False ServersDown",
		}},
		"suspended":  {observed{suspended: true, servers: []observedServer{in("a", mcp.StateIdle)}}, map[string]string{"Connected": "False Suspended", "Resolved": "True Resolved"}},
		"no servers": {observed{}, map[string]string{"Connected": "False NoServers", "Resolved": "True Resolved"}},
		"not accepted": {observed{problem: problem}, map[string]string{
			"Accepted": "False NotImplemented", "Resolved": "Unknown NotAccepted", "Connected": "False NotAccepted",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got := map[string]string{}
			for condition := range row.want {
				got[condition] = ""
				if c := meta.FindStatusCondition(conditioned(&row.observed).Status.Conditions, condition); c != nil {
					got[condition] = string(c.Status) + " " + c.Reason
				}
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Messages name a few and stay short, whatever the session holds.
func TestMessagesAreBounded(t *testing.T) {
	o := observed{skipped: 64}
	for i := range 64 {
		name := strings.Repeat("n", 63)
		o.servers = append(o.servers, serving(name))
		o.unstored = append(o.unstored, fmt.Sprintf("%s (%v: %s-%020d-1)", name, chunks.ErrForeign, name, i))
		o.servers = append(o.servers, in(fmt.Sprintf("%063d", i), mcp.StateFailed))
		o.dropped = append(o.dropped, fmt.Sprintf("%064d of %063d (reason)", i, i))
	}
	for _, c := range conditioned(&o).Status.Conditions {
		if len(c.Message) > v1alpha1.MessageBytes {
			t.Errorf("%s: a message of %d bytes", c.Type, len(c.Message))
		}
	}
	if got, want := names([]string{"a", "b", "c", "d", "e", "f", "g"}), "a, b, c, d, e and 2 more"; got != want {
		t.Errorf("names: %q, want %q", got, want)
	}
}
