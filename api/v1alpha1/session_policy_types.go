// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// ToolNaming is how tools are named at the gateway.
// +kubebuilder:validation:Enum=Qualified;Server;Plain
type ToolNaming string

// The namings of tools.
const (
	// NamingQualified names a tool mcp__server__tool, as status does.
	NamingQualified ToolNaming = "Qualified"
	// NamingServer names a tool server__tool, for hosts that add a prefix of their own.
	NamingServer ToolNaming = "Server"
	// NamingPlain keeps a tool's own name where it is the only one of that name, and is Server otherwise.
	NamingPlain ToolNaming = "Plain"
)

// ToolExposure is how tools are offered at the gateway.
// +kubebuilder:validation:Enum=Direct;Search
type ToolExposure string

// The exposures of tools.
const (
	// ToolsDirect lists every tool.
	ToolsDirect ToolExposure = "Direct"
	// ToolsSearch lists search_tools and call_tool in their place, for very many tools.
	ToolsSearch ToolExposure = "Search"
)

// BuiltIns chooses the tools of the session's own.
// +kubebuilder:validation:Enum=None;Resources;Tasks;All
type BuiltIns string

// The built-in tools.
const (
	BuiltInsNone      BuiltIns = "None"
	BuiltInsResources BuiltIns = "Resources"
	BuiltInsTasks     BuiltIns = "Tasks"
	BuiltInsAll       BuiltIns = "All"
)

// Pin says what happens to a tool whose definition changes.
// +kubebuilder:validation:Enum=None;Approve
type Pin string

// The pins.
const (
	// PinNone offers a tool as its server describes it now.
	PinNone Pin = "None"
	// PinApprove withholds a tool whose definition changed until somebody approves the change.
	PinApprove Pin = "Approve"
)

// SessionTools says which tools the agent sees, and how.
// +kubebuilder:validation:MinProperties=1
type SessionTools struct {
	// allow holds at most 128 globs over projected names such as mcp__github__*; a tool must match one. Absent, every
	// tool is allowed; to allow none, deny *.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=128
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z0-9_.*?-]+$`
	Allow []string `json:"allow,omitempty"`

	// deny holds at most 128 globs over projected names; a tool that matches one is not offered, whatever allow says.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=128
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z0-9_.*?-]+$`
	Deny []string `json:"deny,omitempty"`

	// naming is how tools are named at the gateway: Qualified (default), Server or Plain. Status names them Qualified.
	// +optional
	// +default="Qualified"
	Naming ToolNaming `json:"naming,omitempty"`

	// maxLength of a tool's name at the gateway, in characters; 32 to 128, 64 by default.
	// +optional
	// +default=64
	// +kubebuilder:validation:Minimum=32
	// +kubebuilder:validation:Maximum=128
	MaxLength int32 `json:"maxLength,omitempty"`

	// exposure Search offers a search over the tools in their place; Direct, the default, lists them.
	// +optional
	// +default="Direct"
	Exposure ToolExposure `json:"exposure,omitempty"`

	// builtIns adds tools of the session's own: None (default), Resources, Tasks or All.
	// +optional
	// +default="None"
	BuiltIns BuiltIns `json:"builtIns,omitempty"`

	// pin Approve withholds a tool whose definition changed until the change is approved; None by default.
	// +optional
	// +default="None"
	Pin Pin `json:"pin,omitempty"`
}

// SessionResults says how results reach the agent.
type SessionResults struct {
	// inlineBytes of text that a result carries itself; more becomes an artifact. 1024 to 25165824 (24 MiB).
	// +required
	// +kubebuilder:validation:Minimum=1024
	// +kubebuilder:validation:Maximum=25165824
	InlineBytes int32 `json:"inlineBytes,omitempty"`
}

