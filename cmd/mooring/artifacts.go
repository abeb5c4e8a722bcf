// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/mooring-dev/mooring/internal/artifact"
	"github.com/mooring-dev/mooring/internal/mcp"
)

// artifacts gives each session its place in the store, and keeps it while the session lives.
type artifacts struct {
	store *artifact.Store

	mu    sync.Mutex
	place map[mcp.SessionID]*artifact.SessionStore
}

func newArtifacts(store *artifact.Store) *artifacts {
	return &artifacts{store: store, place: map[mcp.SessionID]*artifact.SessionStore{}}
}

func (a *artifacts) session(id mcp.SessionID) (*artifact.SessionStore, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if place := a.place[id]; place != nil {
		return place, nil
	}
	place, err := a.store.Session(string(id))
	if err != nil {
		return nil, err
	}
	a.place[id] = place
	return place, nil
}

// Put implements mcp.Artifacts.
func (a *artifacts) Put(ctx context.Context, id mcp.SessionID, data []byte, mimeType string) (string, error) {
	place, err := a.session(id)
	if err != nil {
		return "", err
	}
	return place.Put(ctx, data, mimeType)
}

// Get implements mcp.Artifacts.
func (a *artifacts) Get(ctx context.Context, id mcp.SessionID, name string, offset, limit int64) (*mcp.Artifact, error) {
	place, err := a.session(id)
	if err != nil {
		return nil, err
	}
	content, err := place.Get(ctx, name, offset, limit)
	switch {
	case errors.Is(err, artifact.ErrNotFound):
		return nil, fmt.Errorf("%w: %w", mcp.ErrArtifactNotFound, err)
	case err != nil:
		return nil, err
	}
	return &mcp.Artifact{Data: content.Data, MimeType: content.MimeType, Size: content.Size}, nil
}

// DeleteAll implements mcp.Artifacts.
func (a *artifacts) DeleteAll(ctx context.Context, id mcp.SessionID) error {
	place, err := a.session(id)
	if err != nil {
		return err
	}
	if err := place.DeleteAll(ctx); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.place, id)
	return nil
}
