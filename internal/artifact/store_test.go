// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

func idOf(data string) string {
	digest := sha256.Sum256([]byte(data))
	return hex.EncodeToString(digest[:])
}

// openers open one store again and again, as replicas and restarted processes do.
func openers(t *testing.T) map[string]func() *Store {
	t.Helper()
	backend := s3mem.New()
	if err := backend.CreateBucket("bucket"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gofakes3.New(backend).Server())
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	t.Setenv("AWS_ACCESS_KEY_ID", "a")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "b")
	open := func(location string) func() *Store {
		return func() *Store {
			s, err := Open(t.Context(), location)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			return s
		}
	}
	return map[string]func() *Store{
		"directory": open("file://" + t.TempDir()),
		"bucket":    open("s3://bucket?region=us-east-1&use_path_style=true&endpoint=" + server.URL),
	}
}

func session(t *testing.T, s *Store, name string) *SessionStore {
	t.Helper()
	session, err := s.Session(SessionKey("/workspace", name))
	if err != nil {
		t.Fatal(err)
	}
	return session
}

func put(t *testing.T, s *SessionStore, data, mimeType string) string {
	t.Helper()
	id, err := s.Put(t.Context(), []byte(data), mimeType)
	if err != nil || id != idOf(data) {
		t.Fatalf("Put = %q, %v; want %s", id, err, idOf(data))
	}
	return id
}

// TestStore: the contract of DEV-01 and RES-27, one private store a session, on both backends.
func TestStore(t *testing.T) {
	for name, open := range openers(t) {
		t.Run(name, func(t *testing.T) {
			a := session(t, open(), "a")
			id := put(t, a, "hello, world", "text/plain; charset=utf-8")
			put(t, a, "{}", "application/vnd.unknown+json")
			// Another replica reads what one has written, whole and in parts.
			b := session(t, open(), "a")
			for _, c := range []struct {
				offset, limit int64
				want          string
			}{
				{0, -1, "hello, world"}, {7, 3, "wor"}, {7, 1 << 62, "world"}, {0, 0, ""}, {12, 5, ""}, {1 << 62, 1 << 62, ""},
			} {
				got, err := b.Get(t.Context(), id, c.offset, c.limit)
				if err != nil || string(got.Data) != c.want || got.Size != 12 || got.MimeType != "text/plain" {
					t.Errorf("Get(%d, %d) = %+v, %v; want %q", c.offset, c.limit, got, err, c.want)
				}
			}
			if _, err := b.Get(t.Context(), id, -1, 1); !errors.Is(err, ErrRange) {
				t.Errorf("a negative offset: %v", err)
			}
			for _, unknown := range []string{idOf("x"), "", "../" + id, strings.ToUpper(id), id + ".txt"} {
				if _, err := b.Get(t.Context(), unknown, 0, -1); !errors.Is(err, ErrNotFound) {
					t.Errorf("Get(%q): %v", unknown, err)
				}
			}
			if got, err := b.Get(t.Context(), idOf("{}"), 0, -1); err != nil || got.MimeType != OtherType {
				t.Errorf("an unknown type: %+v, %v", got, err)
			}
			entries, err := b.List(t.Context())
			if err != nil || len(entries) != 2 || entries[0].ID >= entries[1].ID || entries[0].Modified.IsZero() {
				t.Errorf("List = %+v, %v", entries, err)
			}
		})
	}
}

