// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
)

// maxObjectBytes is what spec and status may take together.
const maxObjectBytes = 1 << 20

// TestLargestObjects writes objects in which everything that may be there is there, as long and as many as may be, in
// characters that take the most bytes. They are stored, stay within 1 MiB, and can be written again: whole, their labels,
// and their status.
func TestLargestObjects(t *testing.T) {
	c, ns := strict(t), namespace(t)
	for kind, root := range schemas(t) {
		for i, choose := range choices[kind] {
			t.Run(kind+"/"+strconv.Itoa(i), func(t *testing.T) {
				f := filler{t: t, kind: kind}
				spec, status := root.Properties["spec"], root.Properties["status"]
				o := object(t, kind, edit{"spec": f.fill("spec", &spec, 0)})
				for path, value := range choose {
					edit{path: value}.apply(t, o)
				}
				o.SetNamespace(ns)
				if err := c.Create(t.Context(), o); err != nil {
					t.Fatalf("create: %.4000s", err)
				}
				edit{"status": f.fill("status", &status, 0)}.apply(t, o)
				if err := c.Status().Update(t.Context(), o); err != nil {
					t.Fatalf("write status: %.4000s", err)
				}
				checkLargest(t, c, o)
			})
		}
	}
}

func checkLargest(t *testing.T, c client.Client, o *unstructured.Unstructured) {
	t.Helper()
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		t.Fatal(err)
	}
	size := 0
	for _, part := range []string{"spec", "status"} {
		encoded, err := json.Marshal(o.Object[part])
		if err != nil {
			t.Fatal(err)
		}
		size += len(encoded)
	}
	t.Logf("%d bytes of %d", size, maxObjectBytes)
	if size > maxObjectBytes {
		t.Errorf("spec and status take %d bytes, more than %d", size, maxObjectBytes)
	}
	rewrite(t, c, o)
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":["mcp.mooring.dev/test"]}}`))
	if err := c.Patch(t.Context(), o, patch); err != nil {
		t.Errorf("patch metadata: %v", err)
	}
	patch = client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
	if err := c.Patch(t.Context(), o, patch); err != nil {
		t.Errorf("patch metadata back: %v", err)
	}
}

// choices resolve, by kind, what excludes each other.
var choices = map[string][]edit{
	"McpServer": {
		{"spec.transport.type": "StreamableHTTP", "spec.transport.sse": gone, "spec.transport.stdio": gone},
		{"spec.transport.type": "SSE", "spec.transport.streamableHTTP": gone, "spec.transport.stdio": gone},
		{
			"spec.transport.type": "Stdio", "spec.transport.sse": gone, "spec.transport.streamableHTTP": gone,
			"spec.transport.stdio.address": gone, "spec.transport.stdio.tokenSecretKeyRef": gone, "spec.oauth": gone,
		},
	},
	"McpSession": {{"spec.sampling.mode": "Model", "spec.roots.mode": "Fixed", "spec.exposure": "Trusted"}},
	"McpTask":    {{"spec.mode": "Auto"}, {"spec.mode": "Task", "spec.arguments": text(maxArguments, `\"`)}},
}

// filler makes the largest value of a schema.
type filler struct {
	t    *testing.T
	kind string
}

