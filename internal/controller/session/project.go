// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"bytes"
	"encoding/json"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/mcp/catalog"
)

// projection is what of a session's tools its status holds.
type projection struct {
	tools []v1alpha1.ProjectedTool
	// whole says that every tool is there with its description and schema. Otherwise the chunks hold them.
	whole bool
}

// project fits the tools into status: whole while together they are small, the usual session; beyond that the names that
// fit, for an object that carries a large catalog pays for it at every change (design, "Bounded status").
func project(p *catalog.Projection) projection {
	if tools, ok := fit(p.Tools, v1alpha1.InlineToolsBytes, wholeTool); ok {
		return projection{tools: tools, whole: true}
	}
	tools, _ := fit(p.Tools, v1alpha1.ListedToolsBytes, namedTool)
	return projection{tools: tools}
}

// fit renders tools until the budget of encoded bytes is spent, and reports whether all of them fitted.
func fit(tools []catalog.ProjectedTool, budget int, render func(*catalog.ProjectedTool) v1alpha1.ProjectedTool) (
	[]v1alpha1.ProjectedTool, bool,
) {
	out := make([]v1alpha1.ProjectedTool, 0, min(len(tools), v1alpha1.MaxListedTools))
	for i := range tools {
		tool := render(&tools[i])
		// The API server encodes as this does, with <, > and & escaped.
		encoded, err := json.Marshal(&tool)
		if budget -= len(encoded) + 1; err != nil || budget < 0 || len(out) == v1alpha1.MaxListedTools {
			return out, false
		}
		out = append(out, tool)
	}
	return out, true
}

func wholeTool(t *catalog.ProjectedTool) v1alpha1.ProjectedTool {
	tool := namedTool(t)
	tool.Description = t.Tool.Description
	var schema bytes.Buffer
	if json.Compact(&schema, t.Tool.InputSchema) == nil {
		tool.InputSchema = schema.String()
	}
	return tool
}

func namedTool(t *catalog.ProjectedTool) v1alpha1.ProjectedTool {
	return v1alpha1.ProjectedTool{
		Name: t.Name, Server: t.Server, Digest: t.Tool.Digest, TaskSupport: taskSupport[t.Tool.TaskSupport],
	}
}

// taskSupport turns the protocol's words into the API's.
var taskSupport = map[string]v1alpha1.TaskSupport{
	"required":  v1alpha1.TaskSupportRequired,
	"optional":  v1alpha1.TaskSupportOptional,
	"forbidden": v1alpha1.TaskSupportForbidden,
}
