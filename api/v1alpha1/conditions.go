// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Labels and annotations.
const (
	// LabelPlugin marks an McpServer as a plugin's; its value is the plugin's name, and the server's name begins with it
	// and a dash.
	LabelPlugin = "mcp.mooring.dev/plugin"
	// LabelCatalogServer names the McpServer whose catalog a ConfigMap holds.
	LabelCatalogServer = "mcp.mooring.dev/catalog-server"
	// LabelCatalogDigest marks a ConfigMap as a chunk of a stored catalog; its value begins the catalog's digest.
	LabelCatalogDigest = "mcp.mooring.dev/catalog-digest"
	// AnnotationReconnect on an McpSession asks to connect every server anew; its value, any that is new, is echoed in
	// status.lastReconnect when that is done.
	AnnotationReconnect = "mcp.mooring.dev/reconnect"
	// AnnotationRefresh on an McpSession asks to list what every server offers anew; its value, any that is new, is echoed
	// in status.lastRefresh when that is done.
	AnnotationRefresh = "mcp.mooring.dev/refresh"
	// AnnotationChunkCount is the number of chunks of the catalog that a chunk belongs to.
	AnnotationChunkCount = "mcp.mooring.dev/chunk-count"
	// AnnotationChunkNamed is when a session last began to name an old chunk, in RFC 3339.
	AnnotationChunkNamed = "mcp.mooring.dev/named-at"
)

// Finalizers.
const (
	// SessionFinalizer holds a session until its connections are ended.
	SessionFinalizer = "mcp.mooring.dev/session"
	// TaskFinalizer holds a task until its server was told that it is cancelled.
	TaskFinalizer = "mcp.mooring.dev/task"
)

// Condition types.
const (
	// ConditionReady summarises an object.
	//
	// On an McpServer, True means that sessions can use the definition. Reasons when True: Accepted; when False: those of
	// Accepted.
	//
	// On an McpSession, True means that servers serve, or that it is suspended. Reasons when True: Ready, Degraded,
	// Suspended; when False: NoServers, NoServerServes, RequiredServerDown, NotImplemented, InvalidConfiguration,
	// Terminating; when Unknown: Connecting.
	//
	// On an McpTask, True means that it completed. Reasons when True: Completed; when Unknown: SessionNotFound,
	// WaitingForSession, Running; when False: those of Failed.
	ConditionReady = "Ready"
	// ConditionAccepted says that the spec can be acted upon. Reasons when True: Accepted; when False: NotImplemented,
	// InvalidConfiguration, InvalidArguments.
	ConditionAccepted = "Accepted"
	// ConditionResolved says that every entry of a session leads to a usable server. Reasons when True: Resolved; when
	// False: EntriesSkipped; when Unknown: NotAccepted.
	ConditionResolved = "Resolved"
	// ConditionConnected says that every enabled server is connected. Reasons when True: Connected; when False:
	// ServersDown, NoServers, Suspended, NotAccepted.
	ConditionConnected = "Connected"
	// ConditionCatalogSynced says that every connected server has listed its tools. Reasons when True: Synced,
	// ListedInPart; when False: Listing, NotStored, NoServerServes.
	ConditionCatalogSynced = "CatalogSynced"
	// ConditionToolsDropped exists while a server offers tools that cannot be used. Reason: InvalidTools.
	ConditionToolsDropped = "ToolsDropped"
	// ConditionTerminating exists while a session is cleaned up; its reason is the step that was completed last.
	ConditionTerminating = "Terminating"
	// ConditionReconciling exists while something is being tried, as kstatus reads it.
	ConditionReconciling = "Reconciling"
	// ConditionStalled exists while nothing is being tried and help from outside is needed, as kstatus reads it.
	ConditionStalled = "Stalled"
	// ConditionComplete exists on an McpTask that completed, as on a Job. Reason: Completed.
	ConditionComplete = "Complete"
	// ConditionFailed exists on an McpTask that failed or was cancelled, as on a Job. Reasons: NotImplemented,
	// InvalidArguments, LifetimeExceeded, ToolNotFound, ToolError, InvalidResult, OutcomeUnknown, Timeout, IdleTimeout,
	// ServerNotConnected, TooManyCalls, Rejected, ServerError, Unsupported, CancelRequested, SessionDeleted.
	ConditionFailed = "Failed"
)

