// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/test/cluster"
)

// manifests reads the objects in a folder of the repository, by file name.
func manifests(t *testing.T, folder ...string) map[string]*unstructured.Unstructured {
	t.Helper()
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(append(append([]string{root}, folder...), "*.yaml")...))
	if err != nil || len(files) == 0 {
		t.Fatalf("no manifests in %v: %v", folder, err)
	}
	all := map[string]*unstructured.Unstructured{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, document := range strings.Split("\n"+string(data), "\n---\n") {
			var content map[string]any
			if err := yaml.UnmarshalStrict([]byte(document), &content); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			o := &unstructured.Unstructured{Object: integers(content).(map[string]any)}
			if o.GroupVersionKind().GroupVersion() == v1alpha1.GroupVersion {
				all[filepath.Base(file)+strings.Repeat("'", i)] = o
			}
		}
	}
	return all
}

// TestFixtures stores the objects of the first release: every value is kept, by the API server and by the Go types, and
// they can be written again.
func TestFixtures(t *testing.T) {
	c, ns := strict(t), namespace(t)
	for name, fixture := range manifests(t, "test", "fixtures", "v1alpha1") {
		t.Run(name, func(t *testing.T) {
			o := fixture.DeepCopy()
			o.SetNamespace(ns)
			o.SetFinalizers(nil) // nobody here takes them off
			if err := c.Create(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			if status, ok := fixture.Object["status"]; ok {
				edit{"status": status}.apply(t, o)
				if err := c.Status().Update(t.Context(), o); err != nil {
					t.Fatalf("status: %v", err)
				}
			}
			for _, part := range []string{"spec", "status"} {
				if lost := missing(part, fixture.Object[part], o.Object[part]); len(lost) > 0 {
					t.Errorf("the API server did not keep %v", lost)
				}
			}
			throughTypes(t, o)
			rewrite(t, c, o)
		})
	}
}

// TestSamples stores the samples.
func TestSamples(t *testing.T) {
	c, ns := strict(t), namespace(t)
	for name, sample := range manifests(t, "config", "samples") {
		sample.SetNamespace(ns)
		if err := c.Create(t.Context(), sample); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// missing returns the paths of values in want that got does not have.
func missing(path string, want, got any) []string {
	switch want := want.(type) {
	case map[string]any:
		object, _ := got.(map[string]any)
		var lost []string
		for key := range want {
			lost = append(lost, missing(path+"."+key, want[key], object[key])...)
		}
		return lost
	case []any:
		list, _ := got.([]any)
		if len(list) != len(want) {
			return []string{path}
		}
		var lost []string
		for i := range want {
			lost = append(lost, missing(path+"[]", want[i], list[i])...)
		}
		return lost
	}
	if want != got {
		return []string{path}
	}
	return nil
}

// throughTypes decodes an object into its Go type and back: nothing is lost or added.
func throughTypes(t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	typed, err := scheme.New(o.GroupVersionKind())
	if err != nil {
		t.Fatal(err)
	}
	converter := runtime.DefaultUnstructuredConverter
	if err := converter.FromUnstructuredWithValidation(o.Object, typed, true); err != nil {
		t.Fatalf("into the Go type: %v", err)
	}
	back, err := converter.ToUnstructured(typed)
	if err != nil {
		t.Fatalf("out of the Go type: %v", err)
	}
	for _, part := range []string{"spec", "status"} {
		if diff := cmp.Diff(o.Object[part], back[part]); diff != "" {
			t.Errorf("%s changed on its way through the Go type (-stored +back):\n%s", part, diff)
		}
	}
}

// refusedByRule are fields that the schema has and a rule refuses.
var refusedByRule = map[string]bool{
	"McpSession.spec.servers[].headers[].value":           true,
	"McpSession.spec.overrides.servers[].headers[].value": true,
}

// TestFixturesCoverEveryField fails when a field of spec or status is set in no fixture.
func TestFixturesCoverEveryField(t *testing.T) {
	set := map[string]bool{}
	for _, fixture := range manifests(t, "test", "fixtures", "v1alpha1") {
		for _, part := range []string{"spec", "status"} {
			collect(fixture.GetKind()+"."+part, fixture.Object[part], set)
		}
	}
	var lacking []string
	for kind, root := range schemas(t) {
		for _, part := range []string{"spec", "status"} {
			property := root.Properties[part]
			walk(kind+"."+part, &property, func(path string, _ *apiextensionsv1.JSONSchemaProps) {
				if !set[path] && !refusedByRule[path] && !strings.HasSuffix(path, "{}") {
					lacking = append(lacking, path)
				}
			})
		}
	}
	slices.Sort(lacking)
	if len(lacking) > 0 {
		t.Errorf("set in no fixture:\n%s", strings.Join(lacking, "\n"))
	}
}

func collect(path string, value any, set map[string]bool) {
	switch v := value.(type) {
	case map[string]any:
		set[path] = true
		for key := range v {
			collect(path+"."+key, v[key], set)
		}
	case []any:
		set[path] = true
		for i := range v {
			collect(path+"[]", v[i], set)
		}
	default:
		set[path] = set[path] || value != nil
	}
}
