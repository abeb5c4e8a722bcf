// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"strings"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mooring-dev/mooring/test/cluster"
)

// agentToken makes a token as the kubelet would project it into the agent's Pod: bound to the Pod, for the session's
// audience alone.
func agentToken(ctx context.Context, c *cluster.Cluster) (string, error) {
	out, err := kubectl(ctx, c, "create", "token", "agent", "-n", namespace, "--audience=mooring:"+namespace+"/"+session,
		"--bound-object-kind=Pod", "--bound-object-name=agent")
	return strings.TrimSpace(out), err
}

// callGreet is an unmodified MCP client that knows a URL and a token.
func callGreet(ctx context.Context, url, token string) (name, text string, err error) {
	c, err := client.NewStreamableHttpClient(url, transport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer " + token}))
	if err != nil {
		return "", "", err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if err := c.Start(ctx); err != nil {
		return "", "", err
	}
	hello := mcp.InitializeRequest{}
	hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	hello.Params.ClientInfo = mcp.Implementation{Name: "demo-agent", Version: "1"}
	if _, err := c.Initialize(ctx, hello); err != nil {
		return "", "", err
	}
	request := mcp.CallToolRequest{}
	request.Params.Name = "mcp__everything__greet"
	request.Params.Arguments = map[string]any{"name": "Mooring"}
	result, err := c.CallTool(ctx, request)
	if err != nil {
		return "", "", err
	}
	for _, part := range result.Content {
		if t, ok := part.(mcp.TextContent); ok {
			return request.Params.Name, t.Text, nil
		}
	}
	return "", "", errors.New("the tool answered without text")
}
