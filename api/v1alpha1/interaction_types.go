// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Surface says who answers a server's questions.
// +kubebuilder:validation:Enum=None;Agent;Human
type Surface string

// The surfaces.
const (
	// SurfaceNone cancels every question.
	SurfaceNone Surface = "None"
	// SurfaceAgent asks the connected agent, if it declares that it answers.
	SurfaceAgent Surface = "Agent"
	// SurfaceHuman waits for a person's answer through the management API.
	SurfaceHuman Surface = "Human"
)

// SessionInteraction says who answers when a server asks a question.
// +kubebuilder:validation:MinProperties=1
type SessionInteraction struct {
	// surface says who answers: None (default), Agent or Human.
	// +optional
	// +default="None"
	Surface Surface `json:"surface,omitempty"`

	// timeoutSeconds that a question waits for its answer; 1 to 86400, 900 when absent.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`

	// concurrency is the number of questions that may wait at a time; 1 to 32, 32 when absent.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=32
	Concurrency int32 `json:"concurrency,omitempty"`

	// hooks are asked before people are shown a question, or before an answer is sent; at most 4, in this order.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	Hooks []Hook `json:"hooks,omitempty"`
}

// HookEvent is when a hook is asked.
// +kubebuilder:validation:Enum=BeforeShow;BeforeAnswer
type HookEvent string

// The events of hooks.
const (
	// HookBeforeShow asks before a question is shown: the hook may answer it, or decline.
	HookBeforeShow HookEvent = "BeforeShow"
	// HookBeforeAnswer asks before an answer is sent: the hook may replace it, or cancel.
	HookBeforeAnswer HookEvent = "BeforeAnswer"
)

// FailurePolicy says what a hook that does not answer means.
// +kubebuilder:validation:Enum=Fail;Ignore
type FailurePolicy string

// The failure policies.
const (
	// FailurePolicyFail cancels the question.
	FailurePolicyFail FailurePolicy = "Fail"
	// FailurePolicyIgnore goes on as if there were no hook.
	FailurePolicyIgnore FailurePolicy = "Ignore"
)

// Hook is a webhook that sees a server's questions.
type Hook struct {
	// name of the hook; at most 63 lower-case letters, digits and dashes.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`

	// url of the hook: https, with a host, without user information and fragment; at most 1024 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^[!-~]+$`
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() == 'https' && url(self).getHostname() != '' && !self.contains('@') && !self.contains('#')",message="url: must be an https URL with a host, without user information and fragment"
	URL string `json:"url,omitempty"`

	// events say when the hook is asked.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	Events []HookEvent `json:"events,omitempty"`

	// timeoutSeconds of one request; 1 to 30, 10 when absent.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=30
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`

	// failurePolicy says what no answer means: Fail cancels the question, Ignore goes on. Fail when absent.
	// +optional
	FailurePolicy FailurePolicy `json:"failurePolicy,omitempty"`

	// signingKeyRef names the key that request bodies are signed with.
	// +required
	SigningKeyRef SecretKeyReference `json:"signingKeyRef,omitzero"`

	// caBundle holds certificates that replace the system's in verifying the hook.
	// +optional
	CABundle *CABundleReference `json:"caBundle,omitempty"`
}
