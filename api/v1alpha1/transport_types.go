// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// TransportType is a way to reach a server.
// +kubebuilder:validation:Enum=StreamableHTTP;SSE;Stdio
type TransportType string

// The transports.
const (
	TransportStreamableHTTP TransportType = "StreamableHTTP"
	TransportSSE            TransportType = "SSE"
	TransportStdio          TransportType = "Stdio"
)

// Transport is a union: the member that type names is set, and no other.
// +union
// +kubebuilder:validation:XValidation:rule="has(self.streamableHTTP) == (self.type == 'StreamableHTTP')",message="streamableHTTP: must be set when type is 'StreamableHTTP', and may not be set otherwise"
// +kubebuilder:validation:XValidation:rule="has(self.sse) == (self.type == 'SSE')",message="sse: must be set when type is 'SSE', and may not be set otherwise"
// +kubebuilder:validation:XValidation:rule="has(self.stdio) == (self.type == 'Stdio')",message="stdio: must be set when type is 'Stdio', and may not be set otherwise"
type Transport struct {
	// type names the transport.
	// +required
	// +unionDiscriminator
	Type TransportType `json:"type,omitempty"`

	// streamableHTTP reaches a server by Streamable HTTP.
	// +optional
	StreamableHTTP *HTTPTransport `json:"streamableHTTP,omitempty"`

	// sse reaches a server by the legacy HTTP+SSE transport.
	// +optional
	SSE *SSETransport `json:"sse,omitempty"`

	// stdio runs a server in a pod of its own for each session.
	// +optional
	Stdio *StdioTransport `json:"stdio,omitempty"`
}

// Protocol restricts the protocol versions that are spoken.
// +kubebuilder:validation:Enum=Auto;Legacy
type Protocol string

// The protocols.
const (
	// ProtocolAuto speaks the newest protocol that the server does.
	ProtocolAuto Protocol = "Auto"
	// ProtocolLegacy speaks 2025-11-25 and earlier only.
	ProtocolLegacy Protocol = "Legacy"
)

// HTTPTransport reaches a server by Streamable HTTP.
type HTTPTransport struct {
	// url of the MCP endpoint: http or https, with a host, without user information and fragment; at most 2048 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^[!-~]+$`
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHostname() != ''",message="url: must be an http or https URL with a host"
	// +kubebuilder:validation:XValidation:rule="!self.contains('#')",message="url: may not have a fragment; remove what begins with #"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^[A-Za-z]+://[^/?#]*@')",message="url: may not carry user information; put credentials into headers, by secretKeyRef"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^(?i)https?://(169[.]254[.][0-9]+[.][0-9]+|100[.]100[.]100[.]200|192[.]0[.]0[.]192|[[](fe80:[^]]*|fd00:ec2::254|::ffff:(169[.]254[.]|a9fe:)[^]]*)[]]|metadata([.]google[.]internal|[.]goog)?)[.]?(:[0-9]*)?([/?#]|$)')",message="url: may not name a link-local or cloud metadata address; name the MCP server's own host"
	URL string `json:"url,omitempty"`

	// headers are sent with every request; at most 8, each name once.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:XValidation:rule="self.all(h, self.exists_one(o, o.name.lowerAscii() == h.name.lowerAscii()))",message="headers: a name may be set once only, in whatever case"
	Headers []Header `json:"headers,omitempty"`

	// caBundle holds certificates that replace the system's in verifying the server.
	// +optional
	CABundle *CABundleReference `json:"caBundle,omitempty"`

	// protocol restricts the protocol versions that are spoken. Auto, the default, prefers the newest.
	// +optional
	// +default="Auto"
	Protocol Protocol `json:"protocol,omitempty"`
}

// SSETransport reaches a server by the legacy HTTP+SSE transport.
type SSETransport struct {
	// url of the event stream: http or https, with a host, without user information and fragment; at most 2048 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^[!-~]+$`
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHostname() != ''",message="url: must be an http or https URL with a host"
	// +kubebuilder:validation:XValidation:rule="!self.contains('#')",message="url: may not have a fragment; remove what begins with #"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^[A-Za-z]+://[^/?#]*@')",message="url: may not carry user information; put credentials into headers, by secretKeyRef"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^(?i)https?://(169[.]254[.][0-9]+[.][0-9]+|100[.]100[.]100[.]200|192[.]0[.]0[.]192|[[](fe80:[^]]*|fd00:ec2::254|::ffff:(169[.]254[.]|a9fe:)[^]]*)[]]|metadata([.]google[.]internal|[.]goog)?)[.]?(:[0-9]*)?([/?#]|$)')",message="url: may not name a link-local or cloud metadata address; name the MCP server's own host"
	URL string `json:"url,omitempty"`

	// headers are sent with every request; at most 8, each name once.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:XValidation:rule="self.all(h, self.exists_one(o, o.name.lowerAscii() == h.name.lowerAscii()))",message="headers: a name may be set once only, in whatever case"
	Headers []Header `json:"headers,omitempty"`

	// caBundle holds certificates that replace the system's in verifying the server.
	// +optional
	CABundle *CABundleReference `json:"caBundle,omitempty"`
}

