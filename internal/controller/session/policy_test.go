// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/mcp"
	"github.com/mooring-dev/mooring/internal/mcp/logs"
)

// CFG-14, CFG-15: policies are read from the definition; what it leaves out is the runtime's default.
func TestPolicy(t *testing.T) {
	http := v1alpha1.Transport{Type: v1alpha1.TransportStreamableHTTP}
	rows := map[string]struct {
		spec v1alpha1.McpServerSpec
		want mcp.Policy
	}{
		"nothing":                              {v1alpha1.McpServerSpec{Transport: http}, mcp.Policy{}},
		"DEV-10: a process is not probed":      {v1alpha1.McpServerSpec{Transport: v1alpha1.Transport{Type: v1alpha1.TransportStdio}}, mcp.Policy{Health: mcp.Health{Off: true}}},
		"REC-01: no attempts":                  {v1alpha1.McpServerSpec{Transport: http, Recovery: &v1alpha1.RecoveryPolicy{MaxAttempts: ptr.To[int32](0)}}, mcp.Policy{Recovery: mcp.Recovery{Off: true}}},
		"REC-01: no jitter is not the default": {v1alpha1.McpServerSpec{Transport: http, Recovery: &v1alpha1.RecoveryPolicy{JitterPercent: ptr.To[int32](0)}}, mcp.Policy{Recovery: mcp.Recovery{JitterPercent: -1}}},
		"everything": {
			v1alpha1.McpServerSpec{
				Transport: http,
				Calls:     &v1alpha1.CallPolicy{TotalTimeoutSeconds: 20, IdleTimeoutSeconds: 10},
				Recovery: &v1alpha1.RecoveryPolicy{
					MaxAttempts: ptr.To[int32](3), InitialDelayMilliseconds: 10, MaxDelayMilliseconds: 20, JitterPercent: ptr.To[int32](5),
					FailureThreshold: 2,
				},
				HealthCheck: &v1alpha1.HealthCheckPolicy{
					Mode: v1alpha1.Off, IntervalMilliseconds: 10, TimeoutMilliseconds: 11, FailureThreshold: 4,
				},
				Logging: &v1alpha1.LoggingPolicy{Mode: v1alpha1.Off, Level: v1alpha1.LogLevelDebug},
				Catalog: &v1alpha1.CatalogPolicy{MaxTools: 1, MaxResources: 2, MaxResourceTemplates: 3, MaxPrompts: 4, MaxBytes: 5},
			},
			mcp.Policy{
				Calls: mcp.CallLimits{Total: 20 * time.Second, Idle: 10 * time.Second},
				Recovery: mcp.Recovery{
					MaxAttempts: 3, InitialDelay: 10 * time.Millisecond, MaxDelay: 20 * time.Millisecond, JitterPercent: 5, FailureThreshold: 2,
				},
				Health:  mcp.Health{Off: true, Interval: 10 * time.Millisecond, Timeout: 11 * time.Millisecond, FailureThreshold: 4},
				Logging: mcp.Logging{Off: true, Level: logs.Debug},
				Lists:   mcp.ListLimits{MaxTools: 1, MaxResources: 2, MaxTemplates: 3, MaxPrompts: 4, MaxBytes: 5},
			},
		},
	}
	for name, row := range rows {
		if diff := cmp.Diff(row.want, policy(&row.spec)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A command is echoed in the characters that status takes, and asks for nothing once it is done.
func TestCommand(t *testing.T) {
	session := &v1alpha1.McpSession{}
	session.Annotations = map[string]string{v1alpha1.AnnotationReconnect: "a<b>&\u00e9\n" + string(make([]byte, 100))}
	got := command(session, v1alpha1.AnnotationReconnect, "x")
	if got.Value[:7] != "a_b____" || len(got.Value) != maxCommand || got.Done != "x" {
		t.Errorf("%+q", got)
	}
	if got := command(session, v1alpha1.AnnotationRefresh, "x"); got.Value != "" {
		t.Errorf("%+q", got)
	}
}
