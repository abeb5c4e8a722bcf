// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mooring-dev/mooring/api/v1alpha1"
)

func TestCheckServer(t *testing.T) {
	const at = "spec.transport.streamableHTTP.url "
	for url, want := range map[string]string{
		"https://a.example/mcp":                     "",
		"http://tools.default.svc:8080/mcp?a=b":     "",
		"HTTPS://A.example":                         "",
		"http://10.96.0.1/mcp":                      "",
		"http://[fd00::1]:80/mcp":                   "",
		"http://127.0.0.1:3000/mcp":                 "", // the operator's flag decides, when it dials
		"http://localhost:3000/mcp":                 "",
		"":                                          at + "must be an http or https URL",
		"ftp://a.example":                           at + "must be an http or https URL",
		"a.example/mcp":                             at + "must be an http or https URL",
		"http://":                                   at + "must name a host",
		"http:///mcp":                               at + "must name a host",
		"http://:80/mcp":                            at + "must name a host",
		"http:a.example":                            at + "must name a host",
		"http://a.example:port/":                    at + "is not a URL",
		"http://a.example/%zz":                      at + "is not a URL",
		"http://[::1":                               at + "is not a URL",
		"http://u:secret@a.example/":                at + "may not hold credentials",
		"http://@a.example/":                        at + "may not hold credentials",
		"http://a.example:0/":                       at + "must have a port of 1 to 65535, or none",
		"http://a.example:65536/":                   at + "must have a port of 1 to 65535, or none",
		"http://169.254.169.254/latest":             at + "names an address that is refused: cloud metadata",
		"http://[::ffff:a9fe:a9fe]/":                at + "names an address that is refused: cloud metadata",
		"http://2852039166/":                        at + "names an address that is refused: cloud metadata",
		"http://metadata.google.internal/":          at + "names an address that is refused: cloud metadata",
		"http://[fe80::1%25eth0]/":                  at + "names an address that is refused: link-local",
		"http://0.0.0.0/":                           at + "names an address that is refused: unspecified",
		"http://0x7f.1/":                            at + "names an address that is refused: loopback",
		"http://" + strings.Repeat("1", 2000) + "/": at + "names an address that is refused: unusual spelling of an address",
	} {
		got := checkServerSpec(func(s *server) { s.Transport.StreamableHTTP.URL = url })
		if diff := cmp.Diff(problem(v1alpha1.ReasonInvalidConfiguration, want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", url, diff)
		}
	}
}

// TestTransportUnion does not rely on the schema's rules.
func TestTransportUnion(t *testing.T) {
	want := problem(v1alpha1.ReasonInvalidConfiguration, "spec.transport must have the member that spec.transport.type names")
	for _, transport := range []v1alpha1.Transport{
		{},
		{Type: v1alpha1.TransportStreamableHTTP},
		{Type: v1alpha1.TransportSSE, StreamableHTTP: &v1alpha1.HTTPTransport{URL: "https://a.example"}},
		{Type: "Pigeon", StreamableHTTP: &v1alpha1.HTTPTransport{URL: "https://a.example"}},
	} {
		if diff := cmp.Diff(want, checkServerSpec(func(s *server) { s.Transport = transport })); diff != "" {
			t.Errorf("%v (-want +got):\n%s", transport, diff)
		}
	}
}

func TestBridgeAddress(t *testing.T) {
	token := &v1alpha1.SecretKeyReference{Name: "a", Key: "b"}
	for address, want := range map[string]string{
		"bridge.tools.svc:7000": "", "127.0.0.1:7000": "", "[2001:db8::1]:7000": "",
		"bridge": "spec.transport.stdio.address must be host:port", ":7000": "spec.transport.stdio.address must be host:port",
		"bridge:0":           "spec.transport.stdio.address must have a port of 1 to 65535",
		"169.254.169.254:80": "spec.transport.stdio.address names an address that is refused: cloud metadata",
	} {
		got := checkServerSpec(func(s *server) {
			s.Transport = v1alpha1.Transport{
				Type: v1alpha1.TransportStdio, Stdio: &v1alpha1.StdioTransport{Address: address, TokenSecretKeyRef: token},
			}
		})
		if (got == nil) != (want == "") || got != nil && got.Message != want {
			t.Errorf("%s: %+v, want %q", address, got, want)
		}
	}
}

// TestActedUpon sets every field that is acted upon.
func TestActedUpon(t *testing.T) {
	secret := &v1alpha1.SecretKeyReference{Name: "a", Key: "b"}
	servers := []v1alpha1.SessionServer{{
		Name: "a", Ref: v1alpha1.LocalMcpServerReference{Name: "a"}, State: v1alpha1.ServerDisabled,
		Required: v1alpha1.RequiredAlways, Headers: []v1alpha1.Header{{Name: "A", SecretKeyRef: secret}},
	}}
	if p := checkServerSpec(func(s *server) {
		s.Transport.StreamableHTTP.Headers = []v1alpha1.Header{{Name: "A", Value: "b"}, {Name: "B", SecretKeyRef: secret}}
		s.Transport.StreamableHTTP.CABundle = &v1alpha1.CABundleReference{Kind: v1alpha1.CABundleSecret, Name: "a", Key: "b"}
		s.Transport.StreamableHTTP.Protocol = v1alpha1.ProtocolLegacy
		s.Calls = &v1alpha1.CallPolicy{TotalTimeoutSeconds: 1, IdleTimeoutSeconds: 1}
	}); p != nil {
		t.Errorf("McpServer: %v", p)
	}
	if p := CheckSession(&v1alpha1.McpSession{Spec: session{
		Workspace: &v1alpha1.ServerSource{Selector: &v1alpha1.LabelSelector{}}, Plugins: &v1alpha1.ServerSource{},
		Servers:            servers,
		Overrides:          &v1alpha1.SessionOverrides{Mode: v1alpha1.OverrideExclusive, Servers: servers},
		Tools:              &v1alpha1.SessionTools{Allow: []string{"*"}, Deny: []string{"a"}},
		ServiceAccountName: "a", Suspend: v1alpha1.SuspendOn,
	}}); p != nil {
		t.Errorf("McpSession: %v", p)
	}
	if p := CheckTask(&v1alpha1.McpTask{Spec: task{
		SessionRef: v1alpha1.LocalMcpSessionReference{Name: "a"}, Tool: "mcp__a__b", Arguments: "{}", Mode: v1alpha1.TaskModeCall,
		LifetimeSeconds: 10, TTLSecondsAfterFinished: new(int32), Cancel: v1alpha1.CancelRequested,
	}}); p != nil {
		t.Errorf("McpTask: %v", p)
	}
}

func TestCheckTask(t *testing.T) {
	const must = "spec.arguments must be a JSON object: "
	for arguments, want := range map[string]string{
		"":                                      "",
		"{}":                                    "",
		"\t{\"a\": [1, {\"b\":2}]}\n":           "",
		`{"n":12345678901234567890.123}`:        "",
		"{" + strings.Repeat(" ", 262142) + "}": "",
		"{" + strings.Repeat(" ", 262143) + "}": "spec.arguments must be at most 262144 bytes",
		"[]":                                    must + "not an object",
		`"secret"`:                              must + "not an object",
		`{"secret"}`:                            must + "invalid JSON at byte 9",
		`{"a":1,"a":2}`:                         must + "duplicate member name",
		`{"a":1}{}`:                             must + "text after the value",
		`{"a":1,}`:                              must + "invalid JSON at byte 6",
		"{\"a\":\"\xff\"}":                      must + "invalid JSON at byte 6",
		"{'secret':1}":                          must + "invalid JSON at byte 1",
		"{":                                     must + "invalid JSON at byte 1",
	} {
		got := CheckTask(&v1alpha1.McpTask{Spec: task{Arguments: arguments}})
		if diff := cmp.Diff(problem(v1alpha1.ReasonInvalidArguments, want), got); diff != "" {
			t.Errorf("%.40s (-want +got):\n%s", arguments, diff)
		}
	}
}

func problem(reason, message string) *Problem {
	if message == "" {
		return nil
	}
	return &Problem{Reason: reason, Message: message}
}
