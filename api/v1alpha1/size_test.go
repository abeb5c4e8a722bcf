// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/mooring-dev/mooring/api/v1alpha1"
)

// maxObjectBytes is what the spec and status of one object may take, as the API server stores them. etcd refuses 1.5 MiB,
// and metadata, managed fields among them, needs its part.
const maxObjectBytes = 1 << 20

// budget is a bound on the encoded bytes of a field that is tighter than its schema.
type budget struct {
	bytes int64
	// rule is the message of the CEL rule that keeps to the budget. Without one, the operator does: only it writes the field.
	rule string
}

const (
	conditions = "status.conditions[].message"
	uriRule    = "uri: must be at most 1024 characters, of which an & counts as 6"
)

// budgets by kind and path. Those that the operator keeps to are constants of the API's package.
var budgets = map[string]budget{
	"McpServer." + conditions:                             {bytes: v1alpha1.MessageBytes},
	"McpSession." + conditions:                            {bytes: v1alpha1.MessageBytes},
	"McpTask." + conditions:                               {bytes: v1alpha1.MessageBytes},
	"McpSession.status.servers[].lastError.message":       {bytes: v1alpha1.ErrorMessageBytes},
	"McpSession.status.servers[].capabilities":            {bytes: v1alpha1.CapabilitiesBytes},
	"McpSession.status.servers[].authorization.scopes":    {bytes: v1alpha1.ScopesBytes},
	"McpSession.status.servers[].serverInfo.name":         {bytes: v1alpha1.ServerInfoBytes},
	"McpSession.status.servers[].serverInfo.title":        {bytes: v1alpha1.ServerInfoBytes},
	"McpSession.status.servers[].serverInfo.version":      {bytes: v1alpha1.ServerInfoBytes},
	"McpSession.status.skippedServers[].message":          {bytes: v1alpha1.ErrorMessageBytes},
	"McpSession.status.pendingInteractions[].message":     {bytes: v1alpha1.MessageBytes},
	"McpSession.status.tools":                             {bytes: v1alpha1.ListedToolsBytes},
	"McpSession.status.subscriptions":                     {bytes: v1alpha1.SubscriptionsBytes},
	"McpSession.spec.subscriptions[].uri":                 {bytes: 1024, rule: uriRule},
	"McpSession.spec.roots.items[].uri":                   {bytes: 1024, rule: uriRule},
	"McpSession.spec.servers[].headers[].value":           {bytes: 0, rule: ownHeaderRule},
	"McpSession.spec.overrides.servers[].headers[].value": {bytes: 0, rule: ownHeaderRule},
	"McpTask.spec.arguments":                              {bytes: 786432, rule: "arguments: must be smaller as it is stored, where every <, > and & takes 6 bytes"},
	"McpTask.status.result.preview":                       {bytes: v1alpha1.ResultPreviewBytes},
}

const ownHeaderRule = "headers: may have secretKeyRef only here; put the value into a Secret"

// keyBytes bounds the keys of maps, which a schema cannot: by path, the CEL rule that does.
var keyBytes = map[string]budget{
	"McpSession.spec.workspace.selector.matchLabels": {bytes: 253, rule: labelKeyRule},
	"McpSession.spec.plugins.selector.matchLabels":   {bytes: 253, rule: labelKeyRule},
}

const labelKeyRule = "matchLabels: every key must be a label's name, at most 253 characters"

// TestWorstCaseSize proves from the generated schemas that no object outgrows the store: nothing is unbounded, and spec and
// status together are at most 1 MiB in the encoding that the API server stores.
func TestWorstCaseSize(t *testing.T) {
	used := map[string]bool{}
	for kind, root := range kinds(t) {
		t.Run(kind, func(t *testing.T) {
			m := &measure{errorf: t.Errorf, used: used, rules: map[string]bool{}}
			m.collectRules(&root)
			total := m.size(kind+".spec", ptr(root.Properties["spec"])) + m.size(kind+".status", ptr(root.Properties["status"]))
			t.Logf("worst case %d bytes of %d", total, maxObjectBytes)
			if total > maxObjectBytes {
				t.Errorf("spec and status may take %d bytes, more than %d; the biggest contributors:\n%s",
					total, maxObjectBytes, m.biggest(12))
			}
		})
	}
	for _, table := range []map[string]budget{budgets, keyBytes} {
		for path := range table {
			if !used[path] {
				t.Errorf("the budget of %s belongs to no field", path)
			}
		}
	}
}

