// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// McpSession is one agent's private set of connections to MCP servers. Its status holds the tools that the agent may
// call, and the endpoint to call them at.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories=mooring,shortName=mcpses
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Servers",type=integer,JSONPath=`.status.enabledServers`
// +kubebuilder:printcolumn:name="Connected",type=integer,JSONPath=`.status.connectedServers`
// +kubebuilder:printcolumn:name="Tools",type=integer,JSONPath=`.status.catalog.toolCount`
// +kubebuilder:printcolumn:name="Endpoint",type=string,priority=1,JSONPath=`.status.endpoint`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$')",message="metadata.name: must be at most 63 lower-case letters, digits and dashes, and begin and end with a letter or digit"
type McpSession struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is what the session should be. An empty one is a session without servers.
	// +required
	Spec McpSessionSpec `json:"spec,omitzero"`

	// status is what was observed.
	// +optional
	Status McpSessionStatus `json:"status,omitzero"` //nolint:kubeapilinter // a kind holds its status by value
}

// McpSessionSpec is what a session should be. Servers come in four layers: workspace, plugins, servers, overrides. A
// later layer replaces a server of an earlier one whole, by name.
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="has(self.roots) == has(oldSelf.roots) && (!has(self.roots) || self.roots == oldSelf.roots)",message="roots: may not be changed, set or unset after creation; create another McpSession"
// +kubebuilder:validation:XValidation:rule="has(self.sampling) == has(oldSelf.sampling) && (!has(self.sampling) || self.sampling == oldSelf.sampling)",message="sampling: may not be changed, set or unset after creation; create another McpSession"
// +kubebuilder:validation:XValidation:rule="has(self.serviceAccountName) == has(oldSelf.serviceAccountName) && (!has(self.serviceAccountName) || self.serviceAccountName == oldSelf.serviceAccountName)",message="serviceAccountName: may not be changed, set or unset after creation; create another McpSession"
// +kubebuilder:validation:XValidation:rule="!has(self.exposure) || self.exposure != 'Restricted' || !has(self.roots) || !has(self.roots.items) || size(self.roots.items) == 0",message="roots.items: may not be set when exposure is 'Restricted'"
type McpSessionSpec struct {
	// workspace adds the McpServers of the namespace that a label selector chooses and that no plugin owns.
	// +optional
	Workspace *ServerSource `json:"workspace,omitempty"`

	// plugins adds the McpServers of the namespace that carry the label mcp.mooring.dev/plugin and that a label selector
	// chooses. Such a server is named <plugin>-<server>.
	// +optional
	Plugins *ServerSource `json:"plugins,omitempty"`

	// servers adds McpServers by name; at most 32.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Servers []SessionServer `json:"servers,omitempty"`

	// overrides is the last layer: it replaces servers by name, or all of them.
	// +optional
	Overrides *SessionOverrides `json:"overrides,omitempty"`

	// tools says which tools the agent sees, and how.
	// +optional
	Tools *SessionTools `json:"tools,omitempty"`

	// results says how results reach the agent.
	// +optional
	Results *SessionResults `json:"results,omitempty"`

	// extensions says which protocol extensions pass through.
	// +optional
	Extensions *SessionExtensions `json:"extensions,omitempty"`

	// roots are the directories that servers are told of. Frozen at creation.
	// +optional
	Roots *SessionRoots `json:"roots,omitempty"`

	// exposure Restricted is for an agent outside the cluster's trust: no stored credential is used for it, roots are
	// empty, no instruction or log text reaches it, and artifacts are opaque ids. Frozen at creation; Trusted by default.
	// +optional
	// +default="Trusted"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="exposure: may not be changed after creation; create another McpSession"
	Exposure Exposure `json:"exposure,omitempty"`

	// sampling says who answers when a server asks for a model's completion. Frozen at creation; nobody when absent.
	// +optional
	Sampling *SessionSampling `json:"sampling,omitempty"`

	// serviceAccountName names the ServiceAccount of this namespace that is the agent's identity at the gateway: a token
	// of it, with the session's audience, may use the session. When absent, only who may create mcpsessions/connect can.
	// Frozen at creation.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// subscriptions are resources whose updates are wanted from the start; at most 64.
	// +optional
	// +listType=map
	// +listMapKey=server
	// +listMapKey=uri
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Subscriptions []Subscription `json:"subscriptions,omitempty"`

	// interaction says who answers when a server asks a question; nobody when absent.
	// +optional
	Interaction *SessionInteraction `json:"interaction,omitempty"`

	// suspend On ends every connection and keeps the session; Off, the default, connects again.
	// +optional
	// +default="Off"
	Suspend Suspend `json:"suspend,omitempty"`

	// idle says what happens to a session that nobody uses; nothing when absent.
	// +optional
	Idle *SessionIdle `json:"idle,omitempty"`

	// ttlSeconds after creation the session is deleted; 60 to 31536000 (one year), never when absent.
	// +optional
	// +kubebuilder:validation:Minimum=60
	// +kubebuilder:validation:Maximum=31536000
	TTLSeconds int32 `json:"ttlSeconds,omitempty"`
}

