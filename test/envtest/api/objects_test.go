// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/mooring-dev/mooring/api/v1alpha1"
)

// base is the smallest useful object of each kind.
var base = map[string]string{
	"McpServer": `
spec:
  transport:
    type: StreamableHTTP
    streamableHTTP:
      url: https://mcp.example.com/mcp
`,
	"McpSession": `
spec:
  servers:
  - name: one
    ref:
      name: one
`,
	"McpTask": `
spec:
  sessionRef:
    name: session
  tool: mcp__one__echo
`,
}

// edit sets values by path: "spec.servers.0.headers". The value gone removes what is there.
type edit map[string]any

type nothing struct{}

var gone = nothing{}

// object returns the base object of a kind with edits made to it.
func object(t *testing.T, kind string, edits ...edit) *unstructured.Unstructured {
	t.Helper()
	content := map[string]any{}
	if err := yaml.Unmarshal([]byte(base[kind]), &content); err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{Object: content}
	o.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	o.SetGenerateName("case-")
	for _, e := range edits {
		e.apply(t, o)
	}
	return o
}

func (e edit) apply(t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
	for _, path := range slices.Sorted(maps.Keys(e)) {
		// What an edit holds is shared between cases; what an object holds is its own.
		value, err := clone(e[path])
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		o.Object = set(o.Object, strings.Split(path, "."), value).(map[string]any)
	}
}

func clone(value any) (any, error) {
	if value == gone {
		return gone, nil
	}
	encoded, err := yaml.Marshal(map[string]any{"value": value})
	if err != nil {
		return nil, err
	}
	var out map[string]any
	err = yaml.Unmarshal(encoded, &out)
	return integers(out["value"]), err
}

// integers turns the float64 that decoding makes of every number into what the API machinery expects.
func integers(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			v[key] = integers(v[key])
		}
	case []any:
		for i := range v {
			v[i] = integers(v[i])
		}
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
	}
	return value
}

func set(in any, path []string, value any) any {
	if len(path) == 0 {
		return value
	}
	if list, ok := in.([]any); ok {
		i, err := strconv.Atoi(path[0])
		if err != nil || i >= len(list) {
			panic("no such element: " + path[0])
		}
		list[i] = set(list[i], path[1:], value)
		return list
	}
	object, ok := in.(map[string]any)
	if !ok {
		object = map[string]any{}
	}
	if len(path) == 1 && value == gone {
		delete(object, path[0])
		return object
	}
	object[path[0]] = set(object[path[0]], path[1:], value)
	return object
}

// strict returns a client that refuses unknown and duplicate fields, as kubectl does.
func strict(t *testing.T) client.Client {
	t.Helper()
	c, err := client.New(testCluster.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return client.WithFieldValidation(c, metav1.FieldValidationStrict)
}

func namespace(t *testing.T) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "api-"}}
	if err := strict(t).Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	return ns.Name
}

type m = map[string]any

type l = []any
