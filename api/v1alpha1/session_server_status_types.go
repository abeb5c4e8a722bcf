// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ServerLayer is the layer that a server of a session came from. Later layers replace earlier ones by name.
// +kubebuilder:validation:Enum=Workspace;Plugin;Session;Override
type ServerLayer string

// The layers, in their order.
const (
	LayerWorkspace ServerLayer = "Workspace"
	LayerPlugin    ServerLayer = "Plugin"
	LayerSession   ServerLayer = "Session"
	LayerOverride  ServerLayer = "Override"
)

// SessionServerState is where a session's connection to a server stands.
// +kubebuilder:validation:Enum=Idle;Connecting;Connected;Reconnecting;AuthorizationRequired;Failed;Closed;Disabled;Invalid
type SessionServerState string

// The states of a session's connection to a server.
const (
	// ServerStateIdle: nothing has been tried yet.
	ServerStateIdle SessionServerState = "Idle"
	// ServerStateConnecting: a first connection is being tried.
	ServerStateConnecting SessionServerState = "Connecting"
	// ServerStateConnected: the server serves.
	ServerStateConnected SessionServerState = "Connected"
	// ServerStateReconnecting: the connection was lost and is being tried again; see recovery.
	ServerStateReconnecting SessionServerState = "Reconnecting"
	// ServerStateAuthorizationRequired: the server wants a login. Nothing is tried until somebody logs in.
	ServerStateAuthorizationRequired SessionServerState = "AuthorizationRequired"
	// ServerStateFailed: attempts are used up, or the failure is not one that passes; see lastError.
	ServerStateFailed SessionServerState = "Failed"
	// ServerStateClosed: the connection was ended on purpose.
	ServerStateClosed SessionServerState = "Closed"
	// ServerStateDisabled: spec.servers[].state is Disabled.
	ServerStateDisabled SessionServerState = "Disabled"
	// ServerStateInvalid: a Secret or ConfigMap that the definition names is missing or unfit; see lastError.
	ServerStateInvalid SessionServerState = "Invalid"
)

// SessionServerStatus is what was observed of one server of a session.
type SessionServerStatus struct {
	// name of the server within the session.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`

	// layer that the server came from.
	// +required
	Layer ServerLayer `json:"layer,omitempty"`

	// serverRef is the McpServer that defines it.
	// +required
	ServerRef ObservedServerReference `json:"serverRef,omitzero"`

	// state of the connection.
	// +required
	State SessionServerState `json:"state,omitempty"`

	// connectionGeneration grows with each attempt to connect and each manual disconnect.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9007199254740991
	ConnectionGeneration int64 `json:"connectionGeneration,omitempty"`

	// protocolVersion that was negotiated, such as 2025-11-25.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9.-]+$`
	ProtocolVersion string `json:"protocolVersion,omitempty"`

	// serverInfo is how the server names itself: untrusted.
	// +optional
	ServerInfo *ServerInfo `json:"serverInfo,omitempty"`

	// capabilities that the server declared, such as tools.listChanged; at most 32.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=64
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z0-9._/-]+$`
	Capabilities []string `json:"capabilities,omitempty"`

	// toolCount is the number of usable tools that the server offers, before spec.tools is applied.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	ToolCount int32 `json:"toolCount,omitempty"`

	// resourceCount is the number of resources that the server lists.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	ResourceCount int32 `json:"resourceCount,omitempty"`

	// resourceTemplateCount is the number of resource templates that the server lists.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	ResourceTemplateCount int32 `json:"resourceTemplateCount,omitempty"`

	// promptCount is the number of prompts that the server lists.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	PromptCount int32 `json:"promptCount,omitempty"`

	// catalogRevision is the session's catalog revision at which this server's tools last changed.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9007199254740991
	CatalogRevision int64 `json:"catalogRevision,omitempty"`

	// catalogDigest identifies the server's tool list as it was sent.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[0-9a-f]+$`
	CatalogDigest string `json:"catalogDigest,omitempty"`

	// instructionsDigest identifies the server's instructions; their text reaches the agent only.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[0-9a-f]+$`
	InstructionsDigest string `json:"instructionsDigest,omitempty"`

	// authorization says how the session's login at the server stands.
	// +optional
	Authorization *AuthorizationStatus `json:"authorization,omitempty"`

	// recovery says which attempt to connect runs or is awaited; absent otherwise.
	// +optional
	Recovery *RecoveryStatus `json:"recovery,omitempty"`

	// lastError is the last failure; absent once an attempt succeeded.
	// +optional
	LastError *ServerError `json:"lastError,omitempty"`
}

