// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"net/http"
	"slices"
	"strings"

	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// versions lists what is served, the newest first. It is what both server/discover and a refused version name.
var versions = append([]string{wire.Version20260728}, wire.LegacyVersions()...)

var legacyVersions = wire.LegacyVersions()

// open reads the parts of params that every method has and decides the era. A request with per-request metadata is
// modern, and so is one whose header claims a version that has it; initialize opens the legacy era whatever the header
// says, for that is where a version is agreed.
func (x *exchange) open() *problem {
	if x.message.Params != nil {
		params, err := wire.ParseObject(x.message.Params)
		if err != nil {
			return invalid(http.StatusBadRequest, wire.CodeInvalidRequest, "Invalid request: "+err.Error())
		}
		x.params = params
	}
	raw := x.params.Get("_meta")
	if raw != nil {
		meta, err := wire.ParseObject(raw)
		if err != nil {
			return invalid(http.StatusBadRequest, wire.CodeInvalidParams, "_meta must be an object.")
		}
		x.meta = meta
	}
	header := x.request.Header.Get(wire.HeaderProtocolVersion)
	switch {
	case x.meta.Get(wire.MetaProtocolVersion) != nil:
		x.modern = true
	case header == "" || slices.Contains(legacyVersions, header) || x.message.Method == wire.MethodInitialize:
	default:
		x.modern = true
	}
	return nil
}

// responded answers a response. Nothing is ever asked of a client, so none is expected: a legacy client may send one
// and is told that it arrived, a modern client may not.
func (x *exchange) responded() *problem {
	if x.modern {
		return invalid(http.StatusBadRequest, wire.CodeInvalidRequest, "Responses are not taken in this protocol version.")
	}
	x.reply.accepted()
	return nil
}

// checkModern makes the checks of a modern request in the order of the transport's text.
func (x *exchange) checkModern() *problem {
	if p := x.checkVersion(); p != nil {
		return p
	}
	if method, ok := one(x.request.Header, wire.HeaderMethod); !ok || method != x.message.Method {
		return mismatch("Mcp-Method must be present and equal the method in the body.")
	}
	if capabilities := x.meta.Get(wire.MetaClientCapabilities); len(capabilities) == 0 || capabilities[0] != '{' {
		return invalid(http.StatusBadRequest, wire.CodeInvalidParams, "_meta must hold "+wire.MetaClientCapabilities+", an object.")
	}
	if level := x.meta.Get(wire.MetaLogLevel); level != nil && severity(level) < 0 {
		return invalid(http.StatusBadRequest, wire.CodeInvalidParams, wire.MetaLogLevel+" is not a log level.")
	}
	return nil
}

// checkVersion checks what headers and body must agree on first, for a version that they disagree on is nobody's.
func (x *exchange) checkVersion() *problem {
	header, ok := one(x.request.Header, wire.HeaderProtocolVersion)
	version, isString := x.meta.String(wire.MetaProtocolVersion)
	switch {
	case !isString && header != "" && header != wire.Version20260728:
		return unsupportedVersion(header)
	case !isString:
		return invalid(http.StatusBadRequest, wire.CodeInvalidParams, "_meta must hold "+wire.MetaProtocolVersion+", a string.")
	case !ok || header != version:
		return mismatch("MCP-Protocol-Version must be present and equal " + wire.MetaProtocolVersion + " in _meta.")
	case version != wire.Version20260728:
		return unsupportedVersion(version)
	}
	return nil
}

func unsupportedVersion(requested string) *problem {
	supported := []byte{'['}
	for i, version := range versions {
		if i > 0 {
			supported = append(supported, ',')
		}
		supported = append(supported, wire.Quote(version)...)
	}
	data := wire.Object{
		{Name: "supported", Value: append(supported, ']')},
		{Name: "requested", Value: wire.Quote(cut(requested, 256))},
	}
	return &problem{status: http.StatusBadRequest, rpc: wire.Error{
		Code:    wire.CodeUnsupportedVersion,
		Message: "Unsupported protocol version", Data: data.Raw(),
	}}
}

func mismatch(message string) *problem {
	return invalid(http.StatusBadRequest, wire.CodeHeaderMismatch, "Header mismatch: "+message)
}

// one returns the value of a header that must be there exactly once, without the space around it.
func one(h http.Header, name string) (string, bool) {
	values := h[name]
	if len(values) != 1 {
		return "", false
	}
	return strings.Trim(values[0], " \t"), true
}

var levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// severity places a log level, a JSON string; -1 when it is none.
func severity(raw []byte) int {
	level, _ := wire.Object{{Name: "level", Value: raw}}.String("level")
	return slices.Index(levels, level)
}
