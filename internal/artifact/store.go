// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"time"
	"weak"

	"gocloud.dev/blob/s3blob"
)

// The quota of a session (RES-24), and the bound of its identity (RES-21).
const (
	MaxArtifacts     = 256
	MaxSessionBytes  = 64 << 20
	MaxIdentityBytes = 4096
)

// directoryName is the directory, or the beginning of the keys, of all sessions (RES-20).
const directoryName = "mcp-artifacts"

// maxOperation bounds one operation.
const maxOperation = time.Minute

// Store keeps the artifacts of sessions. It is safe for concurrent use.
type Store struct {
	backend  backend
	mu       sync.Mutex
	sessions map[string]weak.Pointer[SessionStore]
}

// backend keeps the objects of a session, which is the name of its directory. Errors are those of this package, and
// errExists.
type backend interface {
	// list returns all objects, at most MaxArtifacts; ErrUnsafe or ErrQuota when there is something else, or more.
	list(ctx context.Context, session string) ([]object, error)
	// find returns the object whose content has the digest id.
	find(ctx context.Context, session, id string) (object, error)
	// read writes an object to w, at most size and one bytes.
	read(ctx context.Context, session string, o object, w writer) error
	// write stores an object. It may find that it is there: errExists.
	write(ctx context.Context, session, name string, data []byte) error
	// remove deletes all that a session has, safe or not.
	remove(ctx context.Context, session string) error
	close() error
}

// object is what a listing says of an artifact.
type object struct {
	name     string
	size     int64
	modified time.Time
}

// Open opens file:///directory, which is created with mode 0700 where it is missing, or s3://bucket. The parameters of
// the latter are those of gocloud.dev/blob/s3blob: region, endpoint, use_path_style and others; credentials come from the
// environment. A bucket is not contacted.
func Open(ctx context.Context, location string) (*Store, error) {
	u, err := url.Parse(location)
	if err != nil {
		return nil, ErrLocation
	}
	var b backend
	switch {
	case u.Scheme == "file" && u.Host == "" && u.RawQuery == "" && strings.HasPrefix(u.Path, "/"):
		b, err = openDirectory(u.Path)
	case u.Scheme == s3blob.Scheme && u.Host != "" && strings.Trim(u.Path, "/") == "":
		opened, failed := new(s3blob.URLOpener).OpenBucketURL(ctx, u)
		if failed != nil {
			return nil, ErrLocation // its text holds the URL
		}
		b = &bucket{opened}
	default:
		return nil, ErrLocation
	}
	if err != nil {
		return nil, err
	}
	return &Store{backend: b, sessions: map[string]weak.Pointer[SessionStore]{}}, nil
}

// Close lets go of the store. No operation may run.
func (s *Store) Close() error {
	if s.backend.close() != nil {
		return ErrUnavailable
	}
	return nil
}

// SessionKey is the identity of a session: what it belongs to, such as a namespace, and its own identity, such as a UID.
// Neither may be empty or hold a NUL byte, or there is none: Session refuses "".
func SessionKey(project, session string) string {
	if project == "" || session == "" || strings.Contains(project+session, "\x00") {
		return ""
	}
	return project + "\x00" + session
}

// Session returns the store of one session, which has 1 to 4096 bytes of identity. Equal identities share a store,
// others share nothing (RES-21).
func (s *Store) Session(identity string) (*SessionStore, error) {
	if identity == "" || len(identity) > MaxIdentityBytes {
		return nil, ErrIdentity
	}
	digest := sha256.Sum256([]byte(identity))
	directory := hex.EncodeToString(digest[:])
	s.mu.Lock()
	defer s.mu.Unlock()
	if held := s.sessions[directory].Value(); held != nil {
		return held, nil
	}
	session := &SessionStore{
		store: s, directory: directory, turn: make(chan struct{}, 1),
		stored: map[string]int64{}, reserved: map[string]*reservation{},
	}
	s.sessions[directory] = weak.Make(session)
	runtime.AddCleanup(session, s.forget, directory)
	return session, nil
}

// forget removes the entry of a session that nobody holds.
func (s *Store) forget(directory string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[directory].Value() == nil {
		delete(s.sessions, directory)
	}
}

// drop removes the entry of a session that is still held.
func (s *Store) drop(session *SessionStore) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[session.directory].Value() == session {
		delete(s.sessions, session.directory)
	}
}
