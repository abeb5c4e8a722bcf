// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/test/operator"
	"github.com/mooring-dev/mooring/test/servers"
)

const serverManifest = `
apiVersion: mcp.mooring.dev/v1alpha1
kind: McpServer
metadata: {name: %s}
spec:
  transport:
    type: StreamableHTTP
    streamableHTTP: {url: %q%s}
`

// TestRefusals applies what cannot work, as a person would, and expects to be told why.
func TestRefusals(t *testing.T) {
	ns := namespace(t, "refused")
	long := strings.Repeat("x", 257<<10)
	cases := []struct {
		name, manifest string
		says           []string
	}{
		{"garbage", "{{{", []string{"error"}},
		{"no such kind", "apiVersion: mcp.mooring.dev/v1alpha1\nkind: McpThing\nmetadata: {name: x}", []string{"McpThing"}},
		{"unknown field", fmt.Sprintf(serverManifest, "unknown", "http://example.com/mcp", ", colour: red"), []string{"colour"}},
		{"no URL", fmt.Sprintf(serverManifest, "scheme", "file:///etc/passwd", ""), []string{"url"}},
		{"metadata address", fmt.Sprintf(serverManifest, "metadata", "http://169.254.169.254/latest/meta-data", ""), []string{"spec.transport.streamableHTTP.url"}},
		{"arguments no object", "apiVersion: mcp.mooring.dev/v1alpha1\nkind: McpTask\nmetadata: {name: x}\n" +
			"spec: {sessionRef: {name: s}, tool: mcp__a__b, arguments: '[1]'}", []string{"spec.arguments"}},
		{"type without its member", "apiVersion: mcp.mooring.dev/v1alpha1\nkind: McpServer\nmetadata: {name: x}\n" +
			"spec: {transport: {type: StreamableHTTP}}", []string{"streamableHTTP"}},
		{"arguments over the limit", "apiVersion: mcp.mooring.dev/v1alpha1\nkind: McpTask\nmetadata: {name: x}\n" +
			"spec: {sessionRef: {name: s}, tool: mcp__a__b, arguments: '{\"a\":\"" + long + "\"}'}", []string{"spec.arguments"}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			out, err := operator.Kubectl(t.Context(), control, tc.manifest, "apply", "-n", ns, "-f", "-")
			if err == nil {
				t.Fatalf("accepted: %s", out)
			}
			for _, want := range tc.says {
				if !strings.Contains(out, want) {
					t.Errorf("does not say %q: %.500s", want, out)
				}
			}
		})
	}
}

// TestRefusedAddress shows that an address that policy refuses is told at the definition, and breaks nothing beside it.
func TestRefusedAddress(t *testing.T) {
	counter := servers.NewCounter()
	defer counter.Close()
	ns := namespace(t, "address")
	apply(t, ns, fmt.Sprintf(serverManifest, "metadata", "http://2852039166/latest/meta-data", "")) // 169.254.169.254 by another spelling
	eventually(t, 20*time.Second, func() string {
		got := &v1alpha1.McpServer{}
		if err := k8s.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "metadata"}, got); err != nil {
			return err.Error()
		}
		c := meta.FindStatusCondition(got.Status.Conditions, v1alpha1.ConditionAccepted)
		if c == nil || c.Status != metav1.ConditionFalse || !strings.Contains(c.Message, "spec.transport.streamableHTTP.url") {
			return "metadata: " + conditions(got.Status.Conditions)
		}
		return ""
	})
	server(t, ns, "good", counter.URL)
	session(t, ns, "s", "metadata", "good")
	s := awaitSession(t, ns, "s", 30*time.Second, func(s *v1alpha1.McpSession) bool {
		c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady)
		return c != nil && c.Status == metav1.ConditionTrue && c.Reason == v1alpha1.ReasonDegraded
	})
	if len(s.Status.Tools) != 2 {
		t.Errorf("the good server's tools: %v", s.Status.Tools)
	}
	// What was refused can be mended.
	apply(t, ns, fmt.Sprintf(serverManifest, "metadata", counter.URL, ""))
	awaitSession(t, ns, "s", 30*time.Second, ready)
}

// TestBadArguments shows that a task ends, and says so, whose arguments pass admission and mean two things at once.
func TestBadArguments(t *testing.T) {
	ns := namespace(t, "arguments")
	task(t, ns, "bad", "nowhere", "mcp__a__b", `{"a":1,"a":2}`)
	done := awaitTask(t, ns, "bad", 20*time.Second)
	c := meta.FindStatusCondition(done.Status.Conditions, v1alpha1.ConditionFailed)
	if c == nil || c.Reason != v1alpha1.ReasonInvalidArguments || !strings.Contains(c.Message, "spec.arguments") {
		t.Errorf("conditions: %s", conditions(done.Status.Conditions))
	}
}

// TestNotImplemented shows that a field of a later release connects nothing.
func TestNotImplemented(t *testing.T) {
	counter := servers.NewCounter()
	defer counter.Close()
	ns := namespace(t, "later")
	s := legacy(ns, "later", counter.URL)
	s.Spec.OAuth = &v1alpha1.OAuth{Grant: v1alpha1.GrantClientCredentials, Client: &v1alpha1.OAuthClient{
		ID: "id", SecretRef: &v1alpha1.SecretKeyReference{Name: "secret", Key: "key"},
	}}
	create(t, s)
	session(t, ns, "s", "later")
	got := awaitSession(t, ns, "s", 20*time.Second, func(s *v1alpha1.McpSession) bool { return len(s.Status.SkippedServers) == 1 })
	if began, _ := counter.Sessions(); began != 0 || meta.IsStatusConditionTrue(got.Status.Conditions, v1alpha1.ConditionReady) {
		t.Errorf("%d connections: %s", began, conditions(got.Status.Conditions))
	}
}

func apply(t *testing.T, ns, manifest string) {
	t.Helper()
	if out, err := operator.Kubectl(t.Context(), control, manifest, "apply", "-n", ns, "-f", "-"); err != nil {
		t.Fatalf("apply: %v: %s", err, out)
	}
}
