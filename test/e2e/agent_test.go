// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	mcpclient "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// token makes one as the kubelet would project it into the agent's Pod.
func token(t *testing.T, ns, session string) string {
	t.Helper()
	pod := &corev1.Pod{}
	if err := k8s.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "agent"}, pod); err != nil {
		t.Fatal(err)
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		Audiences:      []string{fmt.Sprintf("mooring:%s/%s", ns, session)},
		BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID},
	}}
	account := &corev1.ServiceAccount{}
	account.Namespace, account.Name = ns, "agent"
	if err := k8s.SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

// agent is a client of somebody else's that knows a URL and a token.
type agent struct{ *mcpclient.Client }

// connect makes an agent of one protocol version.
func connect(t *testing.T, ns, session, version string) *agent {
	t.Helper()
	url := fmt.Sprintf("%s/v1/namespaces/%s/sessions/%s/mcp", manager.GatewayURL, ns, session)
	sockets := &http.Transport{}
	c, err := mcpclient.NewStreamableHttpClient(url,
		transport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer " + token(t, ns, session)}),
		transport.WithHTTPBasicClient(&http.Client{Transport: sockets}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Close()
		sockets.CloseIdleConnections()
	})
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	hello := mcp.InitializeRequest{}
	hello.Params.ProtocolVersion = version
	hello.Params.ClientInfo = mcp.Implementation{Name: "agent", Version: "1"}
	answer, err := c.Initialize(t.Context(), hello)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	if answer.ProtocolVersion != version {
		t.Fatalf("the gateway speaks %s, not %s", answer.ProtocolVersion, version)
	}
	return &agent{c}
}

// call returns the text of a tool's answer.
func (a *agent) call(ctx context.Context, tool string, arguments map[string]any) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	request := mcp.CallToolRequest{}
	request.Params.Name, request.Params.Arguments = tool, arguments
	result, err := a.CallTool(ctx, request)
	if err != nil {
		return "", err
	}
	for _, part := range result.Content {
		if text, ok := part.(mcp.TextContent); ok {
			return text.Text, nil
		}
	}
	return "", errors.New("an answer without text")
}

// tools lists the names of all tools.
func (a *agent) tools(t *testing.T) map[string]mcp.Tool {
	t.Helper()
	all := map[string]mcp.Tool{}
	request := mcp.ListToolsRequest{}
	for {
		page, err := a.ListToolsByPage(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range page.Tools {
			all[tool.Name] = tool
		}
		if page.NextCursor == "" {
			return all
		}
		request.Params.Cursor = page.NextCursor
	}
}
