// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// McpSessionStatus is what was observed of a session. It holds no credential, no link of an authorization server and no
// answer of a person; what servers said is cleaned and cut.
// +kubebuilder:validation:MinProperties=1
type McpSessionStatus struct {
	// conditions are Ready, Accepted, Resolved, Connected, CatalogSynced; and while they apply Reconciling, Stalled,
	// ToolsDropped and Terminating.
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

	// endpoint is the URL at which the agent speaks MCP.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^https?://[A-Za-z0-9._~:/\[\]%-]+$`
	Endpoint string `json:"endpoint,omitempty"`

	// enabledServers counts the servers that are wanted: those of status.servers that are not Disabled.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=64
	EnabledServers *int32 `json:"enabledServers,omitempty"`

	// connectedServers counts the servers in state Connected.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=64
	ConnectedServers *int32 `json:"connectedServers,omitempty"`

	// servers are the session's servers in projection order, over all layers; at most 64.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Servers []SessionServerStatus `json:"servers,omitempty"`

	// shadowedServers were replaced by a server of the same name in a later layer.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	ShadowedServers []ShadowedServer `json:"shadowedServers,omitempty"`

	// skippedServers are entries that lead to no usable server.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	SkippedServers []SkippedServer `json:"skippedServers,omitempty"`

	// catalog summarises what the servers offer together.
	// +optional
	Catalog CatalogStatus `json:"catalog,omitzero"` //nolint:kubeapilinter // by value, so that a revision can be read without a check

	// tools is the projection: what the agent may call, in a stable order. Whole while together it is at most 16 KiB;
	// beyond that names that fit, and the named ConfigMaps hold the rest.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1024
	Tools []ProjectedTool `json:"tools,omitempty"`

	// subscriptions are the resources whose updates are wanted, as many as fit 32 KiB.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	Subscriptions []SubscriptionStatus `json:"subscriptions,omitempty"`

	// pendingInteractions are the questions that wait for an answer: what is asked, never what is answered.
	// +optional
	// +listType=map
	// +listMapKey=id
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	PendingInteractions []PendingInteraction `json:"pendingInteractions,omitempty"`

	// lastReconnect is the value of the annotation mcp.mooring.dev/reconnect that was acted upon last.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[ -%'-;=?-~]+$`
	LastReconnect string `json:"lastReconnect,omitempty"`

	// lastRefresh is the value of the annotation mcp.mooring.dev/refresh that was acted upon last.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[ -%'-;=?-~]+$`
	LastRefresh string `json:"lastRefresh,omitempty"`
}

// CatalogStatus summarises what a session's servers offer together.
// +kubebuilder:validation:MinProperties=0
type CatalogStatus struct {
	// revision grows with each change of the projection and never goes back.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9007199254740991
	Revision int64 `json:"revision,omitempty"`

	// digest identifies the projection: equal digests are equal projections.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[0-9a-f]+$`
	Digest string `json:"digest,omitempty"`

	// toolCount is the number of projected tools.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=64000
	ToolCount int32 `json:"toolCount"` //nolint:kubeapilinter // always written, so that kubectl prints a zero

	// listedToolCount is the number of those that stand in status.tools.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	ListedToolCount int32 `json:"listedToolCount,omitempty"`

	// bytes of all projected definitions together.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1073741824
	Bytes int64 `json:"bytes,omitempty"`

	// chunks name the ConfigMaps that hold what the servers said of their tools, when status.tools does not. Those of one
	// server and digest, in this order, are its whole catalog.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=384
	Chunks []CatalogChunk `json:"chunks,omitempty"`
}

// CatalogChunk names one ConfigMap of a stored catalog.
type CatalogChunk struct {
	// server is the McpServer whose catalog it is.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Server string `json:"server,omitempty"`

	// configMap is the name of the ConfigMap, in the session's namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	ConfigMap string `json:"configMap,omitempty"`

	// catalogDigest identifies the catalog.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[0-9a-f]+$`
	CatalogDigest string `json:"catalogDigest,omitempty"`
}

