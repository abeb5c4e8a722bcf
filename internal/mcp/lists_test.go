// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp/completion"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// full is a server that declares everything.
func full(t testing.TB) *fake {
	f := newFake(t)
	f.Config.ErrorLog = quiet()
	f.caps = `{"tools":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},` +
		`"prompts":{"listChanged":true},"completions":{},"logging":{}}`
	f.results[wire.MethodResourcesList] = `{"resources":[{"uri":"r:1","name":"r"}]}`
	f.results[wire.MethodTemplatesList] = `{"resourceTemplates":[{"uriTemplate":"t:{x}","name":"t"}]}`
	f.results[wire.MethodPromptsList] = `{"prompts":[{"name":"p","arguments":[{"name":"n","required":true}]}]}`
	for _, method := range []string{wire.MethodSubscribe, wire.MethodUnsubscribe, wire.MethodSetLevel} {
		f.results[method] = `{}`
	}
	f.results[wire.MethodResourcesRead] = `{"contents":[{"uri":"r:1","text":"x"}]}`
	f.results[wire.MethodPromptsGet] = `{"messages":[]}`
	f.results[wire.MethodComplete] = `{"completion":{"values":["a"]}}`
	return f
}

// What a server does not declare is not asked for, and what it declares and does not know is empty (CNT-01, DEV-18,
// DEV-19, CON-11).
func TestUndeclaredAndUnknownListsAreEmpty(t *testing.T) {
	none, unknown := newFake(t), newFake(t)
	none.caps = `{}`
	unknown.caps = `{"tools":{},"resources":{},"prompts":{}}`
	unknown.results[wire.MethodResourcesList] = `{"resources":[{"uri":"r:1","name":"r"}]}`
	r := newRuntime(t)
	r.Ensure("a", desired(to(none, "none"), to(unknown, "unknown")))
	s := synced(t, r, "a")
	for i := range s.Servers {
		if c := &s.Servers[i]; c.State != StateConnected || c.Tools == nil || c.Resources == nil || c.Prompts == nil || c.LastError != nil {
			t.Errorf("%s: %+v", c.Name, c)
		}
	}
	if n := none.count(wire.MethodToolsList) + none.count(wire.MethodResourcesList) + none.count(wire.MethodPromptsList); n != 0 {
		t.Errorf("CNT-01: %d lists of what was not declared", n)
	}
	if got := s.Servers[1]; len(got.Resources.Entries) != 1 || len(got.Templates.Entries) != 0 || len(got.Prompts.Entries) != 0 {
		t.Errorf("DEV-19: %+v", got)
	}
}

// A server connects without the content that cannot be had, and says so; resources and templates stand or fall together
// (CON-11, CNT-02, CNT-08).
func TestContentMayFail(t *testing.T) {
	f := full(t)
	f.results[wire.MethodTemplatesList] = `{"resourceTemplates":"nonsense"}`
	r := newRuntime(t)
	r.Ensure("a", desired(to(f, "one")))
	s := synced(t, r, "a")
	c := s.Servers[0]
	if c.State != StateConnected || len(c.Tools.Tools) != 1 || len(c.Resources.Entries) != 0 || len(c.Prompts.Entries) != 1 {
		t.Fatalf("%s, %d resources, %d prompts", c.State, len(c.Resources.Entries), len(c.Prompts.Entries))
	}
	if c.LastError == nil || c.LastError.Reason != FailureCatalog {
		t.Errorf("last error %+v", c.LastError)
	}
	// A subscription, which is no list, says nothing about it.
	if err := r.Subscribe(t.Context(), "a", "one", "r:1"); err == nil {
		t.Error("there is no such resource")
	}
	r.session("a").conns["one"].live.mark(listSubscriptions)
	f.push(wire.MethodToolsListChanged)
	waitFor(t, func() bool { return f.count(wire.MethodToolsList) > 1 })
	if s := synced(t, r, "a"); s.Servers[0].LastError == nil {
		t.Error("the failure is forgotten while the list is missing")
	}
	f.with(func(f *fake) { f.results[wire.MethodTemplatesList] = `{"resourceTemplates":[]}` })
	if err := r.Refresh(t.Context(), "a", "one"); err != nil {
		t.Fatal(err)
	}
	s, _ = r.Snapshot("a")
	if len(s.Servers[0].Resources.Entries) != 1 || s.Servers[0].LastError != nil {
		t.Errorf("after a refresh: %+v", s.Servers[0])
	}
}

