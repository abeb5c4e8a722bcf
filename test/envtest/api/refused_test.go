// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// TestRefused shows what people do wrong: each is refused with an error that says where.
func TestRefused(t *testing.T) {
	c, ns := strict(t), namespace(t)
	secret := m{"name": "s", "key": "k"}
	for name, tc := range map[string]struct {
		kind string
		edit edit
		// want stands in the error.
		want string
	}{
		"unknown field in spec": {"McpServer", edit{"spec.transports": m{}}, `unknown field "spec.transports"`},
		"unknown field deep down": {
			"McpServer", edit{"spec.transport.streamableHTTP.header": l{}}, `unknown field "spec.transport.streamableHTTP.header"`,
		},
		"namespace in a secret reference": {
			"McpServer", edit{"spec.transport.streamableHTTP.headers": l{
				m{"name": "A", "secretKeyRef": m{"name": "s", "key": "k", "namespace": "other"}},
			}}, `unknown field "spec.transport.streamableHTTP.headers[0].secretKeyRef.namespace"`,
		},
		"token endpoint typed by a user": {
			"McpServer",
			edit{"spec.oauth": m{"grant": "AuthorizationCode", "tokenUrl": "https://a.example.com"}},
			`unknown field "spec.oauth.tokenUrl"`,
		},
		"inline server":              {"McpSession", edit{"spec.servers.0.url": "https://a.example.com"}, `unknown field "spec.servers[0].url"`},
		"no spec":                    {"McpServer", edit{"spec": gone}, "spec: Required value"},
		"spec of another type":       {"McpSession", edit{"spec": "everything"}, "spec: Invalid value"},
		"no transport":               {"McpServer", edit{"spec": m{}}, "spec.transport: Required value"},
		"word of another case":       {"McpServer", edit{"spec.transport.type": "streamablehttp"}, "spec.transport.type: Unsupported value"},
		"bool for a policy":          {"McpSession", edit{"spec.suspend": true}, "spec.suspend: Invalid value"},
		"duration for a number":      {"McpServer", edit{"spec.calls": m{"totalTimeoutSeconds": "5m"}}, "spec.calls.totalTimeoutSeconds: Invalid value"},
		"fraction for a number":      {"McpServer", edit{"spec.calls": m{"totalTimeoutSeconds": 1.5}}, "spec.calls.totalTimeoutSeconds: Invalid value"},
		"zero timeout":               {"McpServer", edit{"spec.calls": m{"totalTimeoutSeconds": 0}}, "spec.calls.totalTimeoutSeconds: Invalid value"},
		"timeout beyond the limit":   {"McpServer", edit{"spec.calls": m{"totalTimeoutSeconds": 1801}}, "spec.calls.totalTimeoutSeconds: Invalid value"},
		"empty policy":               {"McpServer", edit{"spec.recovery": m{}}, "spec.recovery: Invalid value"},
		"metadata address":           {"McpServer", edit{"spec.transport.streamableHTTP.url": "http://169.254.169.254/latest/"}, "spec.transport.streamableHTTP.url: Invalid value"},
		"line break in a header":     {"McpServer", edit{"spec.transport.streamableHTTP.headers": l{m{"name": "A", "value": "b\r\nC: d"}}}, "headers[0].value: Invalid value"},
		"header twice":               {"McpServer", edit{"spec.transport.streamableHTTP.headers": l{m{"name": "A", "value": "b"}, m{"name": "A", "value": "c"}}}, "headers[1]: Duplicate value"},
		"server twice":               {"McpSession", edit{"spec.servers": l{m{"name": "a", "ref": m{"name": "a"}}, m{"name": "a", "ref": m{"name": "b"}}}}, "spec.servers[1]: Duplicate value"},
		"server name with a dot":     {"McpSession", edit{"spec.servers.0.name": "a.b"}, "spec.servers[0].name: Invalid value"},
		"reference to another place": {"McpSession", edit{"spec.servers.0.ref.name": "../other/server"}, "spec.servers[0].ref.name: Invalid value"},
		"too many servers":           {"McpSession", edit{"spec.servers": manyServers(33)}, "spec.servers: Too many"},
		"too many headers": {"McpSession", edit{"spec.servers.0.headers": l{
			m{"name": "A", "secretKeyRef": secret},
			m{"name": "B", "secretKeyRef": secret},
			m{"name": "C", "secretKeyRef": secret},
			m{"name": "D", "secretKeyRef": secret},
			m{"name": "E", "secretKeyRef": secret},
		}}, "spec.servers[0].headers: Too many"},
		"empty allow list":       {"McpSession", edit{"spec.tools": m{"allow": l{}}}, "spec.tools.allow: Invalid value"},
		"regular expression":     {"McpSession", edit{"spec.tools": m{"deny": l{"mcp__a__(b|c)"}}}, "spec.tools.deny[0]: Invalid value"},
		"tool by its own name":   {"McpTask", edit{"spec.tool": "files/read"}, "spec.tool: Invalid value"},
		"arguments as an object": {"McpTask", edit{"spec.arguments": m{"a": 1}}, `unknown field "spec.arguments.a"`},
		"arguments over the limit": {
			"McpTask", edit{"spec.arguments": text(maxArguments+1, "a")}, "spec.arguments: Too long: may not be more than 262144",
		},
		"arguments far over the limit": {"McpTask", edit{"spec.arguments": text(2<<20, "a")}, "spec.arguments: Too long"},
		"unknown cancel":               {"McpTask", edit{"spec.cancel": "Now"}, "spec.cancel: Unsupported value"},
	} {
		t.Run(name, func(t *testing.T) {
			o := object(t, tc.kind, tc.edit)
			o.SetNamespace(ns)
			err := c.Create(t.Context(), o)
			switch {
			case err == nil:
				t.Errorf("want it refused")
			case !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err):
				t.Errorf("want invalid or bad request, got %v", err)
			case !strings.Contains(err.Error(), tc.want):
				t.Errorf("want %q, got %.1000s", tc.want, err)
			case len(err.Error()) > 8<<10:
				t.Errorf("want an error that can be read, got %d bytes", len(err.Error()))
			}
		})
	}
}

func manyServers(n int) l {
	servers := make(l, 0, n)
	for i := range n {
		name := "s" + strings.Repeat("x", i)
		servers = append(servers, m{"name": name, "ref": m{"name": name}})
	}
	return servers
}