// CABundleKind is the kind of object that holds a CA bundle.
// +kubebuilder:validation:Enum=ConfigMap;Secret
type CABundleKind string

// The kinds of object that hold a CA bundle.
const (
	CABundleConfigMap CABundleKind = "ConfigMap"
	CABundleSecret    CABundleKind = "Secret"
)

// CABundleReference names certificates in PEM, in the object's own namespace.
// +structType=atomic
type CABundleReference struct {
	// kind of the object: ConfigMap or Secret.
	// +required
	Kind CABundleKind `json:"kind,omitempty"`

	// name of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`

	// key of the entry.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	Key string `json:"key,omitempty"`
}

// StdioTransport runs a server as a process that speaks on its standard streams.
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="has(self.image) != has(self.address)",message="stdio: exactly one of image and address must be set"
// +kubebuilder:validation:XValidation:rule="has(self.address) == has(self.tokenSecretKeyRef)",message="stdio.tokenSecretKeyRef: must be set when address is, and may not be set otherwise; a bridge serves only who knows its token"
// +kubebuilder:validation:XValidation:rule="!has(self.address) || !(has(self.command) || has(self.args) || has(self.env) || has(self.resources) || has(self.runtimeClassName) || has(self.imagePullSecrets))",message="stdio.address: nothing else may be set beside it; the bridge has its own command and environment"
type StdioTransport struct {
	// image of the container that holds the server.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^[!-~]+$`
	Image string `json:"image,omitempty"`

	// address of a bridge, host:port, that runs the server outside the cluster. It needs a flag of the operator.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=261
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9.:\[\]-]+:[0-9]{1,5}$`
	Address string `json:"address,omitempty"`

	// tokenSecretKeyRef names the token that the bridge at address was started with: at least 32 random bytes, which both
	// sides prove to know and neither sends.
	// +optional
	TokenSecretKeyRef *SecretKeyReference `json:"tokenSecretKeyRef,omitempty"`

	// command that starts the server; the image's own when absent. At most 16 words.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Command []string `json:"command,omitempty"`

	// args of the command; at most 64.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=0
	// +kubebuilder:validation:items:MaxLength=512
	Args []string `json:"args,omitempty"`

	// env is the server's whole environment; at most 64 variables.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Env []EnvVar `json:"env,omitempty"`

	// resources of the container.
	// +optional
	Resources *Resources `json:"resources,omitempty"`

	// runtimeClassName of the pod.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	RuntimeClassName string `json:"runtimeClassName,omitempty"`

	// imagePullSecrets name Secrets of this namespace; at most 4.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	ImagePullSecrets []LocalSecretReference `json:"imagePullSecrets,omitempty"`
}

// LocalSecretReference names a Secret of the object's own namespace.
type LocalSecretReference struct {
	// name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`
}

// EnvVar is one variable of a server's environment.
// +kubebuilder:validation:XValidation:rule="has(self.value) != has(self.secretKeyRef)",message="env: exactly one of value and secretKeyRef must be set"
type EnvVar struct {
	// name of the variable.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_]*$`
	Name string `json:"name,omitempty"`

	// value of the variable, in the clear.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Value string `json:"value,omitempty"`

	// secretKeyRef takes the value from a Secret of this namespace.
	// +optional
	SecretKeyRef *SecretKeyReference `json:"secretKeyRef,omitempty"`
}

// Quantity is an amount in Kubernetes notation, such as 100m or 256Mi.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=32
// +kubebuilder:validation:Pattern=`^[0-9]+(\.[0-9]+)?(m|k|Ki|M|Mi|G|Gi)?$`
type Quantity string

// Resources bound the container of a stdio server.
// +kubebuilder:validation:MinProperties=1
type Resources struct {
	// cpu limit, such as 500m.
	// +optional
	CPU Quantity `json:"cpu,omitempty"`

	// memory limit, such as 256Mi.
	// +optional
	Memory Quantity `json:"memory,omitempty"`
}
