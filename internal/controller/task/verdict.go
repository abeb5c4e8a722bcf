// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"errors"
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/controller/report"
	"github.com/mooring-dev/mooring/internal/mcp"
	"github.com/mooring-dev/mooring/internal/mcp/catalog"
	"github.com/mooring-dev/mooring/internal/mcp/clean"
	"github.com/mooring-dev/mooring/internal/mcp/result"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// verdict is the summary that a task's conditions are read from: as a Job's.
type verdict struct {
	ready   metav1.ConditionStatus
	reason  string
	message string
}

func running() verdict {
	return verdict{ready: metav1.ConditionUnknown, reason: v1alpha1.ReasonRunning, message: "the call is under way"}
}

func waiting(reason, message string) verdict {
	return verdict{ready: metav1.ConditionUnknown, reason: reason, message: message}
}

// end makes the task terminal.
func end(task *v1alpha1.McpTask, state v1alpha1.TaskState, reason, message string) verdict {
	now := metav1.Now().Rfc3339Copy()
	task.Status.State = state
	task.Status.CompletionTime = &now
	v := verdict{ready: metav1.ConditionFalse, reason: reason, message: message}
	if state == v1alpha1.TaskCompleted {
		v.ready = metav1.ConditionTrue
	}
	return v
}

func terminal(task *v1alpha1.McpTask) bool {
	switch task.Status.State {
	case v1alpha1.TaskCompleted, v1alpha1.TaskFailed, v1alpha1.TaskCancelled:
		return true
	default:
		return false
	}
}

func setConditions(c report.Conditions, status *v1alpha1.McpTaskStatus, v verdict) {
	c.Set(v1alpha1.ConditionReady, v.ready, v.reason, v.message)
	done := status.CompletionTime != nil
	c.Flag(v1alpha1.ConditionReconciling, !done, v.reason, v.message)
	c.Flag(v1alpha1.ConditionComplete, done && v.ready == metav1.ConditionTrue, v.reason, v.message)
	c.Flag(v1alpha1.ConditionFailed, done && v.ready == metav1.ConditionFalse, v.reason, v.message)
	c.Flag(v1alpha1.ConditionStalled, done && v.ready == metav1.ConditionFalse, v.reason, v.message)
	if v.reason == v1alpha1.ReasonNotImplemented || v.reason == v1alpha1.ReasonInvalidArguments {
		c.Set(v1alpha1.ConditionAccepted, metav1.ConditionFalse, v.reason, v.message)
	} else {
		c.Set(v1alpha1.ConditionAccepted, metav1.ConditionTrue, v1alpha1.ReasonAccepted, "the spec can be acted upon")
	}
}

// obstacle is why a call cannot be made now, or at all.
type obstacle struct {
	reason, message string
	final           bool
	// soon says that it may be gone without a change of the session's status to wake the task.
	soon bool
}

// resolved reports whether the session's servers are all known: nothing that its spec names is missing.
func resolved(session *v1alpha1.McpSession) bool {
	c := meta.FindStatusCondition(session.Status.Conditions, v1alpha1.ConditionResolved)
	return c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == session.Generation
}

// find looks for a tool that may be called now. While a server of the session is away, or not known yet, it may be the
// one that has the tool: the task waits, for its lifetime at most. When all of them have listed, nothing will bring it.
func find(snapshot *mcp.Snapshot, resolved bool, name string) (*catalog.ProjectedTool, *obstacle) {
	if snapshot == nil || snapshot.Projection == nil {
		return nil, &obstacle{reason: v1alpha1.ReasonWaitingForSession, message: "the session has listed no tools yet"}
	}
	tool, ok := snapshot.Projection.Lookup(name)
	switch {
	case ok && tool.Tool.TaskSupport == taskRequired:
		return tool, &obstacle{
			reason: v1alpha1.ReasonNotImplemented, final: true,
			message: "the tool runs as a task only, which is not implemented yet",
		}
	case ok:
		return tool, nil
	}
	if !resolved || len(snapshot.Servers) == 0 {
		return tool, &obstacle{reason: v1alpha1.ReasonWaitingForSession, message: "not every server of the session is there and enabled"}
	}
	return tool, missing(snapshot)
}

// missing says why no server of the session offers a tool.
func missing(snapshot *mcp.Snapshot) *obstacle {
	for i := range snapshot.Servers {
		if s := &snapshot.Servers[i]; s.State != mcp.StateConnected || s.Tools == nil {
			return &obstacle{reason: v1alpha1.ReasonWaitingForSession, message: "not every server of the session has listed its tools"}
		}
		if snapshot.Servers[i].Pending {
			return &obstacle{reason: v1alpha1.ReasonWaitingForSession, message: "a server of the session lists its tools anew", soon: true}
		}
	}
	return &obstacle{reason: v1alpha1.ReasonToolNotFound, final: true, message: "the session offers no tool of this name"}
}

const taskRequired = "required"

