// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/mcp/catalog"
)

// projected makes n tools whose descriptions have the given length.
func projected(n, description int) *catalog.Projection {
	p := &catalog.Projection{}
	for i := range n {
		p.Tools = append(p.Tools, catalog.ProjectedTool{Name: fmt.Sprintf("mcp__s__tool_%05d", i), Server: "s", Tool: &catalog.Tool{
			Name: fmt.Sprintf("tool_%05d", i), Description: strings.Repeat("d", description), Digest: fmt.Sprintf("%032x", i),
			InputSchema: json.RawMessage("{\n  \"type\": \"object\"\n}"),
		}})
	}
	return p
}

func encodedSize(t *testing.T, tools []v1alpha1.ProjectedTool) int {
	t.Helper()
	data, err := json.Marshal(tools)
	if err != nil {
		t.Fatal(err)
	}
	return len(data) - len("[]") + 1 // each with its comma
}

func TestProject(t *testing.T) {
	for name, row := range map[string]struct {
		projection *catalog.Projection
		whole      bool
		listed     int // -1: as many as fit
	}{
		"none":                    {&catalog.Projection{}, true, 0},
		"the usual session":       {projected(20, 100), true, 20},
		"one that is too large":   {projected(1, v1alpha1.InlineToolsBytes), false, 1},
		"many small ones":         {projected(300, 10), false, 300},
		"more names than fit":     {projected(1000, 3000), false, -1},
		"beyond what is listable": {projected(60000, 0), false, -1},
	} {
		t.Run(name, func(t *testing.T) {
			got := project(row.projection)
			if got.whole != row.whole || row.listed >= 0 && len(got.tools) != row.listed {
				t.Errorf("whole %v with %d tools, want %v with %d", got.whole, len(got.tools), row.whole, row.listed)
			}
			budget := v1alpha1.ListedToolsBytes
			if row.whole {
				budget = v1alpha1.InlineToolsBytes
			}
			size := encodedSize(t, got.tools)
			if size > budget || len(got.tools) > v1alpha1.MaxListedTools {
				t.Errorf("%d tools in %d bytes, over the budget of %d", len(got.tools), size, budget)
			}
			if row.listed < 0 && size < budget-200 {
				t.Errorf("%d bytes of %d are used", size, budget)
			}
			for i := range got.tools {
				if got.tools[i].Name != row.projection.Tools[i].Name {
					t.Fatalf("tool %d is %s: the order is not the projection's", i, got.tools[i].Name)
				}
				if hasText := got.tools[i].InputSchema != ""; hasText != row.whole {
					t.Fatalf("tool %d: its schema is there: %v", i, hasText)
				}
			}
		})
	}
}

// The budget is one of encoded bytes: what JSON escapes counts as it is stored.
func TestProjectCountsEscapes(t *testing.T) {
	p := projected(1, 0)
	p.Tools[0].Tool.Description = strings.Repeat("<", v1alpha1.InlineToolsBytes/5) // 6 bytes each
	if project(p).whole {
		t.Error("a description of escapes stands in status whole")
	}
	p.Tools[0].Tool.Description = strings.Repeat("-", v1alpha1.InlineToolsBytes/5)
	if !project(p).whole {
		t.Error("the same without escapes does not")
	}
}

func TestProjectedTool(t *testing.T) {
	p := projected(1, 3)
	p.Tools[0].Tool.TaskSupport = "optional"
	want := v1alpha1.ProjectedTool{
		Name: "mcp__s__tool_00000", Server: "s", Description: "ddd", InputSchema: `{"type":"object"}`,
		Digest: strings.Repeat("0", 32), TaskSupport: v1alpha1.TaskSupportOptional,
	}
	if diff := cmp.Diff([]v1alpha1.ProjectedTool{want}, project(p).tools); diff != "" {
		t.Error(diff)
	}
	for wire, want := range map[string]v1alpha1.TaskSupport{"required": "Required", "forbidden": "Forbidden", "": "", "new": ""} {
		p.Tools[0].Tool.TaskSupport = wire
		if got := project(p).tools[0].TaskSupport; got != want {
			t.Errorf("task support %q is %q, want %q", wire, got, want)
		}
	}
}
