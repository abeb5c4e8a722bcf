// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp/clean"
	"github.com/mooring-dev/mooring/internal/mcp/result"
	"github.com/mooring-dev/mooring/internal/mcp/transport"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// Artifacts keeps what results hold too much of, privately for each session (RES-20 to RES-26). It is called concurrently
// and bounds its own time.
type Artifacts interface {
	Put(ctx context.Context, id SessionID, data []byte, mimeType string) (artifact string, err error)
	// Get returns at most limit bytes from offset. Its error wraps ErrArtifactNotFound for what is not there.
	Get(ctx context.Context, id SessionID, artifact string, offset, limit int64) (*Artifact, error)
	// DeleteAll deletes everything of a session. It may be called again.
	DeleteAll(ctx context.Context, id SessionID) error
}

// Artifact is a part of one.
type Artifact struct {
	Data     []byte
	MimeType string
	// Size of the whole in bytes.
	Size int64
}

// ErrArtifactNotFound says that a session has no such artifact.
var ErrArtifactNotFound = errors.New("no such artifact")

// artifactTimeout bounds what a call spends on storing what it brought.
const artifactTimeout = 30 * time.Second

// Artifact reads a part of an artifact of a session.
func (r *Runtime) Artifact(ctx context.Context, id SessionID, artifact string, offset, limit int64) (*Artifact, error) {
	s := r.session(id)
	if s == nil || s.released() {
		return nil, ErrSessionNotFound
	}
	if r.opts.Artifacts == nil {
		return nil, ErrArtifactNotFound
	}
	return r.opts.Artifacts.Get(ctx, id, artifact, offset, limit)
}

// store is a session's place among the artifacts. nil stores nothing.
func (s *session) store() result.Store {
	if s.rt.opts.Artifacts == nil {
		return nil
	}
	return sessionStore{s}
}

type sessionStore struct{ session *session }

// Put implements result.Store.
func (s sessionStore) Put(ctx context.Context, data []byte, mimeType string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, artifactTimeout)
	defer cancel()
	return s.session.rt.opts.Artifacts.Put(ctx, s.session.id, data, mimeType)
}

// secrets are the values that must not come back in what a server says of a failure (bridge row 4).
func (s *Server) secrets() clean.Secrets {
	var values []string
	for _, of := range s.HTTP.Header {
		values = append(values, of...)
	}
	return clean.NewSecrets(append(values, string(s.Stdio.Token))...)
}

// inline is how large a text may be that a result carries itself.
func (s *session) inline() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inlineBytes
}

// discreet takes known secrets out of the error that a server answered with.
func (c *connection) discreet(err error) error {
	var rpc *wire.Error
	if !errors.As(err, &rpc) {
		return err
	}
	clean := &wire.Error{Code: rpc.Code, Message: c.secrets.WireError(rpc.Message)}
	if rpc.Data != nil {
		clean.Data = c.secrets.Redact(rpc.Data)
	}
	if clean.Message == rpc.Message && bytes.Equal(clean.Data, rpc.Data) {
		return err
	}
	var status *transport.StatusError
	if errors.As(err, &status) {
		copied := *status
		copied.RPC = clean
		return &copied
	}
	return clean
}
