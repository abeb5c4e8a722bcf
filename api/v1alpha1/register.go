// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group.
const GroupName = "mcp.mooring.dev"

var (
	// GroupVersion is the group and version of these types.
	GroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}
	// SchemeBuilder adds these types to a scheme.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)
	// AddToScheme adds these types to a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
	// SchemeGroupVersion is the name by which generated code knows GroupVersion.
	SchemeGroupVersion = GroupVersion
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&McpServer{}, &McpServerList{}, &McpSession{}, &McpSessionList{}, &McpTask{}, &McpTaskList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