// SessionExtensions says which protocol extensions pass through.
type SessionExtensions struct {
	// passThrough names at most 16 extensions, such as io.modelcontextprotocol/ui. What is not named is not advertised.
	// An empty list passes none.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=3
	// +kubebuilder:validation:items:MaxLength=128
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?/[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`
	PassThrough []string `json:"passThrough,omitempty"`
}

// RootsMode says whose roots servers are told of.
// +kubebuilder:validation:Enum=Fixed;Agent
type RootsMode string

// The modes of roots.
const (
	// RootsFixed tells servers of roots.items.
	RootsFixed RootsMode = "Fixed"
	// RootsAgent asks the agent.
	RootsAgent RootsMode = "Agent"
)

// SessionRoots are the directories that servers are told of.
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="self.mode == 'Fixed' || !has(self.items)",message="items: may not be set when mode is 'Agent'"
type SessionRoots struct {
	// mode Agent asks the agent for its roots; Fixed, the default, tells of items.
	// +optional
	// +default="Fixed"
	Mode RootsMode `json:"mode,omitempty"`

	// items are at most 16 roots.
	// +optional
	// +listType=map
	// +listMapKey=uri
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Items []Root `json:"items,omitempty"`
}

// Root is one directory or file.
type Root struct {
	// uri of the root: a file URI, percent-encoded; at most 1024 characters, of which an & counts as 6.
	// +required
	// +kubebuilder:validation:MinLength=8
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern="^file:///[A-Za-z0-9/._~:@!$&'()*+,;=%-]*$"
	// +kubebuilder:validation:XValidation:rule="size(self) + 5 * (size(self) - size(self.replace('&', ''))) <= 1024",message="uri: must be at most 1024 characters, of which an & counts as 6"
	URI string `json:"uri,omitempty"`

	// name of the root, for people; at most 64 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Name string `json:"name,omitempty"`
}

// Exposure says how far an agent is trusted.
// +kubebuilder:validation:Enum=Trusted;Restricted
type Exposure string

// The exposures of a session.
const (
	ExposureTrusted    Exposure = "Trusted"
	ExposureRestricted Exposure = "Restricted"
)

// SamplingMode says who answers when a server asks for a model's completion.
// +kubebuilder:validation:Enum=Off;Model;Agent
type SamplingMode string

// The modes of sampling.
const (
	// SamplingOff refuses.
	SamplingOff SamplingMode = "Off"
	// SamplingModel asks sampling.model.
	SamplingModel SamplingMode = "Model"
	// SamplingAgent asks the agent.
	SamplingAgent SamplingMode = "Agent"
)

// SessionSampling says who answers when a server asks for a model's completion.
// +kubebuilder:validation:MinProperties=1
// +union
// +kubebuilder:validation:XValidation:rule="has(self.model) == (self.mode == 'Model')",message="model: must be set when mode is 'Model', and may not be set otherwise"
type SessionSampling struct {
	// mode says who answers: Off (default), Model or Agent.
	// +optional
	// +default="Off"
	// +unionDiscriminator
	Mode SamplingMode `json:"mode,omitempty"`

	// model is what is asked in mode Model.
	// +optional
	Model *Model `json:"model,omitempty"`
}

// Model is a model behind an OpenAI-compatible API.
type Model struct {
	// url of the API, such as https://models.example.com/v1: https, with a host, without user information, query and
	// fragment; at most 1024 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^[!-~]+$`
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() == 'https' && url(self).getHostname() != '' && !self.contains('@') && !self.contains('?') && !self.contains('#')",message="url: must be an https URL with a host, without user information, query and fragment"
	URL string `json:"url,omitempty"`

	// name of the model, as the API knows it; at most 256 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^[!-~]+$`
	Name string `json:"name,omitempty"`

	// secretKeyRef names the API's key.
	// +optional
	SecretKeyRef *SecretKeyReference `json:"secretKeyRef,omitempty"`
}

// Subscription is one resource whose updates are wanted.
type Subscription struct {
	// server is the name of a server of the session.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Server string `json:"server,omitempty"`

	// uri of the resource, as the server lists it; at most 1024 characters, of which an & counts as 6.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^[!#-;=?-\[\]-~]+$`
	// +kubebuilder:validation:XValidation:rule="size(self) + 5 * (size(self) - size(self.replace('&', ''))) <= 1024",message="uri: must be at most 1024 characters, of which an & counts as 6"
	URI string `json:"uri,omitempty"`
}