// conclude writes down how a call ended.
func conclude(task *v1alpha1.McpTask, o *outcome) verdict {
	if o.err != nil {
		return concludeError(task, o)
	}
	summary, err := result.Summarize(o.result.Result, v1alpha1.ResultPreviewBytes)
	if err != nil {
		return end(task, v1alpha1.TaskFailed, v1alpha1.ReasonInvalidResult, "the server answered with something that is no tool result")
	}
	r := &v1alpha1.TaskResult{
		Outcome: v1alpha1.OutcomeSuccess, Preview: summary.Preview, Truncation: v1alpha1.TruncationNone,
		ContentCount: int32(min(summary.Parts, 1<<30)), TextBytes: int64(summary.TextBytes), //nolint:gosec // bounded here
		StructuredBytes: int64(summary.StructuredBytes),
	}
	if summary.Truncated {
		r.Truncation = v1alpha1.TruncationCut
	}
	describeArtifacts(r, o.result.Report)
	task.Status.Result = r
	if summary.IsError {
		r.Outcome = v1alpha1.OutcomeToolError
		return end(task, v1alpha1.TaskFailed, v1alpha1.ReasonToolError, "the tool reported an error; see status.result")
	}
	return end(task, v1alpha1.TaskCompleted, v1alpha1.ReasonCompleted, "the tool returned a result")
}

// artifactKinds turns the report's words into the API's.
var artifactKinds = map[string]v1alpha1.ArtifactKind{
	result.KindText: v1alpha1.ArtifactText, result.KindImage: v1alpha1.ArtifactImage,
	result.KindAudio: v1alpha1.ArtifactAudio, result.KindResource: v1alpha1.ArtifactResource,
}

// mediaType is what the API takes for one.
var mediaType = regexp.MustCompile(`^[ -%'-;=?-~]{1,127}$`) //nolint:gocritic // all of ASCII but &, < and >

// describeArtifacts names what of a result was stored. A result that breaks the bounds of a report has none.
func describeArtifacts(r *v1alpha1.TaskResult, report *result.Projected) {
	if report == nil {
		return
	}
	r.ArtifactCount = int32(min(report.Metadata.ArtifactCount, 256)) //nolint:gosec // bounded here
	for i := range report.Metadata.Artifacts {
		artifact := &report.Metadata.Artifacts[i]
		if !artifact.Persisted || len(r.Artifacts) == maxArtifacts {
			continue
		}
		named := v1alpha1.Artifact{ID: artifact.ID, Kind: artifactKinds[artifact.Kind], Bytes: artifact.Size}
		if mediaType.MatchString(artifact.MimeType) {
			named.MediaType = artifact.MimeType
		}
		r.Artifacts = append(r.Artifacts, named)
	}
}

// maxArtifacts bounds the artifacts that a status names.
const maxArtifacts = 64

func concludeError(task *v1alpha1.McpTask, o *outcome) verdict {
	var callErr *mcp.CallError
	if !errors.As(o.err, &callErr) {
		callErr = &mcp.CallError{Reason: mcp.CallConnectionLost, Sent: true} // nothing is known of it
	}
	switch {
	case errors.Is(o.cause, errCancelRequested), errors.Is(o.cause, errTaskDeleted):
		return end(task, v1alpha1.TaskCancelled, v1alpha1.ReasonCancelRequested, "cancelled "+whileSent(callErr))
	case callErr.Reason == mcp.CallSessionNotFound, callErr.Reason == mcp.CallAborted && o.cause == nil:
		// We did not end it, so its session did.
		return end(task, v1alpha1.TaskCancelled, v1alpha1.ReasonSessionDeleted, "the session ended "+whileSent(callErr))
	case callErr.OutcomeUnknown():
		return concludeUnknown(task, callErr, o.cause)
	case errors.Is(o.cause, errLifetime):
		return end(task, v1alpha1.TaskFailed, v1alpha1.ReasonLifetimeExceeded, "spec.lifetimeSeconds ended "+whileSent(callErr))
	case callErr.Reason == mcp.CallConnectionLost, callErr.Reason == mcp.CallAborted:
		return end(task, v1alpha1.TaskFailed, v1alpha1.ReasonServerNotConnected, "the connection was lost "+whileSent(callErr))
	}
	return end(task, v1alpha1.TaskFailed, string(callErr.Reason), errorMessage(callErr))
}

// whileSent says what a call that was ended may have done.
func whileSent(err *mcp.CallError) string {
	if err.OutcomeUnknown() {
		return "while the server worked on the call: it may have taken effect"
	}
	return "before the call was sent"
}

// concludeUnknown ends a call that may have taken effect.
func concludeUnknown(task *v1alpha1.McpTask, err *mcp.CallError, cause error) verdict {
	const unknown = ": the call may have taken effect, and is not sent again"
	switch {
	case err.Reason == mcp.CallTimeout, errors.Is(cause, errLifetime):
		return end(task, v1alpha1.TaskFailed, v1alpha1.ReasonTimeout, "no answer in time"+unknown)
	case err.Reason == mcp.CallIdle:
		return end(task, v1alpha1.TaskFailed, v1alpha1.ReasonIdleTimeout, "neither progress nor an answer for too long"+unknown)
	case err.Reason == mcp.CallRejected:
		return end(task, v1alpha1.TaskFailed, v1alpha1.ReasonOutcomeUnknown, "the server's answer cannot be read"+unknown)
	}
	return end(task, v1alpha1.TaskFailed, v1alpha1.ReasonOutcomeUnknown, "the connection was lost before an answer came"+unknown)
}

func errorMessage(err *mcp.CallError) string {
	var rpc *wire.Error
	if errors.As(err, &rpc) {
		return clean.Text(fmt.Sprintf("the server answered with error %d: %s", rpc.Code, rpc.Message), v1alpha1.MessageBytes/6)
	}
	return "the call was not made: " + string(err.Reason)
}