// Reasons of conditions.
const (
	// ReasonAccepted: the spec can be acted upon.
	ReasonAccepted = "Accepted"
	// ReasonNotAccepted: the spec is not accepted, so nothing follows from it.
	ReasonNotAccepted = "NotAccepted"
	// ReasonNotImplemented: a field is set that this release does not act upon; the message names it.
	ReasonNotImplemented = "NotImplemented"
	// ReasonInvalidConfiguration: the spec cannot work; the message names the field.
	ReasonInvalidConfiguration = "InvalidConfiguration"
	// ReasonReady: every server serves.
	ReasonReady = "Ready"
	// ReasonDegraded: some servers do not serve, or entries are skipped; the others serve.
	ReasonDegraded = "Degraded"
	// ReasonConnecting: first attempts are under way and nothing has failed yet.
	ReasonConnecting = "Connecting"
	// ReasonConnected: every enabled server is connected.
	ReasonConnected = "Connected"
	// ReasonServersDown: some enabled servers are not connected.
	ReasonServersDown = "ServersDown"
	// ReasonNoServerServes: no server serves.
	ReasonNoServerServes = "NoServerServes"
	// ReasonRequiredServerDown: a server with required Always does not serve.
	ReasonRequiredServerDown = "RequiredServerDown"
	// ReasonNoServers: no usable server is enabled.
	ReasonNoServers = "NoServers"
	// ReasonSuspended: spec.suspend is On.
	ReasonSuspended = "Suspended"
	// ReasonResolved: every entry leads to a usable server.
	ReasonResolved = "Resolved"
	// ReasonEntriesSkipped: some entries lead nowhere; see status.skippedServers and the servers in state Invalid.
	ReasonEntriesSkipped = "EntriesSkipped"
	// ReasonUnresolvedReference: a Secret or ConfigMap that a definition names is missing or unfit.
	ReasonUnresolvedReference = "UnresolvedReference"
	// ReasonSynced: every connected server has listed its tools.
	ReasonSynced = "Synced"
	// ReasonListedInPart: there are more tools than status holds; all are in the named ConfigMaps.
	ReasonListedInPart = "ListedInPart"
	// ReasonNotStored: there are more tools than status holds, and a catalog could not be stored in ConfigMaps; the message
	// names the server and says why. All tools are offered at the endpoint.
	ReasonNotStored = "NotStored"
	// ReasonListing: a tool list is outstanding.
	ReasonListing = "Listing"
	// ReasonInvalidTools: tools are left out; the message names them and says why.
	ReasonInvalidTools = "InvalidTools"
	// ReasonTerminating: the object is being deleted.
	ReasonTerminating = "Terminating"
	// ReasonRunning: a task's call is under way.
	ReasonRunning = "Running"
	// ReasonSessionNotFound: a task's session does not exist yet.
	ReasonSessionNotFound = "SessionNotFound"
	// ReasonWaitingForSession: a task's session does not offer the tool yet.
	ReasonWaitingForSession = "WaitingForSession"
	// ReasonToolNotFound: every server has listed its tools, and none offers this one.
	ReasonToolNotFound = "ToolNotFound"
	// ReasonInvalidArguments: spec.arguments is not a JSON object.
	ReasonInvalidArguments = "InvalidArguments"
	// ReasonCompleted: the tool returned a result.
	ReasonCompleted = "Completed"
	// ReasonToolError: the tool reported an error of its own; status.result holds it.
	ReasonToolError = "ToolError"
	// ReasonInvalidResult: the server answered with something that is no tool result.
	ReasonInvalidResult = "InvalidResult"
	// ReasonOutcomeUnknown: the call may have taken effect and its answer is lost. It is never sent again.
	ReasonOutcomeUnknown = "OutcomeUnknown"
	// ReasonTimeout: no answer came in time.
	ReasonTimeout = "Timeout"
	// ReasonIdleTimeout: the server reported progress, and then nothing for too long.
	ReasonIdleTimeout = "IdleTimeout"
	// ReasonServerNotConnected: the tool's server was not connected; the call was not sent.
	ReasonServerNotConnected = "ServerNotConnected"
	// ReasonTooManyCalls: too many calls of the session were under way; the call was not sent.
	ReasonTooManyCalls = "TooManyCalls"
	// ReasonRejected: the server refused the call: an HTTP error, or an answer that is none.
	ReasonRejected = "Rejected"
	// ReasonServerError: the server answered with a protocol error; the message quotes it.
	ReasonServerError = "ServerError"
	// ReasonUnsupported: the server asked for something in return that this release cannot give.
	ReasonUnsupported = "Unsupported"
	// ReasonLifetimeExceeded: spec.lifetimeSeconds ended before the call could be sent.
	ReasonLifetimeExceeded = "LifetimeExceeded"
	// ReasonCancelRequested: spec.cancel is Requested, or the task is being deleted.
	ReasonCancelRequested = "CancelRequested"
	// ReasonSessionDeleted: the session ended while the call ran.
	ReasonSessionDeleted = "SessionDeleted"
)