// TaskSupport says whether a tool runs as a background task.
// +kubebuilder:validation:Enum=Required;Optional;Forbidden
type TaskSupport string

// Whether a tool runs as a background task.
const (
	TaskSupportRequired  TaskSupport = "Required"
	TaskSupportOptional  TaskSupport = "Optional"
	TaskSupportForbidden TaskSupport = "Forbidden"
)

// ProjectedTool is one tool that the agent may call. Its description and schema are what its server said: untrusted.
type ProjectedTool struct {
	// name by which the agent calls the tool: mcp__server__tool.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_-]+$`
	Name string `json:"name,omitempty"`

	// server of the session that offers the tool.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Server string `json:"server,omitempty"`

	// description of the tool; absent when the projection is not whole.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16384
	Description string `json:"description,omitempty"`

	// inputSchema is the JSON schema of the tool's arguments, as JSON; absent when the projection is not whole.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16384
	InputSchema string `json:"inputSchema,omitempty"`

	// digest identifies the definition as the server sent it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[0-9a-f]+$`
	Digest string `json:"digest,omitempty"`

	// taskSupport says whether the tool runs as a background task: Required, Optional or Forbidden; absent when the server
	// does not say.
	// +optional
	TaskSupport TaskSupport `json:"taskSupport,omitempty"`
}

// SubscriptionState says how far a subscription has come.
// +kubebuilder:validation:Enum=Desired;Active
type SubscriptionState string

// The states of subscriptions.
const (
	// SubscriptionDesired is wanted, and the server has not confirmed it on this connection.
	SubscriptionDesired SubscriptionState = "Desired"
	// SubscriptionActive is confirmed by the server.
	SubscriptionActive SubscriptionState = "Active"
)

// SubscriptionStatus is one resource whose updates are wanted.
type SubscriptionStatus struct {
	// server of the session that has the resource.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Server string `json:"server,omitempty"`

	// uri of the resource.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=8192
	URI string `json:"uri,omitempty"`

	// state is Desired until the server confirms, then Active.
	// +required
	State SubscriptionState `json:"state,omitempty"`

	// updatedTime is when an update of the resource was heard last, to ten seconds; absent if none was.
	// +optional
	UpdatedTime *metav1.Time `json:"updatedTime,omitempty"`
}

// InteractionKind is what a question asks for.
// +kubebuilder:validation:Enum=Form;URL;Sampling
type InteractionKind string

// The kinds of questions.
const (
	// InteractionForm asks to fill in fields.
	InteractionForm InteractionKind = "Form"
	// InteractionURL asks to open a page.
	InteractionURL InteractionKind = "URL"
	// InteractionSampling asks to approve a model's completion.
	InteractionSampling InteractionKind = "Sampling"
)

// PendingInteraction is a question of a server that waits for an answer. The whole question, its fields included, is read
// and answered through the management API.
type PendingInteraction struct {
	// id by which it is answered.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_-]+$`
	ID string `json:"id,omitempty"`

	// server that asks.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Server string `json:"server,omitempty"`

	// kind of the question.
	// +required
	Kind InteractionKind `json:"kind,omitempty"`

	// message that the server wants shown, cleaned and cut: untrusted.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// host of the page, for kind URL.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9.:\[\]-]+$`
	Host string `json:"host,omitempty"`

	// fieldCount is the number of fields, for kind Form.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=32
	FieldCount int32 `json:"fieldCount,omitempty"`

	// task names the McpTask that the question belongs to, if it belongs to one.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Task string `json:"task,omitempty"`

	// askedTime is when the server asked.
	// +optional
	AskedTime *metav1.Time `json:"askedTime,omitempty"`

	// expiryTime is when the question is given up.
	// +optional
	ExpiryTime *metav1.Time `json:"expiryTime,omitempty"`
}

// ObservedServerReference names the McpServer that was found.
// +structType=atomic
type ObservedServerReference struct {
	// name of the McpServer.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`

	// uid of the McpServer: one that was re-created is another.
	// +required
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9-]+$`
	UID types.UID `json:"uid,omitempty"`
}