// ServerInfo is how a server names itself: untrusted text, cleaned and cut to 256 bytes a field.
// +kubebuilder:validation:MinProperties=0
type ServerInfo struct {
	// name of the server's program.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name,omitempty"`

	// title for people.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Title string `json:"title,omitempty"`

	// version of the server's program.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Version string `json:"version,omitempty"`
}

// AuthorizationState says how a login stands.
// +kubebuilder:validation:Enum=Authorized;Required;Pending;RefreshRetrying;IssuerChanged
type AuthorizationState string

// The states of a login.
const (
	// AuthorizationAuthorized: there is a usable credential.
	AuthorizationAuthorized AuthorizationState = "Authorized"
	// AuthorizationRequired: somebody must log in.
	AuthorizationRequired AuthorizationState = "Required"
	// AuthorizationPending: a login has begun and is not finished.
	AuthorizationPending AuthorizationState = "Pending"
	// AuthorizationRefreshRetrying: the credential could not be refreshed yet; it is tried again.
	AuthorizationRefreshRetrying AuthorizationState = "RefreshRetrying"
	// AuthorizationIssuerChanged: the server names another authorization server than the one that issued the credential.
	AuthorizationIssuerChanged AuthorizationState = "IssuerChanged"
)

// AuthorizationStatus says how a session's login at a server stands. It never holds a token, a code or a link.
type AuthorizationStatus struct {
	// state of the login.
	// +required
	State AuthorizationState `json:"state,omitempty"`

	// expiresAt is when the access token ends; it is refreshed before.
	// +optional
	ExpiresAt *metav1.Time `json:"expiresAt,omitempty"`

	// scopes that were granted; at most 16.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=128
	// +kubebuilder:validation:items:Pattern=`^[!#-%'-;=?-\[\]-~]+$`
	Scopes []string `json:"scopes,omitempty"`

	// issuer of the credential.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^https?://[A-Za-z0-9._~:/@!$'()*+,;=%\[\]-]+$`
	Issuer string `json:"issuer,omitempty"`
}

// RecoveryStatus says which attempt to connect runs or is awaited.
// +kubebuilder:validation:MinProperties=0
type RecoveryStatus struct {
	// attempt that runs or is awaited, from 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Attempt int32 `json:"attempt,omitempty"`

	// limit is the last attempt that will be made.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Limit int32 `json:"limit,omitempty"`

	// nextAttemptTime is when the next attempt begins; absent while one runs.
	// +optional
	NextAttemptTime *metav1.Time `json:"nextAttemptTime,omitempty"`
}

// ServerError is a failure of a server, cleaned and cut.
type ServerError struct {
	// reason in one word, such as Unreachable, Timeout or Unauthorized.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z][A-Za-z0-9]*$`
	Reason string `json:"reason,omitempty"`

	// message for people; at most 512 bytes.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`

	// time of the failure; absent when it is not an event but a state.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`
}

// ShadowedServer was replaced by a server of the same name in a later layer.
type ShadowedServer struct {
	// name of the server within the session.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`

	// layer of the server that was replaced.
	// +required
	Layer ServerLayer `json:"layer,omitempty"`

	// serverName is the McpServer that was replaced.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	ServerName string `json:"serverName,omitempty"`

	// byLayer is the layer that replaced it.
	// +required
	ByLayer ServerLayer `json:"byLayer,omitempty"`
}

// SkipReason says why an entry leads to no usable server.
// +kubebuilder:validation:Enum=NotFound;NotAccepted;InvalidName;InvalidSelector;TooMany
type SkipReason string

// Why an entry leads to no usable server.
const (
	// SkipNotFound: there is no such McpServer, or it is being deleted.
	SkipNotFound SkipReason = "NotFound"
	// SkipNotAccepted: the McpServer is not accepted; its own condition says why.
	SkipNotAccepted SkipReason = "NotAccepted"
	// SkipInvalidName: a plugin's server is not named <plugin>-<server>.
	SkipInvalidName SkipReason = "InvalidName"
	// SkipInvalidSelector: the layer's label selector is not valid.
	SkipInvalidSelector SkipReason = "InvalidSelector"
	// SkipTooMany: the session has 64 servers already.
	SkipTooMany SkipReason = "TooMany"
)

// SkippedServer is an entry that leads to no usable server. The others are used.
type SkippedServer struct {
	// name of the server within the session; that of the layer for InvalidSelector.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`

	// layer of the entry.
	// +required
	Layer ServerLayer `json:"layer,omitempty"`

	// serverName is the McpServer that the entry leads to.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	ServerName string `json:"serverName,omitempty"`

	// reason in one word.
	// +required
	Reason SkipReason `json:"reason,omitempty"`

	// message for people; at most 512 bytes.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}
