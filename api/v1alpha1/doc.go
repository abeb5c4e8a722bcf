// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the API of Mooring: McpServer, McpSession and McpTask.
//
// The types are plain data: they import apimachinery only, hold no behaviour, and are safe to share once they are no
// longer written. Every string, list and number is bounded; together a spec and its status stay within 1 MiB.
//
// +kubebuilder:object:generate=true
// +kubebuilder:ac:generate=true
// +kubebuilder:ac:output:package=applyconfiguration
// +groupName=mcp.mooring.dev
package v1alpha1
