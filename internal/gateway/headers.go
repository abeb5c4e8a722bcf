// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/mooring-dev/mooring/internal/mcp/catalog"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// checkToolHeaders compares the headers that mirror a modern tools/call with its body: intermediaries act on the former
// and we on the latter, so that they may not differ.
func (x *exchange) checkToolHeaders(name string, arguments json.RawMessage) *problem {
	header, ok := one(x.request.Header, wire.HeaderName)
	if !ok {
		return mismatch("Mcp-Name must be present once.")
	}
	if value, ok := decodeHeader(header); !ok || value != name {
		return mismatch("Mcp-Name does not equal params.name in the body.")
	}
	snapshot, ok := x.opts.Runtime.Snapshot(x.session.ID)
	if !ok || snapshot.Projection == nil {
		return nil
	}
	tool, ok := snapshot.Projection.Lookup(name)
	if !ok {
		return nil
	}
	for _, param := range tool.Tool.HeaderParams {
		if !mirrors(x.request.Header, param, arguments) {
			return mismatch("Mcp-Param-" + param.Header + " does not mirror its argument. List the tools again.")
		}
	}
	return nil
}

// mirrors reports whether the header says what the argument says; no argument, no header.
func mirrors(h http.Header, param catalog.HeaderParam, arguments json.RawMessage) bool {
	key := http.CanonicalHeaderKey(wire.HeaderParamPrefix + param.Header)
	value := at(arguments, param.Path)
	if value == nil || string(value) == "null" {
		return len(h[key]) == 0
	}
	header, ok := one(h, key)
	if !ok {
		return false
	}
	header, ok = decodeHeader(header)
	return ok && sameValue(header, value)
}

// at reads the value at a path of property names, or nil.
func at(value json.RawMessage, path []string) json.RawMessage {
	for _, name := range path {
		object, err := wire.ParseObject(value)
		if err != nil {
			return nil
		}
		value = object.Get(name)
	}
	return value
}

// sameValue compares a header with a JSON string, boolean or integer. Numbers are compared as numbers, within the range
// that the protocol allows for mirrored ones.
func sameValue(header string, value json.RawMessage) bool {
	switch value[0] {
	case '"':
		text, ok := wire.Object{{Name: "v", Value: value}}.String("v")
		return ok && text == header
	case 't', 'f':
		return header == string(value)
	}
	if header == string(value) {
		return true
	}
	const safe = 1<<53 - 1
	a, errA := strconv.ParseFloat(header, 64)
	b, errB := strconv.ParseFloat(string(value), 64)
	return errA == nil && errB == nil && a == b && math.Abs(a) <= safe
}

const (
	sentinelHead = "=?base64?"
	sentinelTail = "?="
)

// decodeHeader reads a mirrored value: visible ASCII, space and tab as it is, or anything in the Base64 sentinel.
func decodeHeader(v string) (string, bool) {
	for i := range len(v) {
		if c := v[i]; (c < ' ' && c != '\t') || c >= 0x7f {
			return "", false
		}
	}
	encoded, ok := strings.CutPrefix(v, sentinelHead)
	if !ok {
		return v, true
	}
	encoded, ok = strings.CutSuffix(encoded, sentinelTail)
	if !ok {
		return v, true
	}
	decoded, err := base64.StdEncoding.Strict().DecodeString(encoded)
	return string(decoded), err == nil
}
