// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

// Command client is what the protocol's conformance suite tests as a client: one session of the runtime, its tools
// called as the scenario asks. The suite gives it a server's URL, and the scenario in its environment.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/mooring-dev/mooring/internal/egress"
	"github.com/mooring-dev/mooring/internal/mcp"
	"github.com/mooring-dev/mooring/internal/mcp/catalog"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

const (
	session = mcp.SessionID("conformance")
	server  = "server"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: client URL")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 25*time.Second)
	defer cancel()
	if err := run(ctx, os.Args[len(os.Args)-1]); err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to cancel
	}
}

// call is one tools/call that a scenario asks for, by the server's own name of the tool.
type call struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

func run(ctx context.Context, url string) (err error) {
	runtime := mcp.New(mcp.Options{
		ClientVersion: "conformance", Egress: &egress.Policy{AllowLoopback: true},
		Ask:          answer,
		Capabilities: wire.Object{{Name: "elicitation", Value: json.RawMessage(`{"form":{"applyDefaults":true}}`)}},
	})
	defer func() { err = errors.Join(err, runtime.Close(ctx)) }()
	runtime.Ensure(session, mcp.Desired{Servers: []mcp.Server{{
		Name: server, Fingerprint: url, HTTP: mcp.Endpoint{URL: url, Era: mcp.EraAuto},
	}}})
	snapshot, err := runtime.AwaitSync(ctx, session)
	if err != nil {
		return err
	}
	if state := snapshot.Servers[0]; state.State != mcp.StateConnected {
		return fmt.Errorf("the server is %s: %+v", state.State, state.LastError)
	}
	calls, err := wanted(snapshot)
	if err != nil {
		return err
	}
	for _, c := range calls {
		if _, err := runtime.Call(ctx, session, mcp.CallRequest{Tool: c.Name, Arguments: c.Arguments}); err != nil {
			return fmt.Errorf("call %s: %w", c.Name, err)
		}
	}
	return nil
}

// answer accepts every form with the defaults of its fields, and text for those that have none.
func answer(_ context.Context, q mcp.Question) (json.RawMessage, *wire.Error) {
	if q.Method != "elicitation/create" {
		return nil, &wire.Error{Code: wire.CodeMethodNotFound, Message: "method not found"}
	}
	var params struct {
		Schema struct {
			Properties map[string]struct {
				Type    string          `json:"type"`
				Default json.RawMessage `json:"default"`
			} `json:"properties"`
		} `json:"requestedSchema"`
	}
	if err := json.Unmarshal(q.Params, &params); err != nil {
		return nil, &wire.Error{Code: wire.CodeInvalidParams, Message: "invalid params"}
	}
	content := map[string]json.RawMessage{}
	for name, field := range params.Schema.Properties {
		switch {
		case field.Default != nil:
			content[name] = field.Default
		case field.Type == "boolean":
			content[name] = json.RawMessage(`true`)
		case field.Type == "string":
			content[name] = json.RawMessage(`"x"`)
		}
	}
	raw, err := json.Marshal(map[string]any{"action": "accept", "content": content})
	if err != nil {
		return nil, &wire.Error{Code: wire.CodeInternal, Message: "internal error"}
	}
	return raw, nil
}

// wanted says what to call in this scenario.
func wanted(snapshot *mcp.Snapshot) ([]call, error) {
	switch os.Getenv("MCP_CONFORMANCE_SCENARIO") {
	case "initialize", "request-metadata", "json-schema-ref-no-deref":
		return nil, nil // connecting and listing is all
	case "json-schema-2020-12-preservation":
		// Nothing of a schema may be lost between a server and whoever reads the projection.
		tool, ok := snapshot.Projection.Lookup("json_schema_2020_12_tool")
		if !ok {
			return nil, errors.New("the tool was not projected")
		}
		arguments, err := json.Marshal(map[string]json.RawMessage{"schema": tool.Tool.InputSchema})
		return []call{{Name: "json_schema_echo", Arguments: arguments}}, err
	}
	var given struct {
		ToolCalls []call `json:"toolCalls"`
	}
	if text := os.Getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &given); err != nil {
			return nil, fmt.Errorf("MCP_CONFORMANCE_CONTEXT: %w", err)
		}
	}
	if given.ToolCalls != nil {
		return given.ToolCalls, nil
	}
	return all(snapshot.Projection), nil
}

// all calls whatever is projected.
func all(projection *catalog.Projection) []call {
	calls := make([]call, 0, len(projection.Tools))
	for i := range projection.Tools {
		calls = append(calls, call{Name: projection.Tools[i].Name, Arguments: json.RawMessage(`{"a":2,"b":3}`)})
	}
	return calls
}
