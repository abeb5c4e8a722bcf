// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TaskState is the protocol's word for how a task stands. Completed, Failed and Cancelled are final.
// +kubebuilder:validation:Enum=Working;InputRequired;Interrupted;Completed;Failed;Cancelled
type TaskState string

// The states of a task.
const (
	// TaskWorking: the server works on it.
	TaskWorking TaskState = "Working"
	// TaskInputRequired: the server waits for an answer; see the session's pendingInteractions.
	TaskInputRequired TaskState = "InputRequired"
	// TaskInterrupted: the connection is lost; the task goes on once it is back.
	TaskInterrupted TaskState = "Interrupted"
	// TaskCompleted: the tool returned a result.
	TaskCompleted TaskState = "Completed"
	// TaskFailed: there is no result, or it is an error, or the outcome is not known.
	TaskFailed TaskState = "Failed"
	// TaskCancelled: it was cancelled, or its session ended.
	TaskCancelled TaskState = "Cancelled"
)

// McpTaskStatus is what became of a call.
// +kubebuilder:validation:MinProperties=1
type McpTaskStatus struct {
	// conditions are Ready, Accepted; while it runs Reconciling; at the end Complete, or Failed and Stalled.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation of the spec that the status describes.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9007199254740991
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// id of the task, ours: mcp_task_ and a UID. The server's own id is shown to nobody.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^mcp_task_[A-Za-z0-9-]+$`
	ID string `json:"id,omitempty"`

	// handle is the server's own id and issuer, sealed for the operator.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9+/=._-]+$`
	Handle string `json:"handle,omitempty"`

	// state is the protocol's word for how the task stands; absent before the call is recorded.
	// +optional
	State TaskState `json:"state,omitempty"`

	// progress that the server reported last.
	// +optional
	Progress *TaskProgress `json:"progress,omitempty"`

	// startTime is when the call was recorded; it is sent afterwards.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// completionTime is when the task reached a final state.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`

	// execution is written before the call is sent. A call with this record is never sent again.
	// +optional
	Execution *TaskExecution `json:"execution,omitempty"`

	// result is a report of what the tool returned.
	// +optional
	Result *TaskResult `json:"result,omitempty"`

	// error is the protocol error that the server answered with, if it did.
	// +optional
	Error *TaskError `json:"error,omitempty"`
}

// TaskProgress is what a server reported of a running call.
type TaskProgress struct {
	// current is how much is done, as a decimal number, in the server's own unit.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$`
	Current string `json:"current,omitempty"`

	// total is how much there is, as a decimal number; absent when the server does not know.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$`
	Total string `json:"total,omitempty"`

	// percent that is done, rounded; 0 to 100, absent when there is no total.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Percent *int32 `json:"percent,omitempty"`

	// message of the server, cleaned and cut: untrusted.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1000
	Message string `json:"message,omitempty"`

	// updateTime is when it was reported.
	// +optional
	UpdateTime *metav1.Time `json:"updateTime,omitempty"`
}

// TaskExecution is the record that is written before a call is sent.
type TaskExecution struct {
	// holder is the operator process that sends the call.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9._-]+$`
	Holder string `json:"holder,omitempty"`

	// fence tells the records of one holder apart.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9007199254740991
	Fence int64 `json:"fence,omitempty"`

	// sessionUID is the session that the call is made in: one that was re-created is another.
	// +required
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9-]+$`
	SessionUID types.UID `json:"sessionUID,omitempty"`

	// server of the session that is called.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Server string `json:"server,omitempty"`

	// tool is the server's own name of the tool; at most 256 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Tool string `json:"tool,omitempty"`

	// recordedTime is when the record was made.
	// +required
	RecordedTime metav1.Time `json:"recordedTime,omitzero"` //nolint:kubeapilinter // a time has no bounds to declare
}

// Outcome says whether a tool reported success.
// +kubebuilder:validation:Enum=Success;ToolError
type Outcome string

// The outcomes.
const (
	// OutcomeSuccess: the tool reported no error.
	OutcomeSuccess Outcome = "Success"
	// OutcomeToolError: the tool reported an error of its own.
	OutcomeToolError Outcome = "ToolError"
)

// Truncation says whether a preview is the whole.
// +kubebuilder:validation:Enum=None;Cut
type Truncation string

// Whether a preview is the whole.
const (
	TruncationNone Truncation = "None"
	TruncationCut  Truncation = "Cut"
)

// TaskResult is a report of what a tool returned: cleaned and cut, without binary data.
type TaskResult struct {
	// outcome says whether the tool reported an error.
	// +required
	Outcome Outcome `json:"outcome,omitempty"`

	// preview is the beginning of the result as text; at most 16 KiB.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16384
	Preview string `json:"preview,omitempty"`

	// previewBytes is the preview's length in bytes of UTF-8.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16384
	PreviewBytes int32 `json:"previewBytes,omitempty"`

	// truncation is Cut when there is more than the preview shows, None otherwise.
	// +optional
	Truncation Truncation `json:"truncation,omitempty"`

	// contentCount is the number of content parts.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1073741824
	ContentCount int32 `json:"contentCount,omitempty"`

	// textBytes is the length of all text in bytes of UTF-8.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1073741824
	TextBytes int64 `json:"textBytes,omitempty"`

	// structuredBytes is the length of the structured content as JSON.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1073741824
	StructuredBytes int64 `json:"structuredBytes,omitempty"`

	// artifactCount is the number of artifacts, those that artifacts does not name included.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=256
	ArtifactCount int32 `json:"artifactCount,omitempty"`

	// artifacts are what the result holds beside the preview; read through the gateway. At most 64.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Artifacts []Artifact `json:"artifacts,omitempty"`
}

// ArtifactKind is what an artifact holds.
// +kubebuilder:validation:Enum=Text;Structured;Image;Audio;Resource
type ArtifactKind string

// The kinds of artifacts.
const (
	ArtifactText       ArtifactKind = "Text"
	ArtifactStructured ArtifactKind = "Structured"
	ArtifactImage      ArtifactKind = "Image"
	ArtifactAudio      ArtifactKind = "Audio"
	ArtifactResource   ArtifactKind = "Resource"
)

// Artifact is one stored part of a result.
type Artifact struct {
	// id by which it is read.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_-]+$`
	ID string `json:"id,omitempty"`

	// kind of the content.
	// +required
	Kind ArtifactKind `json:"kind,omitempty"`

	// mediaType of the content, such as image/png; what the server said, cut to 127 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=127
	// +kubebuilder:validation:Pattern=`^[ -%'-;=?-~]+$`
	MediaType string `json:"mediaType,omitempty"`

	// bytes of the content.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=67108864
	Bytes int64 `json:"bytes,omitempty"`
}

// TaskError is the protocol error that a server answered with.
type TaskError struct {
	// code of the JSON-RPC error.
	// +required
	// +kubebuilder:validation:Minimum=-2147483648
	// +kubebuilder:validation:Maximum=2147483647
	Code *int32 `json:"code,omitempty"`

	// message of the error, cleaned; at most 512 bytes.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}
