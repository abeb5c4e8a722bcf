// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/mooring-dev/mooring/test/cluster"
)

// ruleCase shows one CEL rule of the CRDs at work. It is found by kind, path and message.
type ruleCase struct {
	kind, path, message string
	accepted, rejected  []change
}

// change is an object that is created and, where update is set, changed afterwards. The last of the two is judged.
type change struct {
	create, update edit
}

func (c *ruleCase) key() ruleKey { return ruleKey{c.kind, c.path, c.message} }

type ruleKey struct{ kind, path, message string }

func (k ruleKey) String() string { return fmt.Sprintf("%s.%s %q", k.kind, k.path, k.message) }

// schemas reads the generated schema of each kind.
func schemas(t *testing.T) map[string]*apiextensionsv1.JSONSchemaProps {
	t.Helper()
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(root, "config", "crd", "bases", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no CRDs: %v", err)
	}
	all := map[string]*apiextensionsv1.JSONSchemaProps{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(data, &crd); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all[crd.Spec.Names.Kind] = crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	}
	return all
}

// walk visits every node of a schema. Elements of lists are named path[], values of maps path{}.
func walk(path string, s *apiextensionsv1.JSONSchemaProps, visit func(path string, s *apiextensionsv1.JSONSchemaProps)) {
	visit(path, s)
	for name, property := range s.Properties {
		walk(strings.TrimPrefix(path+"."+name, "."), &property, visit)
	}
	if s.Items != nil && s.Items.Schema != nil {
		walk(path+"[]", s.Items.Schema, visit)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		walk(path+"{}", s.AdditionalProperties.Schema, visit)
	}
}

// rules returns every CEL rule of the CRDs.
func rules(t *testing.T) map[ruleKey]apiextensionsv1.ValidationRule {
	t.Helper()
	all := map[ruleKey]apiextensionsv1.ValidationRule{}
	for kind, root := range schemas(t) {
		walk("", root, func(path string, s *apiextensionsv1.JSONSchemaProps) {
			for _, rule := range s.XValidations {
				key := ruleKey{kind, path, rule.Message}
				if _, twice := all[key]; twice {
					t.Errorf("%s: two rules have this message", key)
				}
				all[key] = rule
			}
		})
	}
	return all
}

func cases() []ruleCase {
	var all []ruleCase
	for _, some := range [][]ruleCase{serverCases(), sessionCases(), taskCases(), frozenCases()} {
		all = append(all, some...)
	}
	return all
}

// TestEveryRuleHasCases fails when a rule of the CRDs has no case that accepts and none that rejects, and when a case
// belongs to no rule.
func TestEveryRuleHasCases(t *testing.T) {
	all := rules(t)
	seen := map[ruleKey]bool{}
	for _, c := range cases() {
		if _, ok := all[c.key()]; !ok {
			t.Errorf("no rule for the case %s", c.key())
		}
		if len(c.accepted) == 0 || len(c.rejected) == 0 {
			t.Errorf("%s: want cases both ways", c.key())
		}
		seen[c.key()] = true
	}
	for key, rule := range all {
		if !seen[key] {
			t.Errorf("no case for the rule %s: %s", key, rule.Rule)
		}
	}
}

var messageForm = regexp.MustCompile(`^([a-zA-Z.]+): (must|may|nothing|every|a |exactly|this)`)

// TestEveryMessageNamesItsField fails when a rule's message does not begin with the name of a field that is there.
func TestEveryMessageNamesItsField(t *testing.T) {
	all := schemas(t)
	fields := map[string]bool{}
	for kind, root := range all {
		walk("", root, func(path string, _ *apiextensionsv1.JSONSchemaProps) {
			fields[kind+"."+strings.NewReplacer("[]", "", "{}", "").Replace(path)] = true
		})
		fields[kind+".metadata.name"] = true
	}
	for key := range rules(t) {
		match := messageForm.FindStringSubmatch(key.message)
		if match == nil {
			t.Errorf("%s: want \"field: must ...\"", key)
			continue
		}
		at := kindPath(key)
		parent := at[:max(strings.LastIndex(at, "."), 0)]
		grandparent := parent[:max(strings.LastIndex(parent, "."), 0)]
		if !fields[at+"."+match[1]] && !fields[parent+"."+match[1]] && !fields[grandparent+"."+match[1]] {
			t.Errorf("%s: there is no field %q", key, match[1])
		}
	}
}

func kindPath(key ruleKey) string {
	path := strings.NewReplacer("[]", "", "{}", "").Replace(key.path)
	return strings.TrimSuffix(key.kind+"."+path, ".")
}

// TestEveryRule shows each rule accepting and rejecting. What was accepted can be written again, whole and its status.
func TestEveryRule(t *testing.T) {
	c, ns := strict(t), namespace(t)
	for _, rc := range cases() {
		t.Run(rc.kind+"."+rc.path+"/"+rc.message, func(t *testing.T) {
			for i, change := range rc.accepted {
				o, err := apply(t, c, ns, rc.kind, change)
				if err != nil {
					t.Errorf("accepted %d: %v", i, err)
					continue
				}
				rewrite(t, c, o)
			}
			for i, change := range rc.rejected {
				_, err := apply(t, c, ns, rc.kind, change)
				wantRejection(t, fmt.Sprintf("rejected %d", i), err, rc.path, rc.message)
			}
		})
	}
}

func apply(t *testing.T, c client.Client, ns, kind string, change change) (*unstructured.Unstructured, error) {
	t.Helper()
	o := object(t, kind, change.create)
	o.SetNamespace(ns)
	err := c.Create(t.Context(), o)
	if err != nil || change.update == nil {
		if err != nil && change.update != nil {
			t.Errorf("the object that is to be changed: %v", err)
		}
		return o, err
	}
	change.update.apply(t, o)
	return o, c.Update(t.Context(), o)
}

// rewrite writes an object again as it was read, with another label; and its status.
func rewrite(t *testing.T, c client.Client, o *unstructured.Unstructured) {
	t.Helper()
	o.SetLabels(map[string]string{"written": "again"})
	if err := c.Update(t.Context(), o); err != nil {
		t.Errorf("write again: %v", err)
	}
	edit{"status.observedGeneration": 1}.apply(t, o)
	if err := c.Status().Update(t.Context(), o); err != nil {
		t.Errorf("write status: %v", err)
	}
}

var index = regexp.MustCompile(`\[[^\]]*\]`)

// wantRejection wants the one cause of a refusal to be the rule, at its place.
func wantRejection(t *testing.T, what string, err error, path, message string) {
	t.Helper()
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Reason != metav1.StatusReasonInvalid {
		t.Errorf("%s: want it refused as invalid, got %v", what, err)
		return
	}
	want := index.ReplaceAllString(path, "")
	causes := status.Status().Details.Causes
	for _, cause := range causes {
		field := strings.TrimPrefix(index.ReplaceAllString(cause.Field, ""), "<nil>")
		if !strings.Contains(cause.Message, message) || field != want {
			t.Errorf("%s: want %q at %q alone, got %q at %q", what, message, want, cause.Message, field)
		}
	}
	if len(causes) == 0 {
		t.Errorf("%s: refused without a cause: %v", what, err)
	}
}
