// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package interop

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mooring-dev/mooring/internal/mcp"
	"github.com/mooring-dev/mooring/internal/mcp/completion"
	"github.com/mooring-dev/mooring/internal/mcp/content"
	"github.com/mooring-dev/mooring/internal/mcp/logs"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// use does with a server all that it offers, and releases it.
func (o *offer) use(t *testing.T, s started) {
	var declared []string
	if o.updates != nil {
		declared = []string{o.updates.declared}
	}
	r := newRig(t, s.server, declared...)
	for _, part := range []struct {
		name string
		test func(*rig)
		has  bool
	}{
		{"describes itself", o.describes, true},
		{"lists", o.lists, true},
		{"refused subscription", o.refused, o.deaf},
		{"updates", o.updated, o.updates != nil}, // before something else changes what is subscribed to
		{"tools", o.callsTools, true},
		{"resources", o.readsResources, o.reads != nil},
		{"other resources", o.refusesOthers, o.reads != nil},
		{"prompts", o.getsPrompts, o.gets != nil},
		{"completion", o.completes, o.completions != nil},
		{"progress", o.progressed, o.progress != nil},
		{"logs", o.logging, o.logs != nil},
		{"what it has not", o.lacks, true},
		{"list_changed", o.changed, o.change != nil},
		{"release", s.released, true},
	} {
		if part.has {
			t.Run(part.name, func(t *testing.T) {
				outer := r.t
				r.t = t
				defer func() { r.t = outer }()
				part.test(r)
			})
		}
	}
}

func (o *offer) describes(r *rig) {
	got := r.synced()
	if got.ProtocolVersion != o.version || got.ServerInfo.Name != o.info {
		r.t.Errorf("speaks %q, is %+v", got.ProtocolVersion, got.ServerInfo)
	}
	if text := got.Instructions.Text; !strings.Contains(text, o.instructions) || (text == "") != (o.instructions == "") {
		r.t.Errorf("instructions %q", text)
	}
	if got.LastError != nil {
		r.t.Errorf("the last error is %+v", got.LastError)
	}
}

func (o *offer) lists(r *rig) {
	got := r.synced()
	var tools []string
	for _, tool := range got.Tools.Tools {
		tools = append(tools, tool.Name)
	}
	slices.Sort(tools)
	if !slices.Equal(tools, o.tools) || len(got.Tools.Dropped) > 0 {
		r.t.Errorf("tools %q, dropped %+v", tools, got.Tools.Dropped)
	}
	if n := len(r.snapshot().Projection.Tools); n != len(o.tools) {
		r.t.Errorf("%d tools are projected", n)
	}
	resources := ids(got.Resources)
	for _, uri := range o.resources {
		if !slices.Contains(resources, uri) {
			r.t.Errorf("no %s among resources %q", uri, resources)
		}
	}
	if o.resources == nil && len(resources) > 0 {
		r.t.Errorf("resources %q", resources)
	}
	if templates := ids(got.Templates); !slices.Equal(templates, o.templates) {
		r.t.Errorf("templates %q", templates)
	}
	if prompts := ids(got.Prompts); !slices.Equal(prompts, o.prompts) {
		r.t.Errorf("prompts %q", prompts)
	}
}

// ids of a list, sorted.
func ids(c *content.Catalog) []string {
	var out []string
	for _, entry := range c.Entries {
		out = append(out, entry.ID)
	}
	slices.Sort(out)
	return out
}

func (o *offer) callsTools(r *rig) {
	for _, tool := range o.calls {
		if _, texts := r.call(tool); !strings.Contains(texts, tool.want) {
			r.t.Errorf("%s: %s", tool.name, texts)
		}
	}
}

func (o *offer) readsResources(r *rig) {
	for uri, want := range o.reads {
		raw, err := r.Read(r.t.Context(), id, name, uri)
		if err != nil {
			r.t.Errorf("%s: %v", uri, err)
			continue
		}
		report, err := content.ReadReport(raw)
		if err != nil || len(report.Contents) != 1 || !strings.Contains(textsOf(raw), want) {
			r.t.Errorf("%s: %s, %v", uri, raw, err)
		}
	}
}

