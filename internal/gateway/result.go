// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"bytes"
	"encoding/json"

	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// settle makes a server's result the agent's: what belongs to the server's hop goes, what this hop owes comes, and
// every other byte stays (bridge rows 1 and 3). The result comes in parts, so that a large one is not copied.
func (i identity) settle(raw json.RawMessage, modern, fromModern bool) [][]byte {
	if untouched(raw) {
		if !modern {
			return [][]byte{raw}
		}
		if parts := i.extend(raw); parts != nil {
			return parts
		}
	}
	object, err := wire.ParseObject(raw)
	if err != nil {
		return [][]byte{raw} // not an object: no era has a place for anything of ours in it
	}
	object = withoutHopMeta(object)
	switch {
	case !modern && fromModern:
		object = object.Without(wire.ResultTypeField)
	case modern && (!fromModern || object.Get(wire.ResultTypeField) == nil):
		// A legacy server's member of that name means something of its own; here it would make the result invalid.
		object = object.With(wire.ResultTypeField, wire.Quote(wire.ResultTypeComplete))
	}
	if modern {
		object = i.sign(object)
	}
	return [][]byte{object.Raw()}
}

// extend puts what this hop owes at the end of an object's bytes; nil for what is no object.
func (i identity) extend(raw json.RawMessage) [][]byte {
	body, ok := bytes.CutSuffix(raw, []byte("}"))
	if !ok || raw[0] != '{' {
		return nil
	}
	comma := ","
	if len(bytes.TrimSpace(body[1:])) == 0 {
		comma = ""
	}
	return [][]byte{body, []byte(comma + `"resultType":"complete","_meta":`), i.meta, []byte("}")}
}

// sign adds serverInfo to a result's _meta, unless that is something that cannot hold it.
func (i identity) sign(object wire.Object) wire.Object {
	raw := object.Get("_meta")
	if raw == nil {
		return object.With("_meta", i.meta)
	}
	meta, err := wire.ParseObject(raw)
	if err != nil {
		return object
	}
	return object.With("_meta", meta.With(wire.MetaServerInfo, i.info).Raw())
}

// untouched reports whether a result certainly has neither a _meta nor a resultType, at any depth and in any spelling:
// a member's name can hide these ASCII letters only behind \u00.
func untouched(raw []byte) bool {
	return !bytes.Contains(raw, []byte(`"_meta"`)) && !bytes.Contains(raw, []byte(`"resultType"`)) &&
		!bytes.Contains(raw, []byte(`\u00`))
}
