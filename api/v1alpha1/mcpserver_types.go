// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// McpServer says how to reach one MCP server and what it may do. It holds no connection: each session that uses it gets
// its own.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories=mooring,shortName=mcpsrv
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Transport",type=string,JSONPath=`.spec.transport.type`
// +kubebuilder:printcolumn:name="Sessions",type=integer,JSONPath=`.status.sessions`
// +kubebuilder:printcolumn:name="URL",type=string,priority=1,JSONPath=`.spec.transport.streamableHTTP.url`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$')",message="metadata.name: must be at most 63 lower-case letters, digits and dashes, and begin and end with a letter or digit"
type McpServer struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is the definition.
	// +required
	Spec McpServerSpec `json:"spec,omitzero"`

	// status is what was observed.
	// +optional
	Status McpServerStatus `json:"status,omitzero"` //nolint:kubeapilinter // a kind holds its status by value
}

// McpServerSpec is the definition of a server.
// +kubebuilder:validation:XValidation:rule="!has(self.oauth) || self.transport.type != 'Stdio'",message="oauth: may not be set when transport.type is 'Stdio'"
// +kubebuilder:validation:XValidation:rule="!has(self.oauth) || !has(self.transport.streamableHTTP) || !has(self.transport.streamableHTTP.headers) || !self.transport.streamableHTTP.headers.exists(h, h.name.lowerAscii() == 'authorization')",message="oauth: may not be set beside a header 'Authorization' in transport.streamableHTTP.headers; remove one of them"
// +kubebuilder:validation:XValidation:rule="!has(self.oauth) || !has(self.transport.sse) || !has(self.transport.sse.headers) || !self.transport.sse.headers.exists(h, h.name.lowerAscii() == 'authorization')",message="oauth: may not be set beside a header 'Authorization' in transport.sse.headers; remove one of them"
// +kubebuilder:validation:XValidation:rule="!has(self.oauth) || !has(self.transport.streamableHTTP) || self.transport.streamableHTTP.url.matches('^(?i)(https://|http://(127[.]0[.]0[.]1|localhost|[[]::1[]])([:/?]|$))')",message="oauth: may be set only with an https transport.streamableHTTP.url, or http to 127.0.0.1, [::1] or localhost"
// +kubebuilder:validation:XValidation:rule="!has(self.oauth) || !has(self.transport.sse) || self.transport.sse.url.matches('^(?i)(https://|http://(127[.]0[.]0[.]1|localhost|[[]::1[]])([:/?]|$))')",message="oauth: may be set only with an https transport.sse.url, or http to 127.0.0.1, [::1] or localhost"
type McpServerSpec struct {
	// transport says how the server is reached.
	// +required
	Transport Transport `json:"transport,omitzero"`

	// oauth says how access tokens are obtained.
	// +optional
	OAuth *OAuth `json:"oauth,omitempty"`

	// calls bounds tool calls.
	// +optional
	Calls *CallPolicy `json:"calls,omitempty"`

	// recovery says how a lost connection is tried again.
	// +optional
	Recovery *RecoveryPolicy `json:"recovery,omitempty"`

	// healthCheck says how a connection is probed.
	// +optional
	HealthCheck *HealthCheckPolicy `json:"healthCheck,omitempty"`

	// sampling says whether the server may ask for model completions.
	// +optional
	Sampling *SamplingPolicy `json:"sampling,omitempty"`

	// tasks bounds background tasks.
	// +optional
	Tasks *TaskPolicy `json:"tasks,omitempty"`

	// logging says which of the server's log messages are wanted.
	// +optional
	Logging *LoggingPolicy `json:"logging,omitempty"`

	// catalog bounds what the server may offer.
	// +optional
	Catalog *CatalogPolicy `json:"catalog,omitempty"`
}

// McpServerStatus is what was observed of a definition.
// +kubebuilder:validation:MinProperties=1
type McpServerStatus struct {
	// conditions are Accepted, Ready, Stalled.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation of the spec that the status describes.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9007199254740991
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// sessions counts the sessions that use the definition; refreshed at most twice a minute.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	Sessions int32 `json:"sessions"` //nolint:kubeapilinter // always written, so that kubectl prints a zero
}

// McpServerList is a list of McpServers.
// +kubebuilder:object:root=true
type McpServerList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list's metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitzero"`
	// items of the list.
	Items []McpServer `json:"items"`
}