func ptr[T any](v T) *T { return &v }

type measure struct {
	errorf func(format string, args ...any)
	used   map[string]bool
	rules  map[string]bool
	parts  []part
	// times is how often the field that is measured occurs at most.
	times int64
}

type part struct {
	path  string
	bytes int64
}

func (m *measure) collectRules(s *schema) {
	for _, r := range s.Rules {
		m.rules[r.Message] = true
	}
	for _, property := range s.Properties {
		m.collectRules(&property)
	}
	if s.Items != nil {
		m.collectRules(s.Items)
	}
	if s.AdditionalProperties != nil {
		m.collectRules(s.AdditionalProperties)
	}
}

func (m *measure) biggest(n int) string {
	slices.SortFunc(m.parts, func(a, b part) int { return cmp.Compare(b.bytes, a.bytes) })
	var out strings.Builder
	for _, p := range m.parts[:min(n, len(m.parts))] {
		fmt.Fprintf(&out, "%9d %s\n", p.bytes, p.path)
	}
	return out.String()
}

// size returns the most bytes that a value takes, encoded.
func (m *measure) size(path string, s *schema) int64 {
	if m.times == 0 {
		m.times = 1
	}
	n, ok := m.budget(budgets, path)
	if !ok {
		n = m.schemaSize(path, s)
	} else if s.Type == "string" {
		n += 2 // the quotes
	}
	if ok || s.Type != "object" && s.Type != "array" {
		m.parts = append(m.parts, part{path: path, bytes: n * m.times})
	}
	return n
}

func (m *measure) budget(table map[string]budget, path string) (int64, bool) {
	b, ok := table[path]
	m.used[path] = m.used[path] || ok
	if ok && b.rule != "" && !m.rules[b.rule] {
		m.errorf("%s: no CEL rule says %q", path, b.rule)
	}
	return b.bytes, ok
}

func (m *measure) schemaSize(path string, s *schema) int64 {
	switch {
	case s.PreserveUnknown || s.IntOrString:
		m.errorf("%s: takes anything", path)
	case s.Type == "object":
		return m.object(path, s)
	case s.Type == "array":
		return m.array(path, s)
	case s.Type == "string":
		return m.text(path, s)
	case s.Type == "integer" && strings.HasSuffix(path, "status.conditions[].observedGeneration"):
		return int64(len("9223372036854775807")) // metav1.Condition has a minimum only
	case s.Type == "integer":
		if s.Minimum == nil || s.Maximum == nil {
			m.errorf("%s: an integer without minimum or maximum", path)
			return 20
		}
		return int64(max(len(fmt.Sprintf("%.0f", *s.Minimum)), len(fmt.Sprintf("%.0f", *s.Maximum))))
	default:
		m.errorf("%s: type %q is not allowed in this API", path, s.Type)
	}
	return 0
}

func (m *measure) object(path string, s *schema) int64 {
	n := int64(len("{}"))
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		n += int64(len(name)+len(`"":,`)) + m.size(path+"."+name, &property)
	}
	if s.AdditionalProperties == nil {
		return n
	}
	key, ok := m.budget(keyBytes, path)
	if s.MaxProperties == nil || !ok {
		m.errorf("%s: a map without maxProperties, or with unbounded keys", path)
		return n
	}
	defer m.repeat(*s.MaxProperties)()
	return n + *s.MaxProperties*(key+int64(len(`"":,`))+m.size(path+"{}", s.AdditionalProperties))
}

func (m *measure) array(path string, s *schema) int64 {
	if s.ListType == "" {
		m.errorf("%s: an array without listType", path)
	}
	if s.MaxItems == nil {
		m.errorf("%s: an array without maxItems", path)
		return 0
	}
	defer m.repeat(*s.MaxItems)()
	return int64(len("[]")) + *s.MaxItems*(m.size(path+"[]", s.Items)+int64(len(",")))
}

func (m *measure) repeat(n int64) func() {
	before := m.times
	m.times *= max(n, 1)
	return func() { m.times = before }
}

