// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/controller/report"
	"github.com/mooring-dev/mooring/internal/mcp"
	"github.com/mooring-dev/mooring/internal/mcp/catalog"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

func newTask() *v1alpha1.McpTask {
	return &v1alpha1.McpTask{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "McpTask"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "t", UID: "task", Generation: 2, CreationTimestamp: metav1.Now()},
	}
}

func TestReadyTable(t *testing.T) {
	const accepted = "Accepted True Accepted"
	for name, row := range map[string]struct {
		verdict func(*v1alpha1.McpTask) verdict
		want    []string
		kstatus status.Status
	}{
		"waiting": {
			func(*v1alpha1.McpTask) verdict { return waiting(v1alpha1.ReasonSessionNotFound, "m") },
			[]string{"Ready Unknown SessionNotFound", "Reconciling True SessionNotFound", accepted},
			status.InProgressStatus,
		},
		"running": {
			func(*v1alpha1.McpTask) verdict { return running() },
			[]string{"Ready Unknown Running", "Reconciling True Running", accepted},
			status.InProgressStatus,
		},
		"completed": {func(task *v1alpha1.McpTask) verdict {
			return end(task, v1alpha1.TaskCompleted, v1alpha1.ReasonCompleted, "m")
		}, []string{"Ready True Completed", "Complete True Completed", accepted}, status.CurrentStatus},
		"failed": {func(task *v1alpha1.McpTask) verdict {
			return end(task, v1alpha1.TaskFailed, v1alpha1.ReasonOutcomeUnknown, "m")
		}, []string{"Ready False OutcomeUnknown", "Failed True OutcomeUnknown", "Stalled True OutcomeUnknown", accepted}, status.FailedStatus},
		"cancelled": {func(task *v1alpha1.McpTask) verdict {
			return end(task, v1alpha1.TaskCancelled, v1alpha1.ReasonCancelRequested, "m")
		}, []string{"Ready False CancelRequested", "Failed True CancelRequested", "Stalled True CancelRequested", accepted}, status.FailedStatus},
		"not implemented": {func(task *v1alpha1.McpTask) verdict {
			return end(task, v1alpha1.TaskFailed, v1alpha1.ReasonNotImplemented, "m")
		}, []string{
			"Ready False NotImplemented", "Failed True NotImplemented", "Stalled True NotImplemented", "Accepted False NotImplemented",
		}, status.FailedStatus},
	} {
		t.Run(name, func(t *testing.T) {
			task := newTask()
			task.Status.ObservedGeneration = task.Generation
			// Whatever came before leaves nothing behind.
			setConditions(report.For(&task.Status.Conditions, 1), &task.Status, running())
			setConditions(report.For(&task.Status.Conditions, task.Generation), &task.Status, row.verdict(task))
			got := map[string]bool{}
			for _, c := range task.Status.Conditions {
				got[c.Type+" "+string(c.Status)+" "+c.Reason] = true
				if c.ObservedGeneration != task.Generation || c.Message == "" {
					t.Errorf("condition is not whole: %+v", c)
				}
			}
			want := map[string]bool{}
			for _, c := range row.want {
				want[c] = true
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(task)
			if err != nil {
				t.Fatal(err)
			}
			result, err := status.Compute(&unstructured.Unstructured{Object: content})
			if err != nil || result.Status != row.kstatus {
				t.Errorf("kstatus: %+v, %v; want %s", result, err, row.kstatus)
			}
			if terminal(task) != (row.kstatus != status.InProgressStatus) {
				t.Errorf("terminal: %v", terminal(task))
			}
		})
	}
}

func TestConclude(t *testing.T) {
	failed := func(err mcp.CallError, cause error) outcome { return outcome{err: &err, cause: cause} }
	answered := func(result string) outcome { return outcome{result: &mcp.CallResult{Result: json.RawMessage(result)}} }
	rpc := &wire.Error{Code: -32602, Message: "no \x1b[31msuch"}
	for name, row := range map[string]struct {
		outcome outcome
		want    string // state, reason, and a part of the message
	}{
		"result":                         {answered(`{"content":[{"type":"text","text":"hello"}]}`), "Completed/Completed |a result"},
		"tool error":                     {answered(`{"content":[],"isError":true}`), "Failed/ToolError |status.result"},
		"no result":                      {answered(`{"contents":1}`), "Failed/InvalidResult |"},
		"protocol error":                 {failed(mcp.CallError{Reason: mcp.CallRPCError, Sent: true, Answered: true, Err: rpc}, nil), "Failed/ServerError |error -32602"},
		"never sent":                     {failed(mcp.CallError{Reason: mcp.CallNotConnected}, nil), "Failed/ServerNotConnected |not made"},
		"too many":                       {failed(mcp.CallError{Reason: mcp.CallTooMany}, nil), "Failed/TooManyCalls |not made"},
		"connection lost before":         {failed(mcp.CallError{Reason: mcp.CallConnectionLost}, nil), "Failed/ServerNotConnected |before the call was sent"},
		"connection lost after":          {failed(mcp.CallError{Reason: mcp.CallConnectionLost, Sent: true}, nil), "Failed/OutcomeUnknown |not sent again"},
		"rejected":                       {failed(mcp.CallError{Reason: mcp.CallRejected, Sent: true, Answered: true}, nil), "Failed/Rejected |"},
		"timeout":                        {failed(mcp.CallError{Reason: mcp.CallTimeout, Sent: true}, nil), "Failed/Timeout |may have taken effect"},
		"idle timeout":                   {failed(mcp.CallError{Reason: mcp.CallIdle, Sent: true}, nil), "Failed/IdleTimeout |may have taken effect"},
		"lifetime":                       {failed(mcp.CallError{Reason: mcp.CallAborted, Sent: true}, errLifetime), "Failed/Timeout |may have taken effect"},
		"lifetime, unsent":               {failed(mcp.CallError{Reason: mcp.CallAborted}, errLifetime), "Failed/LifetimeExceeded |before"},
		"cancelled, unsent":              {failed(mcp.CallError{Reason: mcp.CallAborted}, errCancelRequested), "Cancelled/CancelRequested |before the call was sent"},
		"cancelled":                      {failed(mcp.CallError{Reason: mcp.CallAborted, Sent: true}, errCancelRequested), "Cancelled/CancelRequested |may have taken effect"},
		"deleted":                        {failed(mcp.CallError{Reason: mcp.CallAborted, Sent: true}, errTaskDeleted), "Cancelled/CancelRequested |may have taken effect"},
		"session gone before":            {failed(mcp.CallError{Reason: mcp.CallSessionNotFound}, nil), "Cancelled/SessionDeleted |before the call was sent"},
		"session gone while it ran":      {failed(mcp.CallError{Reason: mcp.CallAborted, Sent: true}, nil), "Cancelled/SessionDeleted |may have taken effect"},
		"the process ends":               {failed(mcp.CallError{Reason: mcp.CallAborted, Sent: true}, errors.New("stopped")), "Failed/OutcomeUnknown |not sent again"},
		"an error of no class":           {outcome{err: errors.New("s3cret")}, "Failed/OutcomeUnknown |not sent again"},
		"cancelled, and answered before": {outcome{result: &mcp.CallResult{Result: json.RawMessage(`{"content":[]}`)}, cause: errCancelRequested}, "Completed/Completed |"},
	} {
		t.Run(name, func(t *testing.T) {
			task := newTask()
			v := conclude(task, &row.outcome)
			want, part, _ := strings.Cut(row.want, "|")
			if got := string(task.Status.State) + "/" + v.reason + " "; got != want || !strings.Contains(v.message, part) {
				t.Errorf("%s%q, want %s", got, v.message, row.want)
			}
			if !terminal(task) || task.Status.CompletionTime == nil {
				t.Error("not terminal")
			}
			if strings.ContainsAny(v.message, "\x1b") || strings.Contains(v.message, "s3cret") || len(v.message) > v1alpha1.MessageBytes {
				t.Errorf("message %q", v.message)
			}
		})
	}
}

func TestResultReport(t *testing.T) {
	task := newTask()
	long := strings.Repeat("<", v1alpha1.ResultPreviewBytes)
	result := `{"content":[{"type":"text","text":"` + long + `"},{"type":"text","text":"b"}],"structuredContent":{"a":1}}`
	conclude(task, &outcome{result: &mcp.CallResult{Result: json.RawMessage(result)}})
	r := task.Status.Result
	if r.Truncation != v1alpha1.TruncationCut || r.ContentCount != 2 || r.TextBytes != int64(len(long)+1) || r.StructuredBytes != 7 ||
		r.Outcome != v1alpha1.OutcomeSuccess {
		t.Errorf("%+v", r)
	}
	if encoded, err := json.Marshal(r.Preview); err != nil || len(encoded) > v1alpha1.ResultPreviewBytes+2 {
		t.Errorf("the preview is stored in %d bytes, %v", len(encoded), err)
	}
}

func TestFind(t *testing.T) {
	offers := func(name, support string) *catalog.Projection {
		return catalog.Project([]catalog.ServerTools{{Server: "s", Catalog: &catalog.Catalog{Tools: []*catalog.Tool{
			{Name: name, Raw: json.RawMessage(`{"name":"` + name + `"}`), TaskSupport: support},
		}}}}, catalog.Filter{})
	}
	listed := mcp.ServerSnapshot{Name: "s", State: mcp.StateConnected, Tools: &catalog.Catalog{}}
	with := func(change func(*mcp.ServerSnapshot)) mcp.ServerSnapshot {
		s := listed
		change(&s)
		return s
	}
	for name, row := range map[string]struct {
		snapshot   *mcp.Snapshot
		unresolved bool
		want       string // reason, and whether it is final, or soon over; empty: found
	}{
		"no session":       {nil, false, "WaitingForSession"},
		"no projection":    {&mcp.Snapshot{}, false, "WaitingForSession"},
		"found":            {&mcp.Snapshot{Projection: offers("echo", ""), Servers: []mcp.ServerSnapshot{listed}}, false, ""},
		"found meanwhile":  {&mcp.Snapshot{Projection: offers("echo", "optional"), Servers: []mcp.ServerSnapshot{listed}}, true, ""},
		"a task only":      {&mcp.Snapshot{Projection: offers("echo", "required"), Servers: []mcp.ServerSnapshot{listed}}, false, "NotImplemented final"},
		"no such tool":     {&mcp.Snapshot{Projection: offers("other", ""), Servers: []mcp.ServerSnapshot{listed}}, false, "ToolNotFound final"},
		"a server is away": {&mcp.Snapshot{Projection: offers("other", ""), Servers: []mcp.ServerSnapshot{listed, {State: mcp.StateReconnecting}}}, false, "WaitingForSession"},
		"not listed yet": {&mcp.Snapshot{Projection: offers("other", ""), Servers: []mcp.ServerSnapshot{
			with(func(s *mcp.ServerSnapshot) { s.Tools = nil }),
		}}, false, "WaitingForSession"},
		"listing anew": {&mcp.Snapshot{Projection: offers("other", ""), Servers: []mcp.ServerSnapshot{
			with(func(s *mcp.ServerSnapshot) { s.Pending = true }),
		}}, false, "WaitingForSession soon"},
		"a server is not there yet":  {&mcp.Snapshot{Projection: offers("other", ""), Servers: []mcp.ServerSnapshot{listed}}, true, "WaitingForSession"},
		"suspended, or all disabled": {&mcp.Snapshot{Projection: offers("other", "")}, false, "WaitingForSession"},
	} {
		t.Run(name, func(t *testing.T) {
			tool, why := find(row.snapshot, !row.unresolved, "mcp__s__echo")
			got := ""
			if why != nil {
				got = why.reason
				if why.final {
					got += " final"
				}
				if why.soon {
					got += " soon"
				}
			} else if tool == nil || tool.Tool.Name != "echo" {
				t.Errorf("found %+v", tool)
			}
			if got != row.want {
				t.Errorf("%q, want %q", got, row.want)
			}
		})
	}
}

func TestResolved(t *testing.T) {
	for name, row := range map[string]struct {
		conditions []metav1.Condition
		want       bool
	}{
		"never seen":   {nil, false},
		"resolved":     {[]metav1.Condition{{Type: "Resolved", Status: "True", ObservedGeneration: 2}}, true},
		"another spec": {[]metav1.Condition{{Type: "Resolved", Status: "True", ObservedGeneration: 1}}, false},
		"skipped":      {[]metav1.Condition{{Type: "Resolved", Status: "False", ObservedGeneration: 2}}, false},
	} {
		session := &v1alpha1.McpSession{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
		session.Status.Conditions = row.conditions
		if got := resolved(session); got != row.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestLifetimeEnd(t *testing.T) {
	task := newTask()
	if got := lifetimeEnd(task).Sub(task.CreationTimestamp.Time); got != 30*time.Minute {
		t.Errorf("by default %v", got)
	}
	task.Spec.LifetimeSeconds = 10
	if got := lifetimeEnd(task).Sub(task.CreationTimestamp.Time); got != 10*time.Second {
		t.Errorf("%v, want 10 s", got)
	}
}
