// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"encoding/json"

	"github.com/mooring-dev/mooring/internal/mcp/result"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// CallRequest is one tools/call.
type CallRequest struct {
	// Tool is a projected name, or any other unambiguous form of it (bridge row 6).
	Tool string
	// Arguments is a JSON object as the caller sent it, or nil.
	Arguments json.RawMessage
	// Meta is the caller's _meta without hop-by-hop keys, <= wire.MaxMetaBytes, or nil.
	Meta json.RawMessage
	// Notify receives, in order and one at a time, what the server sends on this call's own stream before its answer:
	// notifications/progress (with our token; strictly increasing) and notifications/message. nil asks for none: no
	// progress token is sent. It must not block for long: it holds up this call's stream, and no other.
	Notify func(*wire.Message)
	// Report asks for CallResult.Report, for which large and binary parts are stored.
	Report bool
}

// CallResult is a server's answer.
type CallResult struct {
	// Result is the result object as the server sent it, but for texts that are too large to be passed on (bridge rows 2,
	// 4 and 5); isError is inside.
	Result json.RawMessage
	// Report is what may be shown of the result, if it was asked for; nil for a result that breaks its bounds.
	Report *result.Projected
	// Server is the name of the server that answered; Tool is the name that it knows the tool by.
	Server, Tool string
	Generation   int64
	// ProtocolVersion is the version that the server was spoken to in.
	ProtocolVersion string
}
