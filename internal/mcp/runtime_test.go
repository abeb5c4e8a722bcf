// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

func TestEnsureConnectsAndProjects(t *testing.T) {
	f := newFake(t)
	var changes atomic.Int64
	r := newRuntime(t, func(o *Options) { o.OnChange = func(SessionID) { changes.Add(1) } })
	r.Ensure("a", desired(to(f, "one")))
	s := synced(t, r, "a")
	if got := names(s); got != "mcp__one__echo" || s.Revision != 1 {
		t.Fatalf("projection %q at revision %d", got, s.Revision)
	}
	server := s.Servers[0]
	if server.State != StateConnected || server.ProtocolVersion != "2025-11-25" || server.Generation != 1 ||
		server.ServerInfo.Name != "fake" || server.Instructions.Text != "hi" || server.CatalogRevision != 1 {
		t.Errorf("server %+v", server)
	}
	if got := strings.Join(server.Capabilities, " "); got != "tools tools.listChanged" {
		t.Errorf("capabilities %q", got)
	}
	if changes.Load() == 0 {
		t.Error("nobody was told")
	}
	// The same again changes nothing.
	before, _ := r.Snapshot("a")
	r.Ensure("a", desired(to(f, "one")))
	if after, _ := r.Snapshot("a"); after != before {
		t.Error("an equal Ensure made another snapshot")
	}
}

func TestEraModernIsPreferred(t *testing.T) {
	f := newFake(t)
	f.modern = true
	r := newRuntime(t)
	legacy := to(f, "legacy")
	legacy.HTTP.Era = EraLegacy
	r.Ensure("a", desired(to(f, "auto"), legacy))
	s := synced(t, r, "a")
	if s.Servers[0].ProtocolVersion != "2026-07-28" || s.Servers[1].ProtocolVersion != "2025-11-25" {
		t.Errorf("versions %q and %q", s.Servers[0].ProtocolVersion, s.Servers[1].ProtocolVersion)
	}
}

func TestFilterAppliesAtOnce(t *testing.T) {
	f := newFake(t)
	r := newRuntime(t)
	r.Ensure("a", desired(to(f, "one")))
	synced(t, r, "a")
	denied := desired(to(f, "one"))
	denied.Tools.Deny = []string{"*echo"}
	r.Ensure("a", denied)
	s, _ := r.Snapshot("a")
	if names(s) != "" || s.Revision != 2 {
		t.Errorf("projection %q at %d", names(s), s.Revision)
	}
	if began := get(f, func(f *fake) int { return f.began }); began != 1 {
		t.Errorf("a filter made %d connections", began)
	}
}

func TestREG08RevisionContinuesAboveTheFloor(t *testing.T) {
	f := newFake(t)
	r := newRuntime(t)
	d := desired(to(f, "one"))
	d.RevisionFloor = 41
	r.Ensure("a", d)
	if s := synced(t, r, "a"); s.Revision != 42 {
		t.Errorf("revision %d", s.Revision)
	}
}

func TestFingerprintReplacesTheConnection(t *testing.T) {
	f := newFake(t)
	r := newRuntime(t)
	r.Ensure("a", desired(to(f, "one")))
	synced(t, r, "a")
	other := to(f, "one")
	other.Fingerprint = "other"
	r.Ensure("a", desired(other))
	s := synced(t, r, "a")
	if s.Servers[0].Fingerprint != "other" || s.Servers[0].Generation != 2 {
		t.Errorf("server %+v", s.Servers[0])
	}
	for end := time.Now().Add(5 * time.Second); get(f, func(f *fake) int { return f.ended }) != 1; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the first session was not ended")
		}
	}
	// Removed and added again, its generation goes on.
	r.Ensure("a", desired())
	r.Ensure("a", desired(other))
	if s := synced(t, r, "a"); s.Servers[0].Generation != 3 {
		t.Errorf("generation %d", s.Servers[0].Generation)
	}
}

func TestCAT30ListChangedIsFollowed(t *testing.T) {
	f := newFake(t)
	r := newRuntime(t)
	r.Ensure("a", desired(to(f, "one")))
	synced(t, r, "a")
	f.with(func(f *fake) { f.tools = strings.ReplaceAll(oneTool, "echo", "other") })
	f.push(wire.MethodToolsListChanged)
	s := eventually(t, r, "the other tool", func(s *Snapshot) bool { return names(s) == "mcp__one__other" })
	if s.Revision != 2 || s.Servers[0].CatalogRevision != 2 {
		t.Errorf("revision %d, catalog's %d", s.Revision, s.Servers[0].CatalogRevision)
	}
	// An equal list is no change (REG-09).
	lists := get(f, func(f *fake) int { return f.lists })
	f.push(wire.MethodToolsListChanged)
	for end := time.Now().Add(5 * time.Second); get(f, func(f *fake) int { return f.lists }) == lists; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not listed again")
		}
	}
	if s := synced(t, r, "a"); s.Revision != 2 {
		t.Errorf("an equal list made revision %d", s.Revision)
	}
}

