// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// LocalMcpServerReference names an McpServer of the object's own namespace.
// +structType=atomic
type LocalMcpServerReference struct {
	// name of the McpServer.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`
}

// SecretKeyReference names one entry of a Secret in the object's own namespace. There is no reference across namespaces.
// +structType=atomic
type SecretKeyReference struct {
	// name of the Secret.
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

// Header is one HTTP header that is sent with every request to a server. Exactly one of value and secretKeyRef is set.
// +kubebuilder:validation:XValidation:rule="has(self.value) != has(self.secretKeyRef)",message="headers: exactly one of value and secretKeyRef must be set"
// +structType=atomic
type Header struct {
	// name of the header, such as X-Api-Key. Headers that the protocol or the connection own may not be set: Host,
	// Content-*, Accept, Connection, Transfer-Encoding, Upgrade, Mcp-* and Last-Event-Id.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9!#$%^_\|~.-]+$`
	// +kubebuilder:validation:XValidation:rule="!self.lowerAscii().matches('^(host|connection|upgrade|te|trailer|transfer-encoding|keep-alive|accept|last-event-id|content-.*|mcp-.*|proxy-.*)$')",message="name: this header belongs to the protocol or the connection and may not be set"
	Name string `json:"name,omitempty"`

	// value of the header, in the clear. Put credentials into a Secret.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^[ -~]+$`
	Value string `json:"value,omitempty"`

	// secretKeyRef takes the value from a Secret of this namespace, at most 8 KiB. It is read again about once a minute.
	// +optional
	SecretKeyRef *SecretKeyReference `json:"secretKeyRef,omitempty"`
}

// ServerSource chooses McpServers of the session's namespace.
type ServerSource struct {
	// selector over labels; an empty one selects all.
	// +required
	Selector *LabelSelector `json:"selector,omitempty"`
}

// LabelValue is the value of a label.
// +kubebuilder:validation:MinLength=0
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:Pattern=`^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$`
type LabelValue string

// LabelSelector is a bounded label selector. Its requirements are joined by and.
// +kubebuilder:validation:MinProperties=0
// +structType=atomic
type LabelSelector struct {
	// matchLabels holds at most 16 labels that must have the given values.
	// +optional
	// +kubebuilder:validation:MinProperties=0
	// +kubebuilder:validation:MaxProperties=16
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(k) >= 1 && size(k) <= 253 && k.matches('^[A-Za-z0-9./_-]+$'))",message="matchLabels: every key must be a label's name, at most 253 characters"
	MatchLabels map[string]LabelValue `json:"matchLabels,omitempty"`

	// matchExpressions holds at most 16 requirements.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=16
	MatchExpressions []LabelRequirement `json:"matchExpressions,omitempty"`
}

// AsSelector returns the selector that s describes: one that selects everything when s is empty, and nothing when it is nil.
func (s *LabelSelector) AsSelector() (labels.Selector, error) {
	if s == nil {
		return labels.Nothing(), nil
	}
	out := &metav1.LabelSelector{}
	for key, value := range s.MatchLabels {
		metav1.AddLabelToSelector(out, key, string(value))
	}
	for i := range s.MatchExpressions {
		in := &s.MatchExpressions[i]
		requirement := metav1.LabelSelectorRequirement{Key: in.Key, Operator: metav1.LabelSelectorOperator(in.Operator)}
		for _, value := range in.Values {
			requirement.Values = append(requirement.Values, string(value))
		}
		out.MatchExpressions = append(out.MatchExpressions, requirement)
	}
	return metav1.LabelSelectorAsSelector(out)
}

// LabelRequirement is one requirement of a label selector.
// +kubebuilder:validation:XValidation:rule="(self.operator in ['In','NotIn']) == (has(self.values) && size(self.values) > 0)",message="values: must be set when operator is 'In' or 'NotIn', and may not be set otherwise"
type LabelRequirement struct {
	// key is the label's name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9./_-]+$`
	Key string `json:"key,omitempty"`

	// operator relates the key to the values.
	// +required
	Operator LabelOperator `json:"operator,omitempty"`

	// values holds at most 16 values.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=16
	Values []LabelValue `json:"values,omitempty"`
}

// LabelOperator relates a label to values.
// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist
type LabelOperator string

// The operators of label requirements.
const (
	LabelIn           LabelOperator = "In"
	LabelNotIn        LabelOperator = "NotIn"
	LabelExists       LabelOperator = "Exists"
	LabelDoesNotExist LabelOperator = "DoesNotExist"
)
