// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mooring-dev/mooring/api/v1alpha1"
)

// row shows one field that is not acted upon: how it is set, and how it may be set, if it may.
type row[T any] struct {
	path string
	set  func(*T)
	// fine sets the field to what happens anyway; value is how the docs write that.
	fine  func(*T)
	value string
}

type (
	server  = v1alpha1.McpServerSpec
	session = v1alpha1.McpSessionSpec
	task    = v1alpha1.McpTaskSpec
)

func stdioWith(t v1alpha1.StdioTransport) func(*server) {
	return func(s *server) { s.Transport = v1alpha1.Transport{Type: v1alpha1.TransportStdio, Stdio: &t} }
}

var serverRows = []row[server]{
	{path: "spec.transport.stdio.image", set: stdioWith(v1alpha1.StdioTransport{Image: "a"})},
	{path: "spec.transport.stdio.command", set: stdioWith(v1alpha1.StdioTransport{Command: []string{"a"}})},
	{path: "spec.transport.stdio.args", set: stdioWith(v1alpha1.StdioTransport{Args: []string{"a"}})},
	{path: "spec.transport.stdio.env", set: stdioWith(v1alpha1.StdioTransport{Env: []v1alpha1.EnvVar{{Name: "A", Value: "b"}}})},
	{path: "spec.transport.stdio.resources", set: stdioWith(v1alpha1.StdioTransport{Resources: &v1alpha1.Resources{CPU: "1"}})},
	{path: "spec.transport.stdio.runtimeClassName", set: stdioWith(v1alpha1.StdioTransport{RuntimeClassName: "a"})},
	{path: "spec.transport.stdio.imagePullSecrets", set: stdioWith(v1alpha1.StdioTransport{ImagePullSecrets: []v1alpha1.LocalSecretReference{{Name: "a"}}})},
	{path: "spec.oauth", set: func(s *server) { s.OAuth = &v1alpha1.OAuth{Grant: v1alpha1.GrantAuthorizationCode} }},
	{path: "spec.sampling", set: func(s *server) { s.Sampling = &v1alpha1.SamplingPolicy{Mode: v1alpha1.On} }},
	{path: "spec.tasks", set: func(s *server) { s.Tasks = &v1alpha1.TaskPolicy{Mode: v1alpha1.On} }},
}

