// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

type method func(*exchange) *problem

var legacyMethods = map[string]method{
	wire.MethodInitialize:    (*exchange).initialize,
	wire.MethodPing:          (*exchange).ping,
	wire.MethodToolsList:     (*exchange).toolsList,
	wire.MethodToolsCall:     (*exchange).toolsCall,
	wire.MethodResourcesList: (*exchange).resourcesList,
	wire.MethodTemplatesList: (*exchange).templatesList,
	wire.MethodResourcesRead: (*exchange).resourcesRead,
}

var modernMethods = map[string]method{
	wire.MethodDiscover:      (*exchange).discover,
	wire.MethodToolsList:     (*exchange).toolsList,
	wire.MethodToolsCall:     (*exchange).toolsCall,
	wire.MethodResourcesList: (*exchange).resourcesList,
	wire.MethodTemplatesList: (*exchange).templatesList,
	wire.MethodResourcesRead: (*exchange).resourcesRead,
}

// capabilities are those of the endpoint, not of the servers behind it, which come and go (bridge row 11). What is
// declared is served: no list changes are announced while there is no stream to announce them on.
var capabilities = json.RawMessage(`{"tools":{},"resources":{}}`)

// identity is who this endpoint says it is.
type identity struct {
	// info is the serverInfo object; meta is a _meta object that holds it.
	info, meta json.RawMessage
}

func newIdentity(version string) identity {
	info := wire.Object{{Name: "name", Value: wire.Quote("mooring")}, {Name: "version", Value: wire.Quote(version)}}.Raw()
	return identity{info: info, meta: wire.Object{{Name: wire.MetaServerInfo, Value: info}}.Raw()}
}

// initialize agrees on a version. No Mcp-Session-Id is issued: nothing is kept for one.
func (x *exchange) initialize() *problem {
	version, ok := x.params.String("protocolVersion")
	if !ok {
		return invalid(http.StatusOK, wire.CodeInvalidParams, "initialize needs protocolVersion, a string.")
	}
	if !slices.Contains(legacyVersions, version) {
		version = legacyVersions[0]
	}
	x.reply.result(x.message.ID, wire.Object{
		{Name: "protocolVersion", Value: wire.Quote(version)},
		{Name: "capabilities", Value: capabilities},
		{Name: "serverInfo", Value: x.identity.info},
	}.Raw())
	return nil
}

func (x *exchange) ping() *problem {
	x.reply.result(x.message.ID, []byte("{}"))
	return nil
}

func (x *exchange) discover() *problem {
	supported, _ := json.Marshal(versions) // strings always marshal
	x.reply.result(x.message.ID, wire.Object{
		{Name: wire.ResultTypeField, Value: wire.Quote(wire.ResultTypeComplete)},
		{Name: "supportedVersions", Value: supported},
		{Name: "capabilities", Value: capabilities},
		{Name: "ttlMs", Value: json.RawMessage("0")},
		{Name: "cacheScope", Value: wire.Quote("private")},
		{Name: "_meta", Value: x.identity.meta},
	}.Raw())
	return nil
}

// notified takes a notification. Only a legacy client cancels by one; a modern client closes its stream instead.
func (x *exchange) notified() {
	if x.modern || x.message.Method != wire.MethodCancelled {
		return
	}
	if id := x.params.Get("requestId"); id != nil {
		x.inflight.cancel(x.flight(string(id)))
	}
}

func (x *exchange) flight(id string) flight {
	return flight{session: x.session.ID, principal: x.principal.key(), id: id}
}