// ServerState says whether a server is wanted.
// +kubebuilder:validation:Enum=Enabled;Disabled
type ServerState string

// The server states.
const (
	// ServerEnabled connects the server.
	ServerEnabled ServerState = "Enabled"
	// ServerDisabled keeps the server in status, without a connection.
	ServerDisabled ServerState = "Disabled"
)

// Requirement says what a server's absence means for the session.
// +kubebuilder:validation:Enum=Never;Always
type Requirement string

// The requirements.
const (
	// RequiredNever leaves the session Ready, reason Degraded, while other servers serve.
	RequiredNever Requirement = "Never"
	// RequiredAlways makes Ready False while the server does not serve.
	RequiredAlways Requirement = "Always"
)

// SessionServer is one server of a session.
type SessionServer struct {
	// name of the server within the session, the s in mcp__s__tool; at most 63 lower-case letters, digits and dashes.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`

	// ref names the McpServer that says how to reach it.
	// +required
	Ref LocalMcpServerReference `json:"ref,omitzero"`

	// state Disabled keeps the server out of the session's connections and tools; Enabled by default.
	// +optional
	// +default="Enabled"
	State ServerState `json:"state,omitempty"`

	// required Always makes the session not Ready while this server does not serve; Never by default.
	// +optional
	// +default="Never"
	Required Requirement `json:"required,omitempty"`

	// headers are this session's own, such as a credential beside a shared definition; at most 4, each name once. One
	// replaces the definition's header of the same name. Their values come from Secrets.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:XValidation:rule="self.all(h, !has(h.value))",message="headers: may have secretKeyRef only here; put the value into a Secret"
	// +kubebuilder:validation:XValidation:rule="self.all(h, self.exists_one(o, o.name.lowerAscii() == h.name.lowerAscii()))",message="headers: a name may be set once only, in whatever case"
	Headers []Header `json:"headers,omitempty"`
}

// OverrideMode says what becomes of the other layers.
// +kubebuilder:validation:Enum=Merge;Exclusive
type OverrideMode string

// The override modes.
const (
	// OverrideMerge adds to the other layers and replaces servers of the same name.
	OverrideMerge OverrideMode = "Merge"
	// OverrideExclusive ignores the other layers.
	OverrideExclusive OverrideMode = "Exclusive"
)

// SessionOverrides is the last layer of servers.
// +kubebuilder:validation:MinProperties=1
type SessionOverrides struct {
	// mode Exclusive ignores workspace, plugins and servers; Merge, the default, replaces by name.
	// +optional
	// +default="Merge"
	Mode OverrideMode `json:"mode,omitempty"`

	// servers of this layer; at most 32. None, with mode Exclusive, is a session without servers.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Servers []SessionServer `json:"servers,omitempty"`
}

// Suspend says whether a session runs.
// +kubebuilder:validation:Enum=Off;On
type Suspend string

// Whether a session is suspended.
const (
	SuspendOff Suspend = "Off"
	SuspendOn  Suspend = "On"
)

// IdleAction is what happens to an idle session.
// +kubebuilder:validation:Enum=Disconnect;Delete
type IdleAction string

// The idle actions.
const (
	// IdleDisconnect ends the connections until the agent comes back.
	IdleDisconnect IdleAction = "Disconnect"
	// IdleDelete deletes the session.
	IdleDelete IdleAction = "Delete"
)

// SessionIdle says what happens to a session that nobody uses. A session with a running task is not idle.
type SessionIdle struct {
	// timeoutSeconds without a request from the agent; 60 to 2592000 (30 days).
	// +required
	// +kubebuilder:validation:Minimum=60
	// +kubebuilder:validation:Maximum=2592000
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`

	// action is what happens then.
	// +required
	Action IdleAction `json:"action,omitempty"`
}

// McpSessionList is a list of McpSessions.
// +kubebuilder:object:root=true
type McpSessionList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list's metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitzero"`
	// items of the list.
	Items []McpSession `json:"items"`
}
