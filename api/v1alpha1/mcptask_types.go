// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// McpTask is one tool call that runs in the background, at most once. Like a Job it is Complete or Failed at the end, and
// what was asked cannot be changed. Re-creating it calls the tool again.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories=mooring,shortName=mcpt
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Session",type=string,JSONPath=`.spec.sessionRef.name`
// +kubebuilder:printcolumn:name="Tool",type=string,JSONPath=`.spec.tool`
// +kubebuilder:printcolumn:name="Progress",type=integer,priority=1,JSONPath=`.status.progress.percent`
// +kubebuilder:printcolumn:name="Completed",type=date,priority=1,JSONPath=`.status.completionTime`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$')",message="metadata.name: must be at most 63 lower-case letters, digits and dashes, and begin and end with a letter or digit"
type McpTask struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is the call.
	// +required
	Spec McpTaskSpec `json:"spec,omitzero"`

	// status is what became of it.
	// +optional
	Status McpTaskStatus `json:"status,omitzero"` //nolint:kubeapilinter // a kind holds its status by value
}

// McpTaskSpec is one tool call. Everything but cancel is frozen at creation.
// +kubebuilder:validation:XValidation:rule="self.sessionRef == oldSelf.sessionRef",message="sessionRef: may not be changed after creation; create another McpTask"
// +kubebuilder:validation:XValidation:rule="self.tool == oldSelf.tool",message="tool: may not be changed after creation; create another McpTask"
// +kubebuilder:validation:XValidation:rule="has(self.arguments) == has(oldSelf.arguments) && (!has(self.arguments) || self.arguments == oldSelf.arguments)",message="arguments: may not be changed, set or unset after creation; create another McpTask"
// +kubebuilder:validation:XValidation:rule="has(self.mode) == has(oldSelf.mode) && (!has(self.mode) || self.mode == oldSelf.mode)",message="mode: may not be changed after creation; create another McpTask"
// +kubebuilder:validation:XValidation:rule="has(self.ttlSeconds) == has(oldSelf.ttlSeconds) && (!has(self.ttlSeconds) || self.ttlSeconds == oldSelf.ttlSeconds)",message="ttlSeconds: may not be changed, set or unset after creation; create another McpTask"
// +kubebuilder:validation:XValidation:rule="has(self.lifetimeSeconds) == has(oldSelf.lifetimeSeconds) && (!has(self.lifetimeSeconds) || self.lifetimeSeconds == oldSelf.lifetimeSeconds)",message="lifetimeSeconds: may not be changed, set or unset after creation; create another McpTask"
// +kubebuilder:validation:XValidation:rule="has(self.ttlSecondsAfterFinished) == has(oldSelf.ttlSecondsAfterFinished) && (!has(self.ttlSecondsAfterFinished) || self.ttlSecondsAfterFinished == oldSelf.ttlSecondsAfterFinished)",message="ttlSecondsAfterFinished: may not be changed, set or unset after creation; create another McpTask"
// +kubebuilder:validation:XValidation:rule="has(self.cancel) || !has(oldSelf.cancel)",message="cancel: may not be unset; a cancellation cannot be taken back"
// +kubebuilder:validation:XValidation:rule="!has(self.ttlSeconds) || self.mode != 'Call'",message="ttlSeconds: may not be set when mode is 'Call'; only a task is kept by its server"
type McpTaskSpec struct {
	// sessionRef names the session whose tool is called. A session that does not exist yet is waited for.
	// +required
	SessionRef LocalMcpSessionReference `json:"sessionRef,omitzero"`

	// tool is the projected name, as in the session's status: mcp__server__tool.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_-]+$`
	Tool string `json:"tool,omitempty"`

	// arguments of the call: a JSON object, as a string. At most 262144 bytes of UTF-8, and no more than 786432 as it is
	// stored, where <, > and & take 6 bytes each. Absent, the tool is called with {}.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=262144
	// +kubebuilder:validation:XValidation:rule="bytes(self).size() <= 262144",message="arguments: must be at most 262144 bytes; pass larger data by reference"
	// +kubebuilder:validation:XValidation:rule="2 * bytes(self).size() + 4 * (3 * size(self) - size(self.replace('<', '')) - size(self.replace('>', '')) - size(self.replace('&', ''))) <= 786432",message="arguments: must be smaller as it is stored, where every <, > and & takes 6 bytes"
	// +kubebuilder:validation:XValidation:rule="self.trim().startsWith('{') && self.trim().endsWith('}')",message="arguments: must be a JSON object"
	// +kubebuilder:validation:XValidation:rule="!self.matches('[\\\\x00-\\\\x08\\\\x0b\\\\x0c\\\\x0e-\\\\x1f]')",message="arguments: may not hold control characters; escape them as JSON does"
	Arguments string `json:"arguments,omitempty"`

	// mode Task runs the tool as a background task of its server, Call as a plain call; Auto, the default, as a task where
	// the server offers one.
	// +optional
	// +default="Auto"
	Mode TaskMode `json:"mode,omitempty"`

	// ttlSeconds that the server is asked to keep a task for; 10 to 86400.
	// +optional
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=86400
	TTLSeconds int32 `json:"ttlSeconds,omitempty"`

	// lifetimeSeconds after creation the call must have ended, waiting for the session included; 10 to 86400, 1800 when
	// absent.
	// +optional
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=86400
	LifetimeSeconds int32 `json:"lifetimeSeconds,omitempty"`

	// ttlSecondsAfterFinished after it ended the McpTask is deleted; 0 to 31536000 (one year), never when absent. GitOps
	// that creates the object again runs the tool again.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=31536000
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`

	// cancel Requested ends the call. It may be set at any time and not be taken back.
	// +optional
	Cancel Cancel `json:"cancel,omitempty"`
}

// LocalMcpSessionReference names an McpSession of the object's own namespace.
// +structType=atomic
type LocalMcpSessionReference struct {
	// name of the McpSession.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`
}

// TaskMode is how a tool is run.
// +kubebuilder:validation:Enum=Auto;Task;Call
type TaskMode string

// The modes of a task.
const (
	// TaskModeAuto runs the tool as a task where the server offers one.
	TaskModeAuto TaskMode = "Auto"
	// TaskModeTask runs the tool as a task of its server.
	TaskModeTask TaskMode = "Task"
	// TaskModeCall runs the tool as a plain call.
	TaskModeCall TaskMode = "Call"
)

// Cancel asks for the end of a task.
// +kubebuilder:validation:Enum=Requested
type Cancel string

// CancelRequested asks for the end of a task.
const CancelRequested Cancel = "Requested"

// McpTaskList is a list of McpTasks.
// +kubebuilder:object:root=true
type McpTaskList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list's metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitzero"`
	// items of the list.
	Items []McpTask `json:"items"`
}
