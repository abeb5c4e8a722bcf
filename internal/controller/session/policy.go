// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"strings"
	"time"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/mcp"
	"github.com/mooring-dev/mooring/internal/mcp/logs"
)

// policy says how the runtime treats a server. What the spec leaves out stays zero, which means the default.
func policy(spec *v1alpha1.McpServerSpec) mcp.Policy {
	var out mcp.Policy
	if calls := spec.Calls; calls != nil {
		out.Calls.Total = time.Duration(calls.TotalTimeoutSeconds) * time.Second
		out.Calls.Idle = time.Duration(calls.IdleTimeoutSeconds) * time.Second
	}
	out.Recovery = recoveryPolicy(spec.Recovery)
	out.Health = healthPolicy(spec.HealthCheck, spec.Transport.Type)
	if logging := spec.Logging; logging != nil {
		out.Logging = mcp.Logging{
			Off: logging.Mode == v1alpha1.Off, Level: logs.Level(strings.ToLower(string(logging.Level))),
		}
	}
	if limits := spec.Catalog; limits != nil {
		out.Lists = mcp.ListLimits{
			MaxTools: int(limits.MaxTools), MaxResources: int(limits.MaxResources),
			MaxTemplates: int(limits.MaxResourceTemplates), MaxPrompts: int(limits.MaxPrompts), MaxBytes: int(limits.MaxBytes),
		}
	}
	return out
}

func recoveryPolicy(recovery *v1alpha1.RecoveryPolicy) mcp.Recovery {
	var out mcp.Recovery
	if recovery == nil {
		return out
	}
	if recovery.MaxAttempts != nil {
		out.MaxAttempts, out.Off = int(*recovery.MaxAttempts), *recovery.MaxAttempts == 0
	}
	if recovery.JitterPercent != nil {
		if out.JitterPercent = int(*recovery.JitterPercent); out.JitterPercent == 0 {
			out.JitterPercent = -1 // none, which is not the default
		}
	}
	out.InitialDelay = milliseconds(recovery.InitialDelayMilliseconds)
	out.MaxDelay = milliseconds(recovery.MaxDelayMilliseconds)
	out.FailureThreshold = int(recovery.FailureThreshold)
	return out
}

// healthPolicy turns probes on for HTTP and off for processes, unless the spec says otherwise (DEV-10).
func healthPolicy(check *v1alpha1.HealthCheckPolicy, transport v1alpha1.TransportType) mcp.Health {
	out := mcp.Health{Off: transport == v1alpha1.TransportStdio}
	if check == nil {
		return out
	}
	if check.Mode != "" {
		out.Off = check.Mode == v1alpha1.Off
	}
	out.Interval, out.Timeout = milliseconds(check.IntervalMilliseconds), milliseconds(check.TimeoutMilliseconds)
	out.FailureThreshold = int(check.FailureThreshold)
	return out
}

func milliseconds(n int32) time.Duration { return time.Duration(n) * time.Millisecond }
