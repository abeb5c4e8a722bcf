// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Budgets that the operator keeps to when it writes status. Bytes are those of the JSON encoding that the API server
// stores, with <, > and & escaped.
const (
	// MaxSessionServers bounds the servers of one session, over all layers.
	MaxSessionServers = 64
	// InlineToolsBytes is how large a projection may be that stands in status.tools whole.
	InlineToolsBytes = 16 << 10
	// ListedToolsBytes bounds the names that stand in status.tools of a larger projection.
	ListedToolsBytes = 48 << 10
	// MaxListedTools bounds the entries of status.tools.
	MaxListedTools = 1024
	// ChunkBytes bounds one ConfigMap of a stored catalog.
	ChunkBytes = 768 << 10
	// ResultPreviewBytes bounds the preview of a task's result.
	ResultPreviewBytes = 16 << 10
	// MessageBytes bounds a condition's message that the operator writes.
	MessageBytes = 1024
	// ErrorMessageBytes bounds a server's last error, and the message of a skipped server.
	ErrorMessageBytes = 512
	// ServerInfoBytes bounds each field by which a server names itself.
	ServerInfoBytes = 256
	// SubscriptionsBytes bounds status.subscriptions.
	SubscriptionsBytes = 32 << 10
	// CapabilitiesBytes bounds the capabilities of a server that status names, together; MaxCapabilities and
	// MaxCapabilityLength bound their number and each of them. What does not fit is left out.
	CapabilitiesBytes   = 1024
	MaxCapabilities     = 32
	MaxCapabilityLength = 64
	// ScopesBytes bounds the granted scopes of a server that status names, together. What does not fit is left out.
	ScopesBytes = 1024
	// MaxCatalogChunks bounds the ConfigMaps that a session names.
	MaxCatalogChunks = 384
)
