// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// SessionStore keeps the artifacts of one session. It is safe for concurrent use.
type SessionStore struct {
	store     *Store
	directory string
	turn      chan struct{} // one token, held by a scan

	mu       sync.Mutex
	scanned  bool                    // stored is all there is
	deleted  bool                    // nothing more is written
	stored   map[string]int64        // sizes by name
	reserved map[string]*reservation // by name, of writes that run
}

// Entry describes an artifact.
type Entry struct {
	// ID is the SHA-256 of the content, in hexadecimal digits.
	ID       string
	MimeType string
	// Size in bytes.
	Size     int64
	Modified time.Time
}

// Content is a part of an artifact.
type Content struct {
	Data     []byte
	MimeType string
	// Size of the whole artifact in bytes.
	Size int64
}

// writer is where a backend writes what it reads.
type writer = io.Writer

// Put stores data, unless it is stored already, and returns its id, which is its SHA-256. What is there is verified
// (RES-24, RES-25): a write that was answered has arrived.
func (s *SessionStore) Put(ctx context.Context, data []byte, mimeType string) (id string, err error) {
	ctx, cancel := context.WithTimeout(ctx, maxOperation)
	defer cancel()
	digest := sha256.Sum256(data)
	id = hex.EncodeToString(digest[:])
	o := object{name: id + extension(mimeType), size: int64(len(data))}
	for {
		if err := s.scan(ctx); err != nil {
			return "", err
		}
		r, state, err := s.reserve(o)
		switch {
		case err != nil:
			return "", err
		case state == mine:
			if err := s.write(ctx, o, data); err != nil {
				return "", err
			}
			return id, nil
		case state == theirs:
			select {
			case <-r.done:
			case <-ctx.Done():
				return "", driverError(ctx, ctx.Err())
			}
		case state == there:
			err := s.verify(ctx, o, io.Discard)
			if !errors.Is(err, ErrNotFound) {
				return id, err
			}
			s.lost(o.name) // somebody removed it: it is written again
		}
	}
}

// write stores what is reserved, and ends the reservation.
func (s *SessionStore) write(ctx context.Context, o object, data []byte) (err error) {
	defer func() { s.settle(o, err) }()
	err = s.store.backend.write(ctx, s.directory, o.name, data)
	if errors.Is(err, errExists) {
		err = s.verify(ctx, o, io.Discard)
	}
	return err
}

// Get returns limit bytes of an artifact from offset, or all that follow when limit is negative; none beyond its end. The
// whole artifact is read and verified each time, whatever part of it is wanted: ErrTampered comes instead of bytes that
// are not those of the id.
func (s *SessionStore) Get(ctx context.Context, id string, offset, limit int64) (*Content, error) {
	ctx, cancel := context.WithTimeout(ctx, maxOperation)
	defer cancel()
	if offset < 0 {
		return nil, ErrRange
	}
	if !isDigest(id) {
		return nil, ErrNotFound
	}
	o, err := s.store.backend.find(ctx, s.directory, id)
	if err != nil {
		return nil, s.doubt(err)
	}
	if o.size > MaxSessionBytes {
		return nil, s.doubt(ErrTampered)
	}
	end := o.size
	if limit >= 0 && limit < end-min(offset, end) {
		end = offset + limit
	}
	w := window{from: min(offset, end), to: end}
	if err := s.verify(ctx, o, &w); err != nil {
		return nil, err
	}
	_, mimeType, _ := parseName(o.name)
	return &Content{Data: w.data, MimeType: mimeType, Size: o.size}, nil
}

// List describes the session's artifacts, by id.
func (s *SessionStore) List(ctx context.Context) ([]Entry, error) {
	ctx, cancel := context.WithTimeout(ctx, maxOperation)
	defer cancel()
	objects, err := s.store.backend.list(ctx, s.directory)
	if err != nil {
		return nil, s.doubt(err)
	}
	entries := make([]Entry, 0, len(objects))
	for _, o := range objects {
		id, mimeType, _ := parseName(o.name)
		entries = append(entries, Entry{ID: id, MimeType: mimeType, Size: o.size, Modified: o.modified})
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.ID+a.MimeType, b.ID+b.MimeType) })
	return entries, nil
}

// DeleteAll deletes the session's artifacts, and whatever else is in its place. Writes that run are waited for, later
// ones refused. It may be called again, for a session that has none as well.
func (s *SessionStore) DeleteAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, maxOperation)
	defer cancel()
	for _, r := range s.shut() {
		select {
		case <-r.done:
		case <-ctx.Done():
			return driverError(ctx, ctx.Err())
		}
	}
	if err := s.store.backend.remove(ctx, s.directory); err != nil {
		return err
	}
	s.store.drop(s)
	return nil
}

// verify reads an object to w, and checks its size and its digest.
func (s *SessionStore) verify(ctx context.Context, o object, w io.Writer) error {
	sum := check{Hash: sha256.New()}
	if err := s.store.backend.read(ctx, s.directory, o, io.MultiWriter(&sum, w)); err != nil {
		return s.doubt(err)
	}
	if id, _, _ := parseName(o.name); sum.size != o.size || hex.EncodeToString(sum.Sum(nil)) != id {
		return s.doubt(ErrTampered)
	}
	return nil
}

// check adds up what is written to it.
type check struct {
	hash.Hash
	size int64
}

func (c *check) Write(p []byte) (int, error) {
	c.size += int64(len(p))
	return c.Hash.Write(p)
}

// window keeps the bytes from one offset to another of what is written to it.
type window struct {
	from, to, at int64
	data         []byte
}

func (w *window) Write(p []byte) (int, error) {
	first, last := max(w.from-w.at, 0), min(w.to-w.at, int64(len(p)))
	if first < last {
		w.data = append(w.data, p[first:last]...)
	}
	w.at += int64(len(p))
	return len(p), nil
}