func TestCAT33FailedRefreshKeepsTheLastList(t *testing.T) {
	f := newFake(t)
	r := newRuntime(t)
	r.Ensure("a", desired(to(f, "one")))
	synced(t, r, "a")
	f.with(func(f *fake) { f.tools = `{"tools":"none"}` })
	f.push(wire.MethodToolsListChanged)
	s := eventually(t, r, "the failure", func(s *Snapshot) bool { return s.Servers[0].LastError != nil })
	if s.Servers[0].LastError.Reason != FailureCatalog || names(s) != "mcp__one__echo" || s.Revision != 1 ||
		s.Servers[0].State != StateConnected {
		t.Errorf("%+v, %v", s.Servers[0], s.Servers[0].LastError)
	}
}

func TestLossWithdrawsThenRecovers(t *testing.T) {
	f := newFake(t)
	r := newRuntime(t)
	r.Ensure("a", desired(to(f, "one")))
	synced(t, r, "a")
	// The server forgets its session, as after a restart.
	f.with(func(f *fake) { f.sessions = map[string]bool{} })
	_, err := r.Call(context.Background(), "a", CallRequest{Tool: "mcp__one__echo"})
	var call *CallError
	if !errors.As(err, &call) || call.OutcomeUnknown() {
		t.Fatalf("call to a forgotten session: %v", err)
	}
	s := eventually(t, r, "the loss", func(s *Snapshot) bool { return s.Servers[0].State == StateReconnecting })
	if names(s) != "" || s.Revision != 2 {
		t.Errorf("after the loss: %q at %d", names(s), s.Revision)
	}
	s = eventually(t, r, "recovery", func(s *Snapshot) bool { return s.Servers[0].State == StateConnected })
	if names(s) != "mcp__one__echo" || s.Revision != 3 || s.Servers[0].Generation != 2 || s.Servers[0].LastError != nil {
		t.Errorf("recovered: %+v", s.Servers[0])
	}
}

func TestUnauthorizedRests(t *testing.T) {
	f := newFake(t)
	f.status = http.StatusUnauthorized
	r := newRuntime(t)
	r.Ensure("a", desired(to(f, "one")))
	s := synced(t, r, "a")
	if s.Servers[0].State != StateAuthorizationRequired || s.Servers[0].LastError.Reason != FailureUnauthorized {
		t.Errorf("%+v", s.Servers[0])
	}
}

func TestNothingThereIsTriedAgain(t *testing.T) {
	f := newFake(t)
	server := to(f, "one")
	f.stop()
	r := newRuntime(t)
	r.Ensure("a", desired(server))
	s := synced(t, r, "a")
	got := s.Servers[0]
	if got.State != StateConnecting || got.Attempt != 2 || got.LastError.Reason != FailureUnreachable || got.NextAttempt.IsZero() {
		t.Errorf("%+v %+v", got, got.LastError)
	}
	if strings.Contains(got.LastError.Message, "127.0.0.1") {
		t.Errorf("the message names an address: %q", got.LastError.Message)
	}
}

