// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"
)

// schema is what these tests read of an OpenAPI schema in a CRD.
type schema struct {
	Description          string            `json:"description"`
	Default              any               `json:"default"`
	Required             []string          `json:"required"`
	Type                 string            `json:"type"`
	Format               string            `json:"format"`
	Pattern              string            `json:"pattern"`
	Enum                 []string          `json:"enum"`
	MaxLength            *int64            `json:"maxLength"`
	MaxItems             *int64            `json:"maxItems"`
	MaxProperties        *int64            `json:"maxProperties"`
	Minimum              *float64          `json:"minimum"`
	Maximum              *float64          `json:"maximum"`
	Properties           map[string]schema `json:"properties"`
	Items                *schema           `json:"items"`
	AdditionalProperties *schema           `json:"additionalProperties"`
	IntOrString          bool              `json:"x-kubernetes-int-or-string"`
	PreserveUnknown      bool              `json:"x-kubernetes-preserve-unknown-fields"`
	ListType             string            `json:"x-kubernetes-list-type"`
	Rules                []rule            `json:"x-kubernetes-validations"`
}

type rule struct {
	Rule    string `json:"rule"`
	Message string `json:"message"`
}

// kinds reads the generated schemas, by kind.
func kinds(t *testing.T) map[string]schema {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "config", "crd", "bases", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no generated CRDs: %v", err)
	}
	all := map[string]schema{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var crd struct {
			Spec struct {
				Names    struct{ Kind string }
				Versions []struct {
					Name   string
					Schema struct {
						OpenAPIV3Schema schema `json:"openAPIV3Schema"`
					}
				}
			}
		}
		if err := yaml.Unmarshal(data, &crd); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if len(crd.Spec.Versions) != 1 {
			t.Fatalf("%s: want one version, got %d", file, len(crd.Spec.Versions))
		}
		all[crd.Spec.Names.Kind] = crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	}
	return all
}
