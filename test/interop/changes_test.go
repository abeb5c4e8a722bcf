// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package interop

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp"
	"github.com/mooring-dev/mooring/internal/mcp/content"
)

// What happens to a server over time: updates, changes of its lists, and the end.

func (o *offer) updated(r *rig) {
	u := o.updates
	if err := r.Subscribe(r.t.Context(), id, name, u.made); err != nil {
		r.t.Fatalf("subscribe: %v", err)
	}
	for _, uri := range []string{u.declared, u.made} {
		if s := r.subscription(uri); s == nil || !s.Active || !s.Updated.IsZero() {
			r.t.Fatalf("subscription to %s: %+v", uri, s)
		}
	}
	r.forget()
	before := r.snapshot().Revisions.Content
	for _, tool := range u.trigger {
		if _, texts := r.call(tool); !strings.Contains(texts, tool.want) {
			r.t.Fatalf("%s: %s", tool.name, texts)
		}
	}
	for _, uri := range []string{u.declared, u.made} {
		event := r.await("update of "+uri, func(e *mcp.Event) bool { return e.Kind == mcp.EventResourceUpdated && e.URI == uri })
		if event.Server != name || event.Revision <= before {
			r.t.Errorf("event %+v", event)
		}
		if s := r.subscription(uri); s == nil || time.Since(s.Updated) > patience {
			r.t.Errorf("after the update of %s: %+v", uri, s)
		}
	}
	if err := r.Unsubscribe(r.t.Context(), id, name, u.made); err != nil {
		r.t.Fatalf("unsubscribe: %v", err)
	}
	if s := r.subscription(u.made); (s != nil) != (u.made == u.declared) {
		r.t.Errorf("after unsubscribing: %+v", s)
	}
	if s := r.subscription(u.declared); s == nil || !s.Active {
		r.t.Errorf("the declared subscription: %+v", s)
	}
	if u.after == nil {
		return
	}
	r.forget()
	for _, tool := range u.after {
		r.call(tool)
	}
	r.await("another update", func(e *mcp.Event) bool {
		if e.Kind == mcp.EventResourceUpdated && e.URI == u.made {
			r.t.Errorf("%s is unsubscribed from, and its update came", e.URI)
		}
		return e.Kind == mcp.EventResourceUpdated && e.URI == u.declared
	})
}

// refused subscribes where the server refuses it: nothing is left behind (SUB-02).
func (o *offer) refused(r *rig) {
	var call *mcp.CallError
	err := r.Subscribe(r.t.Context(), id, name, o.resources[0])
	if !errors.As(err, &call) || call.Reason != mcp.CallRPCError || call.OutcomeUnknown() {
		r.t.Errorf("%v", err)
	}
	if s := r.subscription(o.resources[0]); s != nil {
		r.t.Errorf("subscription %+v", s)
	}
}

// subscription is one as the snapshot shows it, nil if it does not.
func (r *rig) subscription(uri string) *mcp.SubscriptionSnapshot {
	r.t.Helper()
	s := r.snapshot().Servers[0].Subscriptions
	for i := range s {
		if s[i].URI == uri {
			return &s[i]
		}
	}
	return nil
}

func (o *offer) changed(r *rig) {
	before := r.snapshot()
	r.forget()
	if _, texts := r.call(o.change.by); !strings.Contains(texts, o.change.by.want) {
		r.t.Fatalf("%s: %s", o.change.by.name, texts)
	}
	reason := mcp.ReasonNotification
	if o.deaf {
		reason = mcp.ReasonManual
		if err := r.Refresh(r.t.Context(), id, name); err != nil {
			r.t.Fatalf("refresh: %v", err)
		}
	}
	for kind, entry := range o.change.list {
		event := r.await("more "+string(kind), func(e *mcp.Event) bool { return e.Kind == mcp.EventContent && e.List == kind })
		if !slices.Equal(event.Added, []string{entry}) || len(event.Removed) > 0 || event.Reason != reason {
			r.t.Errorf("event %+v", event)
		}
	}
	if o.change.tool != "" {
		event := r.await("more tools", func(e *mcp.Event) bool { return e.Kind == mcp.EventTools })
		tool := r.tool(o.change.tool)
		if tool == nil || !slices.Equal(event.Added, []string{tool.Name}) || event.Reason != reason {
			r.t.Fatalf("event %+v, tool %+v", event, tool)
		}
		if _, texts := r.call(toolCall{name: o.change.tool}); texts != "grown up" {
			r.t.Errorf("%s: %s", o.change.tool, texts)
		}
	}
	r.synced()
	after := r.snapshot()
	if grew := after.Revision > before.Revision; grew != (o.change.tool != "") {
		r.t.Errorf("the revision was %d and is %d", before.Revision, after.Revision)
	}
	if after.Revisions.Content <= before.Revisions.Content {
		r.t.Errorf("the revision of content was %d and is %d", before.Revisions.Content, after.Revisions.Content)
	}
	for kind, entry := range o.change.list {
		list := after.Servers[0].Resources
		if kind == content.Prompts {
			list = after.Servers[0].Prompts
		}
		if _, ok := list.Lookup(entry); !ok {
			r.t.Errorf("%s has no %s", kind, entry)
		}
	}
}

// released ends the session, and looks for what is left of it.
func (s started) released(r *rig) {
	pids := s.running(r.t)
	if s.bridge != nil && len(pids) != 1 {
		r.t.Errorf("%d processes of the server", len(pids))
	}
	if r.sockets.count() == 0 {
		r.t.Error("no socket to a server that is connected")
	}
	var done mcp.Teardown
	deadline := time.Now().Add(10 * time.Second)
	eventually(r.t, 12*time.Second, func() string {
		if done = r.Release(id, deadline); !done.Done {
			return fmt.Sprintf("teardown %+v", done)
		}
		return ""
	})
	if len(done.Unconfirmed) > 0 || !done.Held {
		r.t.Errorf("teardown %+v", done)
	}
	if n := r.sockets.count(); n != 0 {
		r.t.Errorf("%d sockets are open", n)
	}
	// The bridge gives a process time of its own to end.
	eventually(r.t, patience, func() string {
		if pids := s.running(r.t); len(pids) > 0 {
			return fmt.Sprintf("processes %v are there", pids)
		}
		return ""
	})
}

// running are the processes of a stdio server.
func (s started) running(t *testing.T) []int {
	t.Helper()
	if s.bridge == nil {
		return nil
	}
	pids, err := s.bridge.Servers()
	if err != nil {
		t.Fatal(err)
	}
	return pids
}