func TestHungServerCostsNobodyElse(t *testing.T) {
	good, hung := newFake(t), newFake(t)
	hung.hold = make(chan struct{})
	defer close(hung.hold)
	r := newRuntime(t)
	r.Ensure("a", desired(to(good, "good"), to(hung, "hung")))
	r.Ensure("b", desired(to(good, "good")))
	synced(t, r, "b")
	eventually(t, r, "the good server", func(s *Snapshot) bool { return s.Servers[0].State == StateConnected })
	if _, err := r.Call(context.Background(), "a", CallRequest{Tool: "mcp__good__echo"}); err != nil {
		t.Errorf("call beside a hung server: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if s, err := r.AwaitSync(ctx, "a"); err == nil || s == nil {
		t.Errorf("AwaitSync: %v, %v", s, err)
	}
	begin := time.Now()
	r.Release("a", time.Now().Add(2*time.Second))
	for !r.Release("a", time.Time{}).Done {
		time.Sleep(5 * time.Millisecond)
	}
	if took := time.Since(begin); took > 4*time.Second {
		t.Errorf("release took %s", took)
	}
}

func TestReleaseEndsOneSessionOnly(t *testing.T) {
	f := newFake(t)
	release := make(chan struct{})
	f.answer = func(_ *wire.Message, a *answer) {
		<-release
		a.result(`{}`)
	}
	r := newRuntime(t)
	r.Ensure("a", desired(to(f, "one")))
	r.Ensure("b", desired(to(f, "one")))
	synced(t, r, "a")
	synced(t, r, "b")
	if began := get(f, func(f *fake) int { return f.began }); began != 2 {
		t.Fatalf("%d upstream sessions", began)
	}
	outcome := make(chan error, 2)
	for _, id := range []SessionID{"a", "b"} {
		go func() {
			_, err := r.Call(context.Background(), id, CallRequest{Tool: "mcp__one__echo"})
			outcome <- err
		}()
	}
	for r.Stats().CallsInFlight != 2 {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(50 * time.Millisecond) // both are at the server
	r.Release("a", time.Now().Add(10*time.Second))
	var call *CallError
	if err := <-outcome; !errors.As(err, &call) || call.Reason != CallAborted || !call.OutcomeUnknown() {
		t.Errorf("the released session's call: %v", err)
	}
	if _, ok := r.Snapshot("a"); ok {
		t.Error("a released session has a snapshot")
	}
	if _, err := r.Call(context.Background(), "a", CallRequest{Tool: "mcp__one__echo"}); err == nil {
		t.Error("a released session takes calls")
	}
	close(release)
	if err := <-outcome; err != nil {
		t.Errorf("the other session's call: %v", err)
	}
	var last Teardown
	for last = r.Release("a", time.Time{}); !last.Done; last = r.Release("a", time.Time{}) {
		time.Sleep(time.Millisecond)
	}
	if last.Step != TeardownDone || len(last.Unconfirmed) != 0 || !last.Held {
		t.Errorf("teardown %+v", last)
	}
	if ended := get(f, func(f *fake) int { return f.ended }); ended != 1 {
		t.Errorf("%d sessions ended at the server", ended)
	}
	r.Ensure("a", desired(to(f, "one")))
	if _, ok := r.Snapshot("a"); ok {
		t.Error("Ensure revived a released session")
	}
	r.Forget("a")
	if got := r.Release("a", time.Time{}); !got.Done || got.Held {
		t.Errorf("forgotten: %+v", got)
	}
}

func TestReleaseNamesWhoDidNotConfirm(t *testing.T) {
	f := newFake(t)
	r := newRuntime(t)
	r.Ensure("a", desired(to(f, "one")))
	synced(t, r, "a")
	f.with(func(f *fake) { f.status = http.StatusInternalServerError })
	r.Release("a", time.Now().Add(5*time.Second))
	var last Teardown
	for last = r.Release("a", time.Time{}); !last.Done; last = r.Release("a", time.Time{}) {
		time.Sleep(time.Millisecond)
	}
	if len(last.Unconfirmed) != 1 || last.Unconfirmed[0] != "one" {
		t.Errorf("unconfirmed %v", last.Unconfirmed)
	}
}

func TestAwaitSyncEndsWithTheSession(t *testing.T) {
	f := newFake(t)
	f.hold = make(chan struct{})
	defer close(f.hold)
	r := newRuntime(t)
	r.Ensure("a", desired(to(f, "one")))
	outcome := make(chan error, 1)
	go func() {
		_, err := r.AwaitSync(context.Background(), "a")
		outcome <- err
	}()
	time.Sleep(20 * time.Millisecond)
	r.Release("a", time.Now().Add(time.Second))
	if err := <-outcome; !errors.Is(err, ErrSessionNotFound) {
		t.Errorf("AwaitSync: %v", err)
	}
}

func TestUnresolvedKeepsWhatIsThere(t *testing.T) {
	f := newFake(t)
	r := newRuntime(t)
	r.Ensure("a", desired(to(f, "one")))
	before := synced(t, r, "a")
	r.Ensure("a", desired(Server{Name: "one", Unresolved: true}, Server{Name: "two", Unresolved: true}))
	after := synced(t, r, "a")
	if after != before || get(f, func(f *fake) int { return f.began }) != 1 {
		t.Errorf("servers %+v", after.Servers)
	}
}