// text measures a string with its quotes.
func (m *measure) text(path string, s *schema) int64 {
	if len(s.Enum) > 0 {
		longest := 0
		for _, value := range s.Enum {
			longest = max(longest, len(value))
		}
		return int64(longest + 2)
	}
	if s.Format == "date-time" {
		return int64(len(`"2006-01-02T15:04:05.999999999-07:00"`))
	}
	if s.MaxLength == nil {
		m.errorf("%s: a string without maxLength", path)
		return 0
	}
	perRune, err := widestRune(s.Pattern)
	if err != nil {
		m.errorf("%s: pattern %q: %v", path, s.Pattern, err)
	}
	return *s.MaxLength*perRune + 2
}

// anyRune is what a code point takes at most: \u003c and its like.
const anyRune = 6

// widestRune returns what one code point takes, encoded, of those that a pattern allows. A pattern that does not hold the
// whole string allows anything.
func widestRune(pattern string) (int64, error) {
	if !strings.HasPrefix(pattern, "^") || !strings.HasSuffix(pattern, "$") {
		return anyRune, nil
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return anyRune, err
	}
	return widestIn(parsed), nil
}

func widestIn(r *syntax.Regexp) int64 {
	widest := int64(0)
	switch r.Op {
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return anyRune
	case syntax.OpLiteral:
		for _, c := range r.Rune {
			widest = max(widest, encoded(c))
		}
	case syntax.OpCharClass:
		for i := 0; i < len(r.Rune); i += 2 {
			widest = max(widest, widestBetween(r.Rune[i], r.Rune[i+1]))
		}
	default:
		for _, sub := range r.Sub {
			widest = max(widest, widestIn(sub))
		}
	}
	return widest
}

func widestBetween(low, high rune) int64 {
	if high > unicode.MaxLatin1 {
		return anyRune
	}
	widest := int64(0)
	for c := low; c <= high; c++ {
		widest = max(widest, encoded(c))
	}
	return widest
}

// encoded is what a code point takes in JSON as the API server writes it.
func encoded(c rune) int64 {
	b, err := json.Marshal(string(c))
	if err != nil {
		return math.MaxInt32
	}
	return int64(len(b) - len(`""`))
}

// TestMeasureFindsWhatIsUnbounded shows that the proof fails where it should.
func TestMeasureFindsWhatIsUnbounded(t *testing.T) {
	ten, text := int64(10), schema{Type: "string", MaxLength: ptr(int64(10))}
	for name, tc := range map[string]struct {
		schema schema
		want   string
	}{
		"string":               {schema{Type: "string"}, "without maxLength"},
		"integer":              {schema{Type: "integer", Minimum: ptr(0.0)}, "without minimum or maximum"},
		"number":               {schema{Type: "number"}, "not allowed"},
		"boolean":              {schema{Type: "boolean"}, "not allowed"},
		"list":                 {schema{Type: "array", ListType: "atomic", Items: &text}, "without maxItems"},
		"list without a type":  {schema{Type: "array", MaxItems: &ten, Items: &text}, "without listType"},
		"map":                  {schema{Type: "object", AdditionalProperties: &text}, "without maxProperties"},
		"map of unbounded key": {schema{Type: "object", AdditionalProperties: &text, MaxProperties: &ten}, "unbounded keys"},
		"anything":             {schema{Type: "object", PreserveUnknown: true}, "takes anything"},
		"deep down": {
			schema{Type: "object", Properties: map[string]schema{
				"a": {Type: "array", ListType: "set", MaxItems: &ten, Items: &schema{Type: "string"}},
			}},
			"x.a[]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var found []string
			m := &measure{used: map[string]bool{}, errorf: func(format string, args ...any) {
				found = append(found, fmt.Sprintf(format, args...))
			}}
			m.size("x", &tc.schema)
			if len(found) != 1 || !strings.Contains(found[0], tc.want) {
				t.Errorf("want one finding with %q, got %q", tc.want, found)
			}
		})
	}
}

// TestWidestRune checks what a code point takes for the patterns of the API's kind.
func TestWidestRune(t *testing.T) {
	for pattern, want := range map[string]int64{
		"":                      6,
		`^[a-z0-9-]+$`:          1,
		`^[a-z`:                 6,
		`[a-z]+`:                6,
		`^[!-~]+$`:              6,
		`^[ -%'-;=?-~]+$`:       2,
		`^[!#-%'-;=?-\[\]-~]+$`: 1,
		`^https?://[^/]+$`:      6,
		`^.*$`:                  6,
		`^(a|é)+$`:              2,
	} {
		if got, err := widestRune(pattern); got != want && err == nil {
			t.Errorf("%q: want %d, got %d", pattern, want, got)
		}
	}
}