// special values, by kind and path, for what a schema alone does not say: patterns with a structure, rules, and the
// budgets that the operator keeps to.
func (f *filler) special(path string, i int) any {
	id := fmt.Sprintf("%04d", i)
	angles := func(budget int) string { return strings.Repeat("<", budget/6) }
	switch key := f.kind + "." + path; key {
	case "McpServer.spec.transport.streamableHTTP.url", "McpServer.spec.transport.sse.url":
		return "https://mcp.example.com/?" + strings.Repeat("&", 2048-25)
	case "McpServer.spec.transport.stdio.resources.cpu", "McpServer.spec.transport.stdio.resources.memory":
		return strings.Repeat("1", 32)
	case "McpServer.spec.transport.streamableHTTP.headers[].name", "McpServer.spec.transport.sse.headers[].name",
		"McpSession.spec.servers[].headers[].name", "McpSession.spec.overrides.servers[].headers[].name":
		return strings.Repeat("a", 60) + id
	case "McpServer.spec.transport.streamableHTTP.headers[].secretKeyRef", "McpServer.spec.transport.sse.headers[].secretKeyRef",
		"McpServer.spec.transport.stdio.env[].secretKeyRef", "McpServer.spec.transport.stdio.address",
		"McpServer.spec.transport.stdio.tokenSecretKeyRef",
		"McpSession.spec.servers[].headers[].value", "McpSession.spec.overrides.servers[].headers[].value":
		return gone
	case "McpSession.spec.roots.items[].uri":
		return "file:///" + id + strings.Repeat("&", 168)
	case "McpSession.spec.subscriptions[].uri":
		return id + strings.Repeat("&", 170)
	case "McpSession.spec.sampling.model.url":
		return "https://example.com/" + strings.Repeat("&", 1024-20)
	case "McpSession.spec.interaction.hooks[].url":
		return "https://example.com/?" + strings.Repeat("&", 1024-21)
	case "McpSession.spec.interaction.hooks[].events":
		return l{"BeforeShow", "BeforeAnswer"}
	case "McpSession.spec.extensions.passThrough[]":
		return "example.com/" + strings.Repeat("a", 112) + id
	case "McpSession.spec.workspace.selector.matchExpressions[].operator", "McpSession.spec.plugins.selector.matchExpressions[].operator":
		return "NotIn"
	case "McpSession.status.endpoint", "McpSession.status.servers[].authorization.issuer":
		return "https://" + strings.Repeat("a", 504)
	case "McpSession.status.servers[].serverInfo.name", "McpSession.status.servers[].serverInfo.title",
		"McpSession.status.servers[].serverInfo.version":
		return angles(v1alpha1.ServerInfoBytes)
	case "McpSession.status.servers[].lastError.message", "McpSession.status.skippedServers[].message":
		return angles(v1alpha1.ErrorMessageBytes)
	case "McpSession.status.pendingInteractions[].message", "McpSession.status.conditions[].message",
		"McpServer.status.conditions[].message", "McpTask.status.conditions[].message":
		return angles(v1alpha1.MessageBytes)
	case "McpSession.status.conditions[].type", "McpServer.status.conditions[].type", "McpTask.status.conditions[].type":
		return "C" + strings.Repeat("a", 311) + id
	case "McpSession.status.conditions[].reason", "McpServer.status.conditions[].reason", "McpTask.status.conditions[].reason":
		return strings.Repeat("R", 1024)
	case "McpSession.status.servers[].capabilities":
		return repeated(v1alpha1.CapabilitiesBytes/(60+3), func(int) any { return strings.Repeat("a", 60) })
	case "McpSession.status.servers[].authorization.scopes":
		return repeated(v1alpha1.ScopesBytes/(120+3), func(int) any { return strings.Repeat("a", 120) })
	case "McpSession.status.tools":
		return repeated(v1alpha1.ListedToolsBytes/150, func(i int) any {
			return m{"name": fmt.Sprintf("mcp__s__%04d", i), "server": "s", "description": strings.Repeat("<", 10)}
		})
	case "McpSession.status.subscriptions":
		return repeated(v1alpha1.SubscriptionsBytes/500, func(i int) any {
			return m{"server": "s", "uri": fmt.Sprintf("%04d", i) + strings.Repeat("<", 70), "state": "Active"}
		})
	case "McpSession.status.skippedServers[].name":
		return "a" + strings.Repeat("b", 58) + id
	case "McpTask.spec.arguments":
		return `{"a":"` + strings.Repeat("<", 131069) + `"}`
	case "McpTask.status.id":
		return "mcp_task_" + strings.Repeat("a", 55)
	case "McpTask.status.progress.current", "McpTask.status.progress.total":
		return strings.Repeat("1", 32)
	case "McpTask.status.result.preview":
		return angles(v1alpha1.ResultPreviewBytes)
	}
	return nil
}

func repeated(n int, value func(i int) any) l {
	list := make(l, 0, n)
	for i := range n {
		list = append(list, value(i))
	}
	return list
}

// fill returns the largest value; the i-th of a list differs from the others.
func (f *filler) fill(path string, s *apiextensionsv1.JSONSchemaProps, i int) any {
	if value := f.special(path, i); value != nil {
		return value
	}
	switch s.Type {
	case "object":
		return f.object(path, s, i)
	case "array":
		return repeated(int(*s.MaxItems), func(i int) any { return f.fill(path+"[]", s.Items.Schema, i) })
	case "integer":
		if s.Maximum == nil {
			return int64(1) << 53
		}
		return int64(*s.Maximum)
	case "string":
		return f.text(path, s, i)
	}
	f.t.Fatalf("%s: cannot fill type %q", path, s.Type)
	return nil
}

func (f *filler) object(path string, s *apiextensionsv1.JSONSchemaProps, i int) any {
	out := m{}
	for name, property := range s.Properties {
		if value := f.fill(path+"."+name, &property, i); value != gone {
			out[name] = value
		}
	}
	if s.AdditionalProperties != nil {
		for n := range int(*s.MaxProperties) {
			key := fmt.Sprintf("%s%04d", strings.Repeat("a", 249), n)
			out[key] = f.fill(path+"{}", s.AdditionalProperties.Schema, n)
		}
	}
	return out
}

func (f *filler) text(path string, s *apiextensionsv1.JSONSchemaProps, i int) any {
	if len(s.Enum) > 0 {
		var value string
		if err := json.Unmarshal(s.Enum[len(s.Enum)-1].Raw, &value); err != nil {
			f.t.Fatal(err)
		}
		return value
	}
	if s.Format == "date-time" {
		return "2026-01-02T03:04:05Z"
	}
	id := fmt.Sprintf("%04d", i)
	pattern := regexp.MustCompile(s.Pattern)
	for _, c := range []string{"<", "&", `"`, "a", "1"} {
		value := strings.Repeat(c, max(int(*s.MaxLength)-len(id), 0)) + id
		if *s.MaxLength < int64(len(id)) {
			value = strings.Repeat(c, int(*s.MaxLength))
		}
		if pattern.MatchString(value) {
			return value
		}
	}
	f.t.Fatalf("%s: no value for pattern %s", path, s.Pattern)
	return nil
}
