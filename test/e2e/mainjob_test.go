// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/test/servers"
)

// TestMainJob goes from manifests to tool calls that real servers answer, in both protocol eras on either side.
func TestMainJob(t *testing.T) {
	node, err := servers.EverythingNode(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer node.Stop()
	sdk, err := servers.EverythingGo(t.Context(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer sdk.Stop()
	modern, err := servers.ConformanceGo(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer modern.Stop()

	ns := namespace(t, "main")
	server(t, ns, "node", node.URL)
	server(t, ns, "sdk", sdk.URL)
	server(t, ns, "modern", modern.URL)
	session(t, ns, "s", "node", "sdk", "modern")
	s := awaitSession(t, ns, "s", time.Minute, ready)

	versions := map[string]string{}
	for _, server := range s.Status.Servers {
		versions[server.Name] = server.ProtocolVersion
	}
	if versions["node"] != "2025-11-25" || versions["sdk"] != "2025-11-25" || versions["modern"] != "2026-07-28" {
		t.Errorf("negotiated %v", versions)
	}
	listed := map[string]bool{}
	for _, tool := range s.Status.Tools {
		listed[tool.Name] = true
	}
	for _, name := range []string{"mcp__node__echo", "mcp__sdk__greet", "mcp__modern__test_simple_text"} {
		if !listed[name] {
			t.Errorf("status does not list %s: %v", name, listed)
		}
	}

	for _, version := range []string{"2025-11-25", mcp.LATEST_PROTOCOL_VERSION} {
		t.Run(version, func(t *testing.T) {
			a := connect(t, ns, "s", version)
			if got := a.tools(t); len(got) != len(listed) {
				t.Errorf("tools/list has %d tools, status %d", len(got), len(listed))
			}
			text, err := a.call(t.Context(), "mcp__node__echo", map[string]any{"message": "across"})
			if err != nil || !strings.Contains(text, "across") {
				t.Errorf("echo: %q, %v", text, err)
			}
			text, err = a.call(t.Context(), "mcp__sdk__greet", map[string]any{"name": "Mooring"})
			if err != nil || !strings.Contains(text, "Mooring") {
				t.Errorf("greet: %q, %v", text, err)
			}
			text, err = a.call(t.Context(), "mcp__modern__test_simple_text", nil)
			if err != nil || text == "" {
				t.Errorf("simple text: %q, %v", text, err)
			}
		})
	}
	t.Run("task", func(t *testing.T) {
		task(t, ns, "greet", "s", "mcp__sdk__greet", `{"name":"Mooring"}`)
		done := awaitTask(t, ns, "greet", 30*time.Second)
		if done.Status.State != v1alpha1.TaskCompleted || done.Status.Result == nil ||
			!strings.Contains(done.Status.Result.Preview, "Mooring") {
			t.Errorf("task: %+v %s", done.Status, conditions(done.Status.Conditions))
		}
	})
}

// TestSessionsAreIsolated shows that a session's connection is its own.
func TestSessionsAreIsolated(t *testing.T) {
	counter := servers.NewCounter()
	defer counter.Close()
	ns := namespace(t, "isolated")
	server(t, ns, "counter", counter.URL)
	create(t, legacy(ns, "old", counter.URL))
	one, _ := session(t, ns, "one", "old"), session(t, ns, "two", "old")
	awaitSession(t, ns, "one", 30*time.Second, ready)
	awaitSession(t, ns, "two", 30*time.Second, ready)
	if began, _ := counter.Sessions(); began != 2 {
		t.Fatalf("%d upstream sessions of two sessions", began)
	}
	a := connect(t, ns, "two", mcp.LATEST_PROTOCOL_VERSION)
	answer := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		_, err := a.call(ctx, "mcp__old__slow", map[string]any{"key": "kept", "milliseconds": 3000})
		answer <- err
	}()
	eventually(t, 10*time.Second, func() string {
		if counter.Calls("kept") == 0 {
			return "the call is not at the server"
		}
		return ""
	})
	if err := k8s.Delete(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, func() string {
		if client.IgnoreNotFound(k8s.Get(t.Context(), client.ObjectKeyFromObject(one), one)) != nil {
			return "the session is there"
		}
		if _, ended := counter.Sessions(); ended != 1 {
			return "its upstream session was not ended"
		}
		return ""
	})
	if err := <-answer; err != nil {
		t.Errorf("the other session's call: %v", err)
	}
	if n := counter.Calls("kept"); n != 1 {
		t.Errorf("the server counted %d calls", n)
	}
}