// A list that failed is asked for again by itself, also when only the first one did (CAT-33).
func TestFailedListIsTriedAgain(t *testing.T) {
	t.Parallel()
	f := full(t)
	f.results[wire.MethodPromptsList] = `{}`
	r := newRuntime(t)
	r.Ensure("a", desired(to(f, "one")))
	if s := synced(t, r, "a"); s.Servers[0].LastError == nil {
		t.Fatal("no error")
	}
	f.with(func(f *fake) { f.results[wire.MethodPromptsList] = `{"prompts":[{"name":"p"}]}` })
	s := eventually(t, r, "the list", func(s *Snapshot) bool { return len(s.Servers[0].Prompts.Entries) == 1 })
	if s.Servers[0].LastError != nil || f.count(wire.MethodToolsList) != 1 {
		t.Errorf("%+v, %d lists of tools", s.Servers[0].LastError, f.count(wire.MethodToolsList))
	}
}

// A failed tool list fails the attempt (CON-11), which leaves nothing (CON-06).
func TestToolsMustBeListed(t *testing.T) {
	f := newFake(t)
	f.tools = `{"tools":7}`
	r := newRuntime(t)
	r.Ensure("a", desired(hasty(f)))
	s := eventually(t, r, "a failure", func(s *Snapshot) bool { return s.Servers[0].LastError != nil })
	if c := s.Servers[0]; c.State != StateConnecting || c.LastError.Reason != FailureCatalog {
		t.Errorf("%+v", c)
	}
	eventually(t, r, "three attempts", func(s *Snapshot) bool { return s.Servers[0].Generation > 3 })
	if began, ended := get(f, func(f *fake) int { return f.began }), get(f, func(f *fake) int { return f.ended }); began-ended > 1 {
		t.Errorf("CON-06: %d sessions begun, %d ended", began, ended)
	}
}

// A flip of the list announced five times is one refresh and one revision; a poisoned list changes nothing (CAT-30 to
// CAT-33, REG-09 and the acceptance case of CAT).
func TestCAT31FiveNoticesOneRevision(t *testing.T) {
	f := newFake(t)
	pages := func(first, second string) func(string) string {
		return func(cursor string) string {
			if cursor == "" {
				return `{"tools":[` + first + `],"nextCursor":"2"}`
			}
			return `{"tools":[` + second + `]}`
		}
	}
	tool := func(name, description string) string {
		return fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":{"type":"object"}}`, name, description)
	}
	f.list = pages(tool("unlock", "d"), tool("old", "d")+","+tool("live", "d"))
	r := newRuntime(t)
	r.Ensure("a", desired(to(f, "one")))
	before := synced(t, r, "a")
	rec := record(t, r)
	f.with(func(f *fake) { f.list = pages(tool("unlock", "d"), tool("live", "other")+","+tool("new", "d")) })
	for range 5 {
		f.push(wire.MethodToolsListChanged)
	}
	rec.expect(t, "tools(notification) +1 -1 ~1")
	time.Sleep(100 * time.Millisecond)
	s, _ := r.Snapshot("a")
	if got := f.count(wire.MethodToolsList); s.Revision != before.Revision+1 || got != 4 {
		t.Errorf("revision %d after %d, %d lists", s.Revision, before.Revision, got)
	}
	f.with(func(f *fake) { f.list = nil; f.tools = `{"tools":[` + tool("x", "") + `,` + tool("x", "") + `]}` })
	f.push(wire.MethodToolsListChanged)
	rec.expect(t, "tools(notification) +1 -1 ~1", "refresh failed(notification)")
	after, _ := r.Snapshot("a")
	if after.Revision != s.Revision || names(after) != names(s) || f.count(wire.MethodToolsList) != 5 {
		t.Errorf("CAT-33: revision %d, tools %s, %d lists", after.Revision, names(after), f.count(wire.MethodToolsList))
	}
	if _, err := r.Call(t.Context(), "a", CallRequest{Tool: "mcp__one__live"}); err != nil {
		t.Errorf("the connection is of no use: %v", err)
	}
}