var sessionRows = []row[session]{
	{
		path: "spec.tools.naming", value: "`Qualified`",
		set:  func(s *session) { s.Tools = &v1alpha1.SessionTools{Naming: v1alpha1.NamingPlain} },
		fine: func(s *session) { s.Tools = &v1alpha1.SessionTools{Naming: v1alpha1.NamingQualified} },
	},
	{
		path: "spec.tools.maxLength", value: "64",
		set:  func(s *session) { s.Tools = &v1alpha1.SessionTools{MaxLength: 63} },
		fine: func(s *session) { s.Tools = &v1alpha1.SessionTools{MaxLength: 64} },
	},
	{
		path: "spec.tools.exposure", value: "`Direct`",
		set:  func(s *session) { s.Tools = &v1alpha1.SessionTools{Exposure: v1alpha1.ToolsSearch} },
		fine: func(s *session) { s.Tools = &v1alpha1.SessionTools{Exposure: v1alpha1.ToolsDirect} },
	},
	{
		path: "spec.tools.builtIns", value: "`None`",
		set:  func(s *session) { s.Tools = &v1alpha1.SessionTools{BuiltIns: v1alpha1.BuiltInsAll} },
		fine: func(s *session) { s.Tools = &v1alpha1.SessionTools{BuiltIns: v1alpha1.BuiltInsNone} },
	},
	{
		path: "spec.tools.pin", value: "`None`",
		set:  func(s *session) { s.Tools = &v1alpha1.SessionTools{Pin: v1alpha1.PinApprove} },
		fine: func(s *session) { s.Tools = &v1alpha1.SessionTools{Pin: v1alpha1.PinNone} },
	},
	{path: "spec.extensions", set: func(s *session) { s.Extensions = &v1alpha1.SessionExtensions{} }},
	{
		path: "spec.roots.mode", value: "`Fixed`",
		set:  func(s *session) { s.Roots = &v1alpha1.SessionRoots{Mode: v1alpha1.RootsAgent} },
		fine: func(s *session) { s.Roots = &v1alpha1.SessionRoots{Mode: v1alpha1.RootsFixed} },
	},
	{path: "spec.roots.items", set: func(s *session) {
		s.Roots = &v1alpha1.SessionRoots{Mode: v1alpha1.RootsFixed, Items: []v1alpha1.Root{{URI: "file:///a"}}}
	}},
	{
		path: "spec.exposure", value: "`Trusted`",
		set:  func(s *session) { s.Exposure = v1alpha1.ExposureRestricted },
		fine: func(s *session) { s.Exposure = v1alpha1.ExposureTrusted },
	},
	{
		path: "spec.sampling.mode", value: "`Off`",
		set:  func(s *session) { s.Sampling = &v1alpha1.SessionSampling{Mode: v1alpha1.SamplingAgent} },
		fine: func(s *session) { s.Sampling = &v1alpha1.SessionSampling{Mode: v1alpha1.SamplingOff} },
	},
	{path: "spec.sampling.model", set: func(s *session) { s.Sampling = &v1alpha1.SessionSampling{Model: &v1alpha1.Model{}} }},
	{
		path: "spec.interaction.surface", value: "`None`",
		set:  func(s *session) { s.Interaction = &v1alpha1.SessionInteraction{Surface: v1alpha1.SurfaceHuman} },
		fine: func(s *session) { s.Interaction = &v1alpha1.SessionInteraction{Surface: v1alpha1.SurfaceNone} },
	},
	{path: "spec.interaction.timeoutSeconds", set: func(s *session) {
		s.Interaction = &v1alpha1.SessionInteraction{TimeoutSeconds: 900}
	}},
	{path: "spec.interaction.concurrency", set: func(s *session) { s.Interaction = &v1alpha1.SessionInteraction{Concurrency: 32} }},
	{path: "spec.interaction.hooks", set: func(s *session) {
		s.Interaction = &v1alpha1.SessionInteraction{Hooks: []v1alpha1.Hook{{Name: "a"}}}
	}},
	{path: "spec.idle", set: func(s *session) {
		s.Idle = &v1alpha1.SessionIdle{TimeoutSeconds: 60, Action: v1alpha1.IdleDelete}
	}},
	{path: "spec.ttlSeconds", set: func(s *session) { s.TTLSeconds = 60 }},
}

var taskRows = []row[task]{
	{
		path: "spec.mode", value: "`Auto`",
		set:  func(s *task) { s.Mode = v1alpha1.TaskModeTask },
		fine: func(s *task) { s.Mode = v1alpha1.TaskModeAuto },
	},
	{path: "spec.ttlSeconds", set: func(s *task) { s.TTLSeconds = 10 }},
}

func TestServerFields(t *testing.T) {
	testFields(t, "McpServer", serverFields, serverRows, checkServerSpec)
}

func TestSessionFields(t *testing.T) {
	testFields(t, "McpSession", sessionFields, sessionRows, func(change func(*session)) *Problem {
		object := &v1alpha1.McpSession{}
		change(&object.Spec)
		return CheckSession(object)
	})
}

func TestTaskFields(t *testing.T) {
	testFields(t, "McpTask", taskFields, taskRows, func(change func(*task)) *Problem {
		object := &v1alpha1.McpTask{}
		change(&object.Spec)
		return CheckTask(object)
	})
}

func checkServerSpec(change func(*server)) *Problem {
	object := &v1alpha1.McpServer{Spec: server{Transport: v1alpha1.Transport{
		Type: v1alpha1.TransportStreamableHTTP, StreamableHTTP: &v1alpha1.HTTPTransport{URL: "https://a.example/mcp"},
	}}}
	change(&object.Spec)
	return CheckServer(object)
}