// TestSessionsAreApart: RES-21, and the acceptance case of equal bytes in two sessions.
func TestSessionsAreApart(t *testing.T) {
	for name, open := range openers(t) {
		t.Run(name, func(t *testing.T) {
			store := open()
			a, b := session(t, store, "a"), session(t, store, "b")
			id := put(t, a, "same", "text/plain")
			if _, err := b.Get(t.Context(), id, 0, -1); !errors.Is(err, ErrNotFound) {
				t.Errorf("RES-21: another session reads it: %v", err)
			}
			if put(t, b, "same", "text/plain") != id || a.directory == b.directory {
				t.Error("RES-21: the same id, and different directories")
			}
			if err := a.DeleteAll(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := b.Get(t.Context(), id, 0, -1); err != nil {
				t.Errorf("RES-21: deleted with another session: %v", err)
			}
			if _, err := a.Put(t.Context(), []byte("late"), ""); !errors.Is(err, ErrDeleted) {
				t.Errorf("a write after the end: %v", err)
			}
			if err := a.DeleteAll(t.Context()); err != nil {
				t.Errorf("deleting again: %v", err)
			}
			again := session(t, store, "a")
			if entries, err := again.List(t.Context()); err != nil || len(entries) != 0 {
				t.Errorf("after the end: %v, %v", entries, err)
			}
			put(t, again, "next", "text/plain")
		})
	}
}

func TestIdentity(t *testing.T) {
	store, err := Open(t.Context(), "file://"+t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	// RES-20, the vector of section 24.
	const want = "afad6333e16922a852b6cdf1184c679a433166b272fde701ac562eb388d1515f"
	if got := session(t, store, "session-1").directory; got != want {
		t.Errorf("RES-20: the directory is %s, want %s", got, want)
	}
	first, second := session(t, store, "session-1"), session(t, store, "session-1")
	if first != second {
		t.Error("DEV-33: two values of one session do not share its quota")
	}
	for identity, want := range map[string]error{
		"":                                       ErrIdentity,
		"x":                                      nil,
		strings.Repeat("x", MaxIdentityBytes):    nil,
		strings.Repeat("x", MaxIdentityBytes+1):  ErrIdentity,
		SessionKey("a\x00b", "c"):                ErrIdentity,
		SessionKey("a", "b\x00c"):                ErrIdentity,
		SessionKey("", "c"):                      ErrIdentity,
		SessionKey("a", ""):                      ErrIdentity,
		SessionKey("a", strings.Repeat("x", 90)): nil,
	} {
		if _, err := store.Session(identity); !errors.Is(err, want) {
			t.Errorf("RES-21: %d bytes: %v, want %v", len(identity), err, want)
		}
	}
	for _, location := range []string{
		"", "/tmp", "file://host/x", "file:///x?metadata=", "s3://", "s3://b/prefix", "s3://b?nonsense=s3cret", "mem://", "http://x", ":",
	} {
		if _, err := Open(t.Context(), location); !errors.Is(err, ErrLocation) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("Open(%q): %v", location, err)
		}
	}
}

// TestQuota: RES-24.
func TestQuota(t *testing.T) {
	for name, open := range openers(t) {
		t.Run(name, func(t *testing.T) {
			s := session(t, open(), "count")
			for i := range MaxArtifacts {
				put(t, s, fmt.Sprint(i), "text/plain")
			}
			for range 2 { // it stays so for the next process, which scans (RES-23)
				if _, err := s.Put(t.Context(), []byte("one more"), "text/plain"); !errors.Is(err, ErrQuota) {
					t.Errorf("RES-24: artifact 257: %v", err)
				}
				put(t, s, "7", "text/plain") // costs nothing
				s = session(t, open(), "count")
			}
			s = session(t, open(), "bytes")
			half := strings.Repeat("x", MaxSessionBytes/2)
			put(t, s, half, "text/plain")
			if _, err := s.Put(t.Context(), []byte(half+"x"), ""); !errors.Is(err, ErrQuota) {
				t.Errorf("RES-24: 64 MiB and one byte: %v", err)
			}
			put(t, s, half[1:]+"y", "text/plain")
			put(t, s, half, "text/plain") // costs nothing
			if _, err := s.Put(t.Context(), []byte("z"), ""); !errors.Is(err, ErrQuota) {
				t.Errorf("RES-24: one byte more: %v", err)
			}
			if got, err := s.Get(t.Context(), idOf(half), MaxSessionBytes/2-3, 9); err != nil || string(got.Data) != "xxx" {
				t.Errorf("the end of a large one: %+v, %v", got, err)
			}
		})
	}
}

// TestReserveFirst: concurrent writes do not exceed the quota (DEV-33), and equal ones cost once.
func TestReserveFirst(t *testing.T) {
	for name, open := range openers(t) {
		t.Run(name, func(t *testing.T) {
			store := open()
			data := make([][]byte, 6) // 16 MiB each: four fit
			for i := range data {
				data[i] = bytes.Repeat([]byte{byte(i)}, MaxSessionBytes/4)
			}
			var wg sync.WaitGroup
			errs := make([]error, 2*len(data))
			for i := range errs {
				wg.Go(func() {
					s, err := store.Session("x")
					if err == nil {
						_, err = s.Put(t.Context(), data[i%len(data)], "image/png")
					}
					errs[i] = err
				})
			}
			wg.Wait()
			var stored, refused int
			for _, err := range errs {
				switch {
				case err == nil:
					stored++
				case errors.Is(err, ErrQuota):
					refused++
				default:
					t.Error(err)
				}
			}
			entries, err := session2(t, open()).List(t.Context())
			if err != nil || len(entries) != 4 || stored != 8 || refused != 4 {
				t.Errorf("DEV-33: %d are there, %d were stored, %d refused, %v", len(entries), stored, refused, err)
			}
		})
	}
}

func session2(t *testing.T, s *Store) *SessionStore {
	t.Helper()
	session, err := s.Session("x")
	if err != nil {
		t.Fatal(err)
	}
	return session
}

func TestContextEnds(t *testing.T) {
	for name, open := range openers(t) {
		t.Run(name, func(t *testing.T) {
			s := session(t, open(), "a")
			put(t, s, "first", "text/plain")
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := s.Put(ctx, []byte("second"), "text/plain"); !errors.Is(err, context.Canceled) {
				t.Errorf("Put: %v", err)
			}
			// The share that was reserved is free again, and nothing is left behind.
			put(t, s, "third", "text/plain")
			if entries, err := s.List(t.Context()); err != nil || len(entries) != 2 || len(s.reserved) != 0 {
				t.Errorf("%+v, %v, %d reserved", entries, err, len(s.reserved))
			}
		})
	}
}

// TestUnavailable: a store that fails says so, without its own words.
func TestUnavailable(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "a")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "b")
	server := httptest.NewServer(gofakes3.New(s3mem.New()).Server()) // has no bucket
	defer server.Close()
	store, err := Open(t.Context(), "s3://s3cret?region=us-east-1&use_path_style=true&endpoint="+server.URL)
	if err != nil {
		t.Fatal(err)
	}
	s := session(t, store, "a")
	for name, call := range map[string]func() error{
		"Put":  func() error { _, err := s.Put(t.Context(), []byte("x"), ""); return err },
		"List": func() error { _, err := s.List(t.Context()); return err },
	} {
		if err := call(); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	server.CloseClientConnections()
	_ = store.Close()
}