// Notices during a run lead to another pass; what changes with every pass is followed, and never held for ever (CAT-31,
// CAT-40, DEV-21).
func TestCAT40TheBarrierEnds(t *testing.T) {
	f := newFake(t)
	n := 0
	f.handle = func(m *wire.Message, a *answer) bool {
		if m.Method != wire.MethodToolsList {
			return false
		}
		n++
		a.event(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		a.event(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"t%d","inputSchema":{"type":"object"}}]}}`, a.id, n))
		return true
	}
	r := newRuntime(t)
	r.Ensure("a", desired(to(f, "one")))
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, _ = r.AwaitSync(ctx, "a")
	if time.Since(began) > 5*time.Second {
		t.Error("the barrier has no deadline")
	}
	// Its listing is slowed down, as bursts are.
	time.Sleep(500 * time.Millisecond)
	if lists := f.count(wire.MethodToolsList); lists > 60 {
		t.Errorf("%d lists within a second", lists)
	}
}

// A refresh by hand reports its own failure, also when it joins one that runs (CAT-33, DEV-20, CNT-08, REG-07).
func TestRefreshByHand(t *testing.T) {
	f := full(t)
	r := newRuntime(t)
	if err := r.Refresh(t.Context(), "a", "one"); !errors.Is(err, ErrSessionNotFound) {
		t.Errorf("no session: %v", err)
	}
	r.Ensure("a", desired(to(f, "one")))
	synced(t, r, "a")
	if err := r.Refresh(t.Context(), "a", "other"); !errors.Is(err, ErrServerNotFound) {
		t.Errorf("REG-05: %v", err)
	}
	rec := record(t, r)
	f.with(func(f *fake) { f.tools = `{}` })
	f.push(wire.MethodToolsListChanged)
	if err := r.Refresh(t.Context(), "a", "one"); err == nil {
		t.Error("DEV-20: a failure was swallowed")
	}
	if s, _ := r.Snapshot("a"); names(s) != "mcp__one__echo" {
		t.Errorf("tools %s", names(s))
	}
	f.with(func(f *fake) { f.tools = oneTool })
	if err := r.Refresh(t.Context(), "a", "one"); err != nil {
		t.Error(err)
	}
	rec.contains(t, "refresh failed(manual)")
	if err := r.Disconnect("a", "one"); err != nil {
		t.Fatal(err)
	}
	if err := r.Refresh(t.Context(), "a", "one"); !errors.Is(err, ErrServerNotConnected) {
		t.Errorf("REG-07: %v", err)
	}
}

// A definition may bound its lists below what is built in.
func TestListLimits(t *testing.T) {
	f := full(t)
	f.results[wire.MethodPromptsList] = `{"prompts":[{"name":"p"},{"name":"q"}]}`
	r := newRuntime(t)
	server := to(f, "one")
	server.Policy.Lists = ListLimits{MaxPrompts: 1}
	few := to(f, "few")
	few.Policy.Lists = ListLimits{MaxBytes: 10}
	r.Ensure("a", desired(server, few))
	s := eventually(t, r, "both", func(s *Snapshot) bool { return s.Servers[0].LastError != nil && s.Servers[1].LastError != nil })
	if c := s.Servers[0]; c.State != StateConnected || len(c.Prompts.Entries) != 0 || c.LastError.Reason != FailureCatalog {
		t.Errorf("%+v", c)
	}
	if c := s.Servers[1]; c.State != StateConnecting {
		t.Errorf("%+v", c)
	}
}

// What a modern server says about the life of its lists is kept to (2026-07-28 "Caching").
func TestCacheHints(t *testing.T) {
	var got lists
	for _, raw := range []string{
		`{"ttlMs":60000}`, `{"ttlMs":5000,"cacheScope":"private"}`, `{"ttlMs":-1}`, `{"ttlMs":"x"}`, `{}`, `{"ttlMs":1e300}`,
	} {
		got.cache(json.RawMessage(raw))
	}
	if got.fresh != 5*time.Second {
		t.Errorf("fresh for %s", got.fresh)
	}
	got = lists{}
	got.cache(json.RawMessage(`{"ttlMs":1e300}`))
	if got.fresh != maxFresh {
		t.Errorf("fresh for %s", got.fresh)
	}
}

// Resources, prompts and completions are checked before anything is sent (REG-07, CNT-20, CNT-30, CMP-01, CMP-09).
func TestRequestsAreCheckedFirst(t *testing.T) {
	f, bare := full(t), newFake(t)
	r := newRuntime(t)
	r.Ensure("a", desired(to(f, "one"), to(bare, "bare")))
	synced(t, r, "a")
	ctx := t.Context()
	if raw, err := r.Read(ctx, "a", "one", "r:1"); err != nil || !strings.Contains(string(raw), `"text":"x"`) {
		t.Errorf("read: %s %v", raw, err)
	}
	if _, err := r.Read(ctx, "a", "one", "t:7"); err != nil {
		t.Errorf("bridge row 8, by template: %v", err)
	}
	if _, err := r.GetPrompt(ctx, "a", "one", "p", json.RawMessage(`{"n":"v"}`)); err != nil {
		t.Errorf("prompt: %v", err)
	}
	request := completion.Request{
		Ref: completion.Ref{Type: completion.PromptRef, Name: "p"}, Argument: completion.Argument{Name: "n", Value: "a"},
	}
	if _, err := r.Complete(ctx, "a", "one", request); err != nil {
		t.Errorf("complete: %v", err)
	}
	asked := len(get(f, func(f *fake) []string { return f.heard }))
	request.Ref.Name = "q"
	for name, row := range map[string]struct {
		do   func() error
		want CallReason
	}{
		"REG-07 no session":     {func() error { _, err := r.Read(ctx, "b", "one", "r:1"); return err }, CallSessionNotFound},
		"REG-07 no server":      {func() error { _, err := r.Read(ctx, "a", "two", "r:1"); return err }, CallServerNotFound},
		"CNT-20 not listed":     {func() error { _, err := r.Read(ctx, "a", "one", "r:2"); return err }, CallNotInCatalog},
		"not declared":          {func() error { _, err := r.Read(ctx, "a", "bare", "r:1"); return err }, CallNotSupported},
		"CMP-01 no completions": {func() error { _, err := r.Complete(ctx, "a", "bare", request); return err }, CallNotSupported},
		"CMP-02 unknown prompt": {func() error { _, err := r.Complete(ctx, "a", "one", request); return err }, CallInvalid},
		"CNT-30 unknown prompt": {func() error { _, err := r.GetPrompt(ctx, "a", "one", "q", nil); return err }, CallNotInCatalog},
		"CNT-30 no argument":    {func() error { _, err := r.GetPrompt(ctx, "a", "one", "p", nil); return err }, CallInvalid},
		"CNT-30 unknown argument": {func() error {
			_, err := r.GetPrompt(ctx, "a", "one", "p", json.RawMessage(`{"n":"v","x":"y"}`))
			return err
		}, CallInvalid},
		"SEC-09": {func() error {
			_, err := r.GetPrompt(ctx, "a", "one", "p", json.RawMessage(`{"__proto__":"v"}`))
			return err
		}, CallInvalid},
		"SUB-02 not listed": {func() error { return r.Subscribe(ctx, "a", "one", "r:2") }, CallNotInCatalog},
	} {
		err := row.do()
		if reason, sent := endedBy(err); reason != row.want || sent {
			t.Errorf("%s: %v, want %s", name, err, row.want)
		}
	}
	if got := len(get(f, func(f *fake) []string { return f.heard })); got != asked {
		t.Errorf("%d requests were sent", got-asked)
	}
}

// At most four completions run at a time, and one that was given up gives its place back (CMP-01, CMP-07, CMP-09).
func TestCMP09Places(t *testing.T) {
	f := full(t)
	hold := make(chan struct{})
	f.handle = func(m *wire.Message, _ *answer) bool {
		if m.Method == wire.MethodComplete {
			<-hold
		}
		return false
	}
	r := newRuntime(t)
	r.Ensure("a", desired(to(f, "one")))
	synced(t, r, "a")
	request := completion.Request{
		Ref: completion.Ref{Type: completion.PromptRef, Name: "p"}, Argument: completion.Argument{Name: "n", Value: "a"},
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, completion.MaxInFlight)
	for range completion.MaxInFlight {
		go func() { _, err := r.Complete(ctx, "a", "one", request); done <- err }()
	}
	for f.count(wire.MethodComplete) < completion.MaxInFlight {
		time.Sleep(time.Millisecond)
	}
	_, err := r.Complete(t.Context(), "a", "one", request)
	if reason, _ := endedBy(err); reason != CallTooMany {
		t.Errorf("a fifth: %v", err)
	}
	cancel()
	for range completion.MaxInFlight {
		if reason, _ := endedBy(<-done); reason != CallAborted {
			t.Errorf("CMP-07: %s", reason)
		}
	}
	close(hold)
	if _, err := r.Complete(t.Context(), "a", "one", request); err != nil {
		t.Errorf("the next one: %v", err)
	}
}

// Links in results may be read, and nothing else that is not listed (bridge row 8).
func TestLinkedResourcesMayBeRead(t *testing.T) {
	f := full(t)
	f.answer = func(_ *wire.Message, a *answer) {
		a.result(`{"content":[{"type":"resource_link","uri":"linked:1","name":"x"}]}`)
	}
	r := newRuntime(t)
	r.Ensure("a", desired(to(f, "one")))
	synced(t, r, "a")
	if _, err := r.Read(t.Context(), "a", "one", "linked:1"); err == nil {
		t.Error("it may be read before it was linked to")
	}
	if _, err := r.Call(t.Context(), "a", CallRequest{Tool: "mcp__one__echo"}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read(t.Context(), "a", "one", "linked:1"); err != nil {
		t.Errorf("it may not be read: %v", err)
	}
}
