// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mooring-dev/mooring/internal/artifact"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// shelf is the real store, as the manager wires it.
type shelf struct {
	store   *artifact.Store
	mu      sync.Mutex
	places  map[SessionID]*artifact.SessionStore
	deleted []SessionID
}

func newShelf(t *testing.T) *shelf {
	t.Helper()
	store, err := artifact.Open(t.Context(), "file://"+t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return &shelf{store: store, places: map[SessionID]*artifact.SessionStore{}}
}

func (s *shelf) place(id SessionID) *artifact.SessionStore {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.places[id] == nil {
		s.places[id], _ = s.store.Session(string(id))
	}
	return s.places[id]
}

func (s *shelf) Put(ctx context.Context, id SessionID, data []byte, mimeType string) (string, error) {
	return s.place(id).Put(ctx, data, mimeType)
}

func (s *shelf) Get(ctx context.Context, id SessionID, name string, offset, limit int64) (*Artifact, error) {
	content, err := s.place(id).Get(ctx, name, offset, limit)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrArtifactNotFound, err)
	}
	return &Artifact{Data: content.Data, MimeType: content.MimeType, Size: content.Size}, nil
}

func (s *shelf) DeleteAll(ctx context.Context, id SessionID) error {
	s.mu.Lock()
	s.deleted = append(s.deleted, id)
	s.mu.Unlock()
	return s.place(id).DeleteAll(ctx)
}

// A large text is passed on as a preview and a link, which its session can read and no other, and which goes with the
// session (bridge rows 4 and 5, RES-20, RES-21, design "Cleanup order" step 8).
func TestLargeTextsBecomeArtifacts(t *testing.T) {
	f := newFake(t)
	text := strings.Repeat("x", 5000)
	f.answer = func(_ *wire.Message, a *answer) { a.result(`{"content":[{"type":"text","text":"` + text + `"}]}`) }
	kept := newShelf(t)
	r := newRuntime(t, func(o *Options) { o.Artifacts = kept })
	for _, id := range []SessionID{"a", "b"} {
		d := desired(to(f, "one"))
		d.InlineBytes = 1024
		r.Ensure(id, d)
		synced(t, r, id)
	}
	result, err := r.Call(t.Context(), "a", CallRequest{Tool: "mcp__one__echo", Report: true})
	if err != nil {
		t.Fatal(err)
	}
	link := regexp.MustCompile(`mooring://artifacts/([0-9a-f]{64})"`).FindSubmatch(result.Result)
	if link == nil || strings.Contains(string(result.Result), text) || result.Report == nil {
		t.Fatalf("%.200s", result.Result)
	}
	id := string(link[1])
	got, err := r.Artifact(t.Context(), "a", id, 0, -1)
	if err != nil || string(got.Data) != text {
		t.Errorf("%v", err)
	}
	if _, err := r.Artifact(t.Context(), "b", id, 0, -1); !errors.Is(err, ErrArtifactNotFound) {
		t.Errorf("RES-21: another session reads it: %v", err)
	}
	r.Release("a", time.Now().Add(10*time.Second))
	waitFor(t, func() bool { return r.Release("a", time.Now()).Done })
	if _, err := kept.Get(t.Context(), "a", id, 0, -1); err == nil {
		t.Error("it outlives its session")
	}
	// A successor deletes what a predecessor left.
	if got := r.Release("nobody", time.Now().Add(10*time.Second)); got.Held {
		t.Errorf("%+v", got)
	}
	waitFor(t, func() bool { return r.Release("nobody", time.Now()).Done })
	kept.mu.Lock()
	defer kept.mu.Unlock()
	if len(kept.deleted) != 2 || kept.deleted[1] != "nobody" {
		t.Errorf("deleted %v", kept.deleted)
	}
}

// Known secrets do not come back in what a server says of a failure (bridge row 4).
func TestBridge04SecretsInErrors(t *testing.T) {
	f := newFake(t)
	server := to(f, "one")
	server.HTTP.Header = http.Header{"Authorization": {"Bearer sesame-open-12345"}}
	r := newRuntime(t)
	r.Ensure("a", desired(server))
	synced(t, r, "a")
	for name, say := range map[string]func(*wire.Message, *answer){
		"result": func(_ *wire.Message, a *answer) {
			a.result(`{"isError":true,"content":[{"type":"text","text":"bad token sesame-open-12345"}]}`)
		},
		"error": func(_ *wire.Message, a *answer) {
			a.w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(a.w, `{"jsonrpc":"2.0","id":%s,"error":`+
				`{"code":7,"message":"bad sesame-open-12345","data":{"t":"sesame-open-12345"}}}`, a.id)
		},
	} {
		f.with(func(f *fake) { f.answer = say })
		result, err := r.Call(t.Context(), "a", CallRequest{Tool: "mcp__one__echo"})
		said := ""
		var rpc *wire.Error
		switch {
		case errors.As(err, &rpc):
			said = rpc.Message + string(rpc.Data)
		case err == nil:
			said = string(result.Result)
		default:
			t.Errorf("%s: %v", name, err)
		}
		if said == "" || strings.Contains(said, "sesame") {
			t.Errorf("%s: %q", name, said)
		}
	}
}