// testFields sets each field alone, then all together, and holds the documentation to the table, both ways.
func testFields[T any](t *testing.T, kind string, fields []field[T], rows []row[T], check func(func(*T)) *Problem) {
	t.Helper()
	if p := check(func(*T) {}); p != nil {
		t.Errorf("nothing set: want no problem, got %v", p)
	}
	documented := documentation(t, kind)
	for _, r := range rows {
		want := &Problem{Reason: v1alpha1.ReasonNotImplemented, Message: "this release does not act upon " + r.path}
		if diff := cmp.Diff(want, check(r.set)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", r.path, diff)
		}
		if r.fine == nil {
			continue
		}
		if p := check(r.fine); p != nil {
			t.Errorf("%s set to what happens anyway: want no problem, got %v", r.path, p)
		}
		if !strings.Contains(documented[r.path], r.value) {
			t.Errorf("%s: the documentation does not say that it may be %s: %q", r.path, r.value, documented[r.path])
		}
	}
	var known, shown, listed []string
	for _, f := range fields {
		known = append(known, f.path)
	}
	for _, r := range rows {
		shown = append(shown, r.path)
	}
	for path := range documented {
		listed = append(listed, path)
	}
	slices.Sort(listed)
	if diff := cmp.Diff(known, shown); diff != "" {
		t.Errorf("fields without a test, and tests without a field (-fields +tests):\n%s", diff)
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(known)), listed); diff != "" {
		t.Errorf("docs/reference/not-implemented.md lists other fields (-fields +docs):\n%s", diff)
	}
	length := len("this release does not act upon " + strings.Join(known, ", "))
	if length > v1alpha1.MessageBytes {
		t.Errorf("a message may be %d bytes long, of at most %d", length, v1alpha1.MessageBytes)
	}
}

var documentedField = regexp.MustCompile("(?m)^\\| (\\w+) \\| `([^`]+)` \\|[^|]*\\|([^|]*)\\|$")

// documentation returns what the reference says about a kind's fields, by path.
func documentation(t *testing.T, kind string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "reference", "not-implemented.md"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, match := range documentedField.FindAllStringSubmatch(string(data), -1) {
		if match[1] == kind {
			out[match[2]] = match[3]
		}
	}
	return out
}

func TestSeveralFields(t *testing.T) {
	got := checkServerSpec(func(s *server) {
		s.Tasks = &v1alpha1.TaskPolicy{}
		s.OAuth = &v1alpha1.OAuth{}
		s.Transport.StreamableHTTP.URL = "not a URL"
	})
	want := &Problem{Reason: v1alpha1.ReasonNotImplemented, Message: "this release does not act upon spec.oauth, spec.tasks"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// acted are the fields that this release acts upon. With those that it does not, they must be all there are: a field that
// is in neither list would be ignored.
var acted = map[string][]string{
	"McpServer": {
		"spec.transport.type", "spec.transport.streamableHTTP", "spec.transport.sse", "spec.transport.stdio.address",
		"spec.transport.stdio.tokenSecretKeyRef", "spec.calls", "spec.recovery", "spec.healthCheck", "spec.logging", "spec.catalog",
	},
	"McpSession": {
		"spec.workspace", "spec.plugins", "spec.servers", "spec.overrides", "spec.tools.allow", "spec.tools.deny",
		"spec.serviceAccountName", "spec.suspend", "spec.subscriptions", "spec.results",
	},
	"McpTask": {
		"spec.sessionRef", "spec.tool", "spec.arguments", "spec.lifetimeSeconds", "spec.ttlSecondsAfterFinished", "spec.cancel",
	},
}

func TestEveryFieldIsKnown(t *testing.T) {
	for kind, spec := range map[string]any{"McpServer": server{}, "McpSession": session{}, "McpTask": task{}} {
		known := map[string]bool{}
		for _, path := range acted[kind] {
			known[path] = false
		}
		for path := range documentation(t, kind) {
			known[path] = false
		}
		walk(t, "spec", reflect.TypeOf(spec), known)
		for path, met := range known {
			if !met {
				t.Errorf("%s has no field %s", kind, path)
			}
		}
	}
}

func walk(t *testing.T, path string, typ reflect.Type, known map[string]bool) {
	t.Helper()
	if _, ok := known[path]; ok {
		known[path] = true
		return
	}
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct {
		t.Errorf("%s is neither acted upon nor refused", path)
		return
	}
	for i := range typ.NumField() {
		name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
		walk(t, path+"."+name, typ.Field(i).Type, known)
	}
}
