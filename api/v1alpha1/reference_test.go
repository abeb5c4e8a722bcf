// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// update writes the field tables of docs/reference anew: go test ./api/v1alpha1 -run TestReferencePages -update.
var update = flag.Bool("update", false, "write the field tables of docs/reference anew")

const (
	beginFields = "<!-- fields: generated -->\n"
	endFields   = "<!-- end of fields -->\n"
)

func page(name string) string {
	return filepath.Join("..", "..", "docs", "reference", strings.ToLower(name)+".md")
}

// TestReferencePages keeps a page for each kind, with every field and its bounds as the schema has them.
func TestReferencePages(t *testing.T) {
	for kind, root := range kinds(t) {
		data, err := os.ReadFile(page(kind))
		if err != nil {
			t.Error(err)
			continue
		}
		text := string(data)
		for _, part := range []string{"spec", "status"} {
			property := root.Properties[part]
			head := "## The fields of " + part + "\n\n"
			before, rest, ok := strings.Cut(text, head+beginFields)
			old, after, ended := strings.Cut(rest, endFields)
			if !ok || !ended {
				t.Errorf("%s: no generated fields of %s", page(kind), part)
				continue
			}
			fields := fieldTable(part, &property)
			if old != fields && !*update {
				t.Errorf("%s: the fields of %s are not those of the schema; run this test with -update", page(kind), part)
			}
			text = before + head + beginFields + fields + endFields + after
		}
		if *update {
			if err := os.WriteFile(page(kind), []byte(text), 0o600); err != nil {
				t.Error(err)
			}
		}
	}
}

func fieldTable(path string, s *schema) string {
	var out strings.Builder
	out.WriteString("| Field | Value | What it is |\n|---|---|---|\n")
	writeFields(&out, path, s)
	return out.String()
}

func writeFields(out *strings.Builder, path string, s *schema) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		at := path + "." + name
		fmt.Fprintf(out, "| `%s` | %s | %s |\n", at, describeValue(&property, slices.Contains(s.Required, name)), describeField(&property))
		if strings.HasSuffix(at, "conditions") {
			continue // Kubernetes' own, the same everywhere
		}
		for property.Items != nil {
			at, property = at+"[]", *property.Items
		}
		writeFields(out, at, &property)
	}
}

func describeField(s *schema) string {
	return strings.NewReplacer("\n", " ", "|", `\|`, "<", "&lt;", ">", "&gt;", "*", `\*`, "_", `\_`).Replace(s.Description)
}

// describeValue says what may be written.
func describeValue(s *schema, required bool) string {
	text := bounds(s)
	switch {
	case s.Default != nil:
		text += fmt.Sprintf(", default %v", s.Default)
	case required:
		text += ", required"
	}
	return text
}

func bounds(s *schema) string {
	switch {
	case len(s.Enum) > 0:
		return strings.Join(s.Enum, ", ")
	case s.Format == "date-time":
		return "time"
	case s.Type == "string":
		return "string, at most " + strconv.FormatInt(*s.MaxLength, 10) + " characters"
	case s.Type == "integer" && s.Maximum != nil:
		return fmt.Sprintf("integer, %.0f to %.0f", *s.Minimum, *s.Maximum)
	case s.Type == "array" && s.Items.Type == "object":
		return fmt.Sprintf("list, at most %d", *s.MaxItems)
	case s.Type == "array":
		return fmt.Sprintf("list, at most %d: %s", *s.MaxItems, bounds(s.Items))
	case s.AdditionalProperties != nil:
		return fmt.Sprintf("map, at most %d: %s", *s.MaxProperties, bounds(s.AdditionalProperties))
	}
	return s.Type
}

// constants returns the values of the package's string constants whose names begin with prefix.
func constants(t *testing.T, prefix string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "conditions.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, prefix) {
			return true
		}
		value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, value)
		return false
	})
	return values
}

// TestReferenceNamesEveryReason fails when a condition or a reason is explained on no page.
func TestReferenceNamesEveryReason(t *testing.T) {
	var all strings.Builder
	for kind := range kinds(t) {
		data, err := os.ReadFile(page(kind))
		if err != nil {
			t.Fatal(err)
		}
		all.Write(data)
	}
	for _, prefix := range []string{"Condition", "Reason", "Annotation", "Label"} {
		names := constants(t, prefix)
		if len(names) == 0 {
			t.Errorf("no constant begins with %s", prefix)
		}
		for _, name := range names {
			if !strings.Contains(all.String(), "`"+name+"`") {
				t.Errorf("%s %s is on no page of docs/reference", prefix, name)
			}
		}
	}
}

var notImplemented = regexp.MustCompile("(?m)^\\| Mcp(Server|Session|Task) \\| `([^`]+)` \\|")

// TestNotImplementedFieldsExist fails when docs/reference/not-implemented.md names a field that is not there.
func TestNotImplementedFieldsExist(t *testing.T) {
	data, err := os.ReadFile(page("not-implemented"))
	if err != nil {
		t.Fatal(err)
	}
	all := kinds(t)
	rows := notImplemented.FindAllStringSubmatch(string(data), -1)
	if len(rows) == 0 && !strings.Contains(string(data), "Every field is implemented.") {
		t.Error("want a table of fields, or the sentence that there are none")
	}
	for _, row := range rows {
		node := all["Mcp"+row[1]]
		for name := range strings.SplitSeq(row[2], ".") {
			next, ok := node.Properties[name]
			if !ok {
				t.Errorf("Mcp%s has no field %s", row[1], row[2])
				break
			}
			node = next
		}
	}
}