// refusesOthers asks for what is not offered: it is not asked for (CNT-20).
func (o *offer) refusesOthers(r *rig) {
	var call *mcp.CallError
	_, err := r.Read(r.t.Context(), id, name, "test://nothing")
	if !errors.As(err, &call) || call.Reason != mcp.CallNotInCatalog || call.Sent {
		r.t.Errorf("%v", err)
	}
}

func (o *offer) getsPrompts(r *rig) {
	for _, prompt := range o.gets {
		var arguments json.RawMessage
		if prompt.arguments != "" {
			arguments = json.RawMessage(prompt.arguments)
		}
		raw, err := r.GetPrompt(r.t.Context(), id, name, prompt.name, arguments)
		if err != nil || !strings.Contains(textsOf(raw), prompt.want) {
			r.t.Errorf("%s: %s, %v", prompt.name, raw, err)
		}
	}
}

func (o *offer) completes(r *rig) {
	for _, c := range o.completions {
		raw, err := r.Complete(r.t.Context(), id, name, completion.Request{
			Ref:      completion.Ref{Type: c.of, Name: c.name},
			Argument: completion.Argument{Name: c.argument, Value: c.value},
			Context:  c.context,
		})
		if err != nil {
			r.t.Errorf("%s of %s: %v", c.argument, c.name, err)
			continue
		}
		report, err := completion.NewReport(raw)
		if err != nil || !slices.Equal(report.Values, c.want) {
			r.t.Errorf("%s of %s: %s, %v", c.argument, c.name, raw, err)
		}
	}
}

func (o *offer) progressed(r *rig) {
	var told []string
	tool := *o.progress
	tool.notify = func(m *wire.Message) {
		if m.Method == "notifications/progress" {
			params, _ := wire.ParseObject(m.Params)
			told = append(told, string(params.Get("progress")))
		}
	}
	if _, texts := r.call(tool); !strings.Contains(texts, tool.want) {
		r.t.Errorf("%s: %s", tool.name, texts)
	}
	var want []string
	for i := range o.progresses {
		want = append(want, fmt.Sprint(i+1))
	}
	if !slices.Equal(told, want) {
		r.t.Errorf("progress %q", told)
	}
}

func (o *offer) logging(r *rig) {
	r.forget()
	r.call(*o.logs)
	for _, part := range o.logged {
		event := r.await("log of "+part, func(e *mcp.Event) bool {
			return e.Kind == mcp.EventLog && strings.Contains(e.Log.Message, part)
		})
		kept := r.Logs(id, name, event.Revision-1, 256)
		if len(kept) == 0 || kept[0] != *event.Log || kept[0].Synthetic {
			r.t.Errorf("kept %+v, told %+v", kept, event.Log)
		}
	}
}

// lacks asks for what the server does not declare: nothing of it is sent.
func (o *offer) lacks(r *rig) {
	ctx := r.t.Context()
	for _, part := range []struct {
		name string
		has  bool
		ask  func() error
	}{
		{"resources", o.reads != nil, func() error {
			_, err := r.Read(ctx, id, name, "test://nothing")
			return err
		}},
		{"prompts", o.gets != nil, func() error {
			_, err := r.GetPrompt(ctx, id, name, "nothing", nil)
			return err
		}},
		{"completion", o.completions != nil, func() error {
			_, err := r.Complete(ctx, id, name, completion.Request{Ref: completion.Ref{Type: completion.PromptRef, Name: "nothing"}})
			return err
		}},
		{"subscriptions", o.updates != nil || o.deaf, func() error { return r.Subscribe(ctx, id, name, "test://nothing") }},
		{"logging", o.logs != nil, func() error { return r.SetLogLevel(ctx, id, name, logs.Error) }},
	} {
		if part.has {
			continue
		}
		var call *mcp.CallError
		if err := part.ask(); !errors.As(err, &call) || call.Reason != mcp.CallNotSupported || call.Sent {
			r.t.Errorf("%s: %v", part.name, err)
		}
	}
}
