// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

// Protocol versions. Modern versions carry version, identity and capabilities on every request; legacy ones open with
// an initialize handshake (2026-07-28 basic/versioning; CON-17 and its preface).
const (
	Version20260728 = "2026-07-28"
	Version20251125 = "2025-11-25"
	Version20250618 = "2025-06-18"
	Version20250326 = "2025-03-26"
	Version20241105 = "2024-11-05"
	Version20241007 = "2024-10-07"
)

// LegacyVersions lists the handshake versions that are accepted from a peer, the one that we offer first.
func LegacyVersions() []string {
	return []string{Version20251125, Version20250618, Version20250326, Version20241105, Version20241007}
}

// Keys of _meta that belong to one hop and are made anew for the next (bridge row 3).
const (
	MetaProtocolVersion    = "io.modelcontextprotocol/protocolVersion"
	MetaClientInfo         = "io.modelcontextprotocol/clientInfo"
	MetaClientCapabilities = "io.modelcontextprotocol/clientCapabilities"
	MetaLogLevel           = "io.modelcontextprotocol/logLevel"
	MetaSubscriptionID     = "io.modelcontextprotocol/subscriptionId"
	MetaServerInfo         = "io.modelcontextprotocol/serverInfo"
	MetaProgressToken      = "progressToken"
)

// HopMeta lists those keys.
func HopMeta() []string {
	return []string{
		MetaProtocolVersion, MetaClientInfo, MetaClientCapabilities, MetaLogLevel, MetaSubscriptionID,
		MetaServerInfo, MetaProgressToken,
	}
}

// Methods that this package's users speak.
const (
	MethodInitialize           = "initialize"
	MethodInitialized          = "notifications/initialized"
	MethodDiscover             = "server/discover"
	MethodPing                 = "ping"
	MethodToolsList            = "tools/list"
	MethodToolsCall            = "tools/call"
	MethodResourcesList        = "resources/list"
	MethodTemplatesList        = "resources/templates/list"
	MethodResourcesRead        = "resources/read"
	MethodSubscribe            = "resources/subscribe"
	MethodUnsubscribe          = "resources/unsubscribe"
	MethodPromptsList          = "prompts/list"
	MethodPromptsGet           = "prompts/get"
	MethodComplete             = "completion/complete"
	MethodSetLevel             = "logging/setLevel"
	MethodListen               = "subscriptions/listen"
	MethodListenAcknowledged   = "notifications/subscriptions/acknowledged"
	MethodToolsListChanged     = "notifications/tools/list_changed"
	MethodResourcesListChanged = "notifications/resources/list_changed"
	MethodResourceUpdated      = "notifications/resources/updated"
	MethodPromptsListChanged   = "notifications/prompts/list_changed"
	MethodProgress             = "notifications/progress"
	MethodMessage              = "notifications/message"
	MethodCancelled            = "notifications/cancelled"
)

// HTTP headers of Streamable HTTP.
const (
	HeaderProtocolVersion = "Mcp-Protocol-Version"
	HeaderSessionID       = "Mcp-Session-Id"
	HeaderMethod          = "Mcp-Method"
	HeaderName            = "Mcp-Name"
	HeaderParamPrefix     = "Mcp-Param-"
	HeaderLastEventID     = "Last-Event-Id"
)

// Result types of the modern era (2026-07-28 basic, "ResultType").
const (
	ResultTypeField         = "resultType"
	ResultTypeComplete      = "complete"
	ResultTypeInputRequired = "input_required"
	ResultTypeTask          = "task"
)
