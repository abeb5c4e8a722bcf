// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"strings"

	"github.com/mooring-dev/mooring/api/v1alpha1"
)

// field is one that this release does not act upon. Whoever implements it deletes its row here and in
// docs/reference/not-implemented.md; a test holds the two together.
type field[T any] struct {
	path string
	// isSet reports whether the field asks for something else than what happens anyway. Defaults do not.
	isSet func(*T) bool
}

var serverFields = []field[v1alpha1.McpServerSpec]{
	stdio("image", func(t *v1alpha1.StdioTransport) bool { return t.Image != "" }),
	stdio("command", func(t *v1alpha1.StdioTransport) bool { return len(t.Command) > 0 }),
	stdio("args", func(t *v1alpha1.StdioTransport) bool { return len(t.Args) > 0 }),
	stdio("env", func(t *v1alpha1.StdioTransport) bool { return len(t.Env) > 0 }),
	stdio("resources", func(t *v1alpha1.StdioTransport) bool { return t.Resources != nil }),
	stdio("runtimeClassName", func(t *v1alpha1.StdioTransport) bool { return t.RuntimeClassName != "" }),
	stdio("imagePullSecrets", func(t *v1alpha1.StdioTransport) bool { return len(t.ImagePullSecrets) > 0 }),
	{"spec.oauth", func(s *v1alpha1.McpServerSpec) bool { return s.OAuth != nil }},
	{"spec.sampling", func(s *v1alpha1.McpServerSpec) bool { return s.Sampling != nil }},
	{"spec.tasks", func(s *v1alpha1.McpServerSpec) bool { return s.Tasks != nil }},
}

var sessionFields = []field[v1alpha1.McpSessionSpec]{
	tools("naming", func(t *v1alpha1.SessionTools) bool { return other(t.Naming, v1alpha1.NamingQualified) }),
	tools("maxLength", func(t *v1alpha1.SessionTools) bool { return other(t.MaxLength, defaultNameLength) }),
	tools("exposure", func(t *v1alpha1.SessionTools) bool { return other(t.Exposure, v1alpha1.ToolsDirect) }),
	tools("builtIns", func(t *v1alpha1.SessionTools) bool { return other(t.BuiltIns, v1alpha1.BuiltInsNone) }),
	tools("pin", func(t *v1alpha1.SessionTools) bool { return other(t.Pin, v1alpha1.PinNone) }),
	{"spec.extensions", func(s *v1alpha1.McpSessionSpec) bool { return s.Extensions != nil }},
	{"spec.roots.mode", func(s *v1alpha1.McpSessionSpec) bool {
		return s.Roots != nil && other(s.Roots.Mode, v1alpha1.RootsFixed)
	}},
	{"spec.roots.items", func(s *v1alpha1.McpSessionSpec) bool { return s.Roots != nil && len(s.Roots.Items) > 0 }},
	{"spec.exposure", func(s *v1alpha1.McpSessionSpec) bool { return other(s.Exposure, v1alpha1.ExposureTrusted) }},
	{"spec.sampling.mode", func(s *v1alpha1.McpSessionSpec) bool {
		return s.Sampling != nil && other(s.Sampling.Mode, v1alpha1.SamplingOff)
	}},
	{"spec.sampling.model", func(s *v1alpha1.McpSessionSpec) bool { return s.Sampling != nil && s.Sampling.Model != nil }},
	interaction("surface", func(i *v1alpha1.SessionInteraction) bool { return other(i.Surface, v1alpha1.SurfaceNone) }),
	interaction("timeoutSeconds", func(i *v1alpha1.SessionInteraction) bool { return i.TimeoutSeconds != 0 }),
	interaction("concurrency", func(i *v1alpha1.SessionInteraction) bool { return i.Concurrency != 0 }),
	interaction("hooks", func(i *v1alpha1.SessionInteraction) bool { return len(i.Hooks) > 0 }),
	{"spec.idle", func(s *v1alpha1.McpSessionSpec) bool { return s.Idle != nil }},
	{"spec.ttlSeconds", func(s *v1alpha1.McpSessionSpec) bool { return s.TTLSeconds != 0 }},
}

// Auto is not among what mode may not be: it makes a plain call where the server offers no task.
var taskFields = []field[v1alpha1.McpTaskSpec]{
	{"spec.mode", func(s *v1alpha1.McpTaskSpec) bool { return s.Mode == v1alpha1.TaskModeTask }},
	{"spec.ttlSeconds", func(s *v1alpha1.McpTaskSpec) bool { return s.TTLSeconds != 0 }},
}

// defaultNameLength is the default of spec.tools.maxLength, in characters.
const defaultNameLength = 64

// other reports whether a value was given that is not the default.
func other[T comparable](value, byDefault T) bool {
	var absent T
	return value != absent && value != byDefault
}

func stdio(name string, isSet func(*v1alpha1.StdioTransport) bool) field[v1alpha1.McpServerSpec] {
	return field[v1alpha1.McpServerSpec]{"spec.transport.stdio." + name, func(s *v1alpha1.McpServerSpec) bool {
		return s.Transport.Stdio != nil && isSet(s.Transport.Stdio)
	}}
}

func tools(name string, isSet func(*v1alpha1.SessionTools) bool) field[v1alpha1.McpSessionSpec] {
	return field[v1alpha1.McpSessionSpec]{"spec.tools." + name, func(s *v1alpha1.McpSessionSpec) bool {
		return s.Tools != nil && isSet(s.Tools)
	}}
}

func interaction(name string, isSet func(*v1alpha1.SessionInteraction) bool) field[v1alpha1.McpSessionSpec] {
	return field[v1alpha1.McpSessionSpec]{"spec.interaction." + name, func(s *v1alpha1.McpSessionSpec) bool {
		return s.Interaction != nil && isSet(s.Interaction)
	}}
}

// check names every field that is set and not acted upon, in the order of the table.
func check[T any](fields []field[T], spec *T) *Problem {
	var paths []string
	for _, f := range fields {
		if f.isSet(spec) {
			paths = append(paths, f.path)
		}
	}
	if len(paths) == 0 {
		return nil
	}
	return &Problem{
		Reason:  v1alpha1.ReasonNotImplemented,
		Message: "this release does not act upon " + strings.Join(paths, ", "),
	}
}
