// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import "encoding/json"

// Tool is one tool as its server described it. It is immutable and shared between sessions.
type Tool struct {
	// Name is the server's own name: what goes on the wire (CAT-04).
	Name string
	// Raw is the whole tool object as sent: title, annotations, icons, output schema, _meta and unknown fields included.
	Raw json.RawMessage
	// Description is cleaned for people and models: hidden characters stripped (DEV-26), <= 16384 bytes (CAT-15).
	Description string
	// InputSchema is the schema's bytes as sent, <= 262144 bytes compacted (CAT-16).
	InputSchema json.RawMessage
	// TaskSupport is "required", "optional", "forbidden" or empty when the server said nothing.
	TaskSupport string
	// Signature identifies name, description, input schema and task support (CAT-19).
	Signature string
	// Digest identifies Raw: the first 32 hex digits of its SHA-256.
	Digest string
	// HeaderParams are the arguments that the modern HTTP transport mirrors into Mcp-Param-* headers.
	HeaderParams []HeaderParam

	// name is where the value of "name" stands in Raw; zero in a Tool that no Builder made.
	name span
	// segment is the tool's part of its provider names; empty likewise.
	segment string
}

// HeaderParam is a valid x-mcp-header annotation (2026-07-28 transports, "Custom Headers from Tool Parameters").
type HeaderParam struct {
	// Header is the part after "Mcp-Param-".
	Header string
	// Path leads from the arguments object to the annotated property.
	Path []string
}

// Catalog is one server's valid list of tools. It is immutable.
type Catalog struct {
	Tools []*Tool
	// Dropped are the tools that were left out, with the reason (bridge row 9). At most 1000.
	Dropped []DroppedTool
	// Digest identifies the raw list, dropped tools included: SHA-256 over the raw tools in order, each behind its
	// length, hex.
	Digest string
	// Bytes sums the sizes of Raw.
	Bytes int
}

// DroppedTool is a tool that its server offered and that cannot be used.
type DroppedTool struct {
	// Name is cleaned and cut to 64 characters; "#12" when the tool has no usable name (its place in the list).
	Name string
	// Reason is one sentence of ours, without foreign text.
	Reason string
}
