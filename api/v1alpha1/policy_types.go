// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// CallPolicy bounds tool calls (CALL-01, CALL-02).
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="!has(self.idleTimeoutSeconds) || self.idleTimeoutSeconds <= (has(self.totalTimeoutSeconds) ? self.totalTimeoutSeconds : 300)",message="idleTimeoutSeconds: may not be greater than totalTimeoutSeconds, which is 300 when absent"
type CallPolicy struct {
	// totalTimeoutSeconds bounds a call; 1 to 1800, 300 when absent.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1800
	TotalTimeoutSeconds int32 `json:"totalTimeoutSeconds,omitempty"`

	// idleTimeoutSeconds bounds the pause after a report of progress; 1 to 1800 and at most the total, 60 when absent.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1800
	IdleTimeoutSeconds int32 `json:"idleTimeoutSeconds,omitempty"`
}

// RecoveryPolicy says how a lost connection is tried again (REC-01).
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="(has(self.initialDelayMilliseconds) ? self.initialDelayMilliseconds : 1000) <= (has(self.maxDelayMilliseconds) ? self.maxDelayMilliseconds : 30000)",message="initialDelayMilliseconds: may not be greater than maxDelayMilliseconds; when absent they are 1000 and 30000"
type RecoveryPolicy struct {
	// maxAttempts after a loss; 0 to 20, 5 when absent. 0 leaves a lost connection lost.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=20
	MaxAttempts *int32 `json:"maxAttempts,omitempty"`

	// initialDelayMilliseconds before the first attempt; 10 to 300000, 1000 when absent.
	// +optional
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=300000
	InitialDelayMilliseconds int32 `json:"initialDelayMilliseconds,omitempty"`

	// maxDelayMilliseconds between attempts; 10 to 300000, 30000 when absent.
	// +optional
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=300000
	MaxDelayMilliseconds int32 `json:"maxDelayMilliseconds,omitempty"`

	// jitterPercent spreads each delay both ways; 0 to 100, 20 when absent.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	JitterPercent *int32 `json:"jitterPercent,omitempty"`

	// failureThreshold is the number of transport errors in a row that count as a loss; 1 to 10, 3 when absent.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	FailureThreshold int32 `json:"failureThreshold,omitempty"`
}

// Switch turns something on or off.
// +kubebuilder:validation:Enum=On;Off
type Switch string

// The switches.
const (
	On  Switch = "On"
	Off Switch = "Off"
)

// HealthCheckPolicy says how a connection is probed (REC-40).
// +kubebuilder:validation:MinProperties=1
type HealthCheckPolicy struct {
	// mode turns probes on or off; when absent they are on for HTTP and off for stdio.
	// +optional
	Mode Switch `json:"mode,omitempty"`

	// intervalMilliseconds between probes; 10 to 300000, 30000 when absent.
	// +optional
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=300000
	IntervalMilliseconds int32 `json:"intervalMilliseconds,omitempty"`

	// timeoutMilliseconds of a probe; 10 to 60000, 10000 when absent.
	// +optional
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=60000
	TimeoutMilliseconds int32 `json:"timeoutMilliseconds,omitempty"`

	// failureThreshold is the number of failed probes in a row that count as a loss; 1 to 10, 3 when absent.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	FailureThreshold int32 `json:"failureThreshold,omitempty"`
}

// SamplingPolicy says whether the server may ask for model completions (SMP-02).
type SamplingPolicy struct {
	// mode turns sampling on or off for this server.
	// +required
	Mode Switch `json:"mode,omitempty"`

	// maxTokens of one completion; 1 to 4096, 1024 when absent.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4096
	MaxTokens int32 `json:"maxTokens,omitempty"`

	// maxRequestsPerCall bounds the completions that one tool call may ask for; 1 to 8, 2 when absent.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=8
	MaxRequestsPerCall int32 `json:"maxRequestsPerCall,omitempty"`

	// maxInputBytes of one request; 1 to 1048576, 65536 when absent.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1048576
	MaxInputBytes int32 `json:"maxInputBytes,omitempty"`
}

// TaskPolicy bounds background tasks (TSK-02).
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="(has(self.ttlSeconds) ? self.ttlSeconds : 600) <= (has(self.lifetimeSeconds) ? self.lifetimeSeconds : 1800)",message="ttlSeconds: may not be greater than lifetimeSeconds; when absent they are 600 and 1800"
type TaskPolicy struct {
	// mode turns background tasks on or off for this server; Off when absent.
	// +optional
	Mode Switch `json:"mode,omitempty"`

	// ttlSeconds that the server is asked to keep a task for; 10 to 86400, 600 when absent.
	// +optional
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=86400
	TTLSeconds int32 `json:"ttlSeconds,omitempty"`

	// lifetimeSeconds that a task is followed for; 10 to 86400, 1800 when absent.
	// +optional
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=86400
	LifetimeSeconds int32 `json:"lifetimeSeconds,omitempty"`

	// pollIntervalMilliseconds between looks at a task; 100 to 10000, 500 when absent.
	// +optional
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=10000
	PollIntervalMilliseconds int32 `json:"pollIntervalMilliseconds,omitempty"`

	// maxConcurrent tasks of one session on this server; 1 to 32, 32 when absent.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=32
	MaxConcurrent int32 `json:"maxConcurrent,omitempty"`
}

// LogLevel is a severity of RFC 5424, as MCP names it.
// +kubebuilder:validation:Enum=Debug;Info;Notice;Warning;Error;Critical;Alert;Emergency
type LogLevel string

// The log levels, from the least to the most severe.
const (
	LogLevelDebug     LogLevel = "Debug"
	LogLevelInfo      LogLevel = "Info"
	LogLevelNotice    LogLevel = "Notice"
	LogLevelWarning   LogLevel = "Warning"
	LogLevelError     LogLevel = "Error"
	LogLevelCritical  LogLevel = "Critical"
	LogLevelAlert     LogLevel = "Alert"
	LogLevelEmergency LogLevel = "Emergency"
)

// LoggingPolicy says which of the server's log messages are wanted (LOG-01).
// +kubebuilder:validation:MinProperties=1
type LoggingPolicy struct {
	// mode Off drops every message of the server; On when absent.
	// +optional
	Mode Switch `json:"mode,omitempty"`

	// level is the least severe level that is wanted; Warning when absent.
	// +optional
	Level LogLevel `json:"level,omitempty"`
}

// CatalogPolicy bounds what the server may offer, within the built-in bounds.
// +kubebuilder:validation:MinProperties=1
type CatalogPolicy struct {
	// maxTools of the server; 1 to 1000, 1000 when absent.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxTools int32 `json:"maxTools,omitempty"`

	// maxResources of the server; 1 to 1000, 1000 when absent.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxResources int32 `json:"maxResources,omitempty"`

	// maxResourceTemplates of the server; 1 to 1000, 1000 when absent.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxResourceTemplates int32 `json:"maxResourceTemplates,omitempty"`

	// maxPrompts of the server; 1 to 1000, 1000 when absent.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxPrompts int32 `json:"maxPrompts,omitempty"`

	// maxBytes of each of the server's lists, as JSON; 1024 to 4194304 (4 MiB), 4194304 when absent.
	// +optional
	// +kubebuilder:validation:Minimum=1024
	// +kubebuilder:validation:Maximum=4194304
	MaxBytes int32 `json:"maxBytes,omitempty"`
}
