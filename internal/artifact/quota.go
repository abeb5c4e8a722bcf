// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"context"
	"errors"
	"maps"
	"slices"
)

// reservation is the share of the quota of a write that runs. done is closed when it ends.
type reservation struct {
	size int64
	done chan struct{}
}

// What reserve found.
type state int

const (
	mine   state = iota // the caller writes
	theirs              // somebody writes the same
	there               // it is stored
)

// scan reads what the session has, unless that is known (RES-23).
func (s *SessionStore) scan(ctx context.Context) error {
	if known, err := s.known(); known || err != nil {
		return err
	}
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return driverError(ctx, ctx.Err())
	}
	defer func() { <-s.turn }()
	if known, err := s.known(); known || err != nil {
		return err
	}
	objects, err := s.store.backend.list(ctx, s.directory)
	if err != nil {
		return err
	}
	return s.learn(objects)
}

func (s *SessionStore) known() (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deleted {
		return false, ErrDeleted
	}
	return s.scanned, nil
}

// learn adds what a scan found; what was written while it ran stays.
func (s *SessionStore) learn(objects []object) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range objects {
		s.stored[o.name] = o.size
	}
	if len(s.stored) > MaxArtifacts || s.used() > MaxSessionBytes {
		return ErrQuota
	}
	s.scanned = true
	return nil
}

// used returns the bytes that are stored or reserved. s.mu is held.
func (s *SessionStore) used() (total int64) {
	for _, size := range s.stored {
		total += size
	}
	for _, r := range s.reserved {
		total += r.size
	}
	return total
}

// reserve takes the share of the quota that o needs, before it is written (DEV-33).
func (s *SessionStore) reserve(o object) (*reservation, state, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deleted {
		return nil, mine, ErrDeleted
	}
	if _, ok := s.stored[o.name]; ok {
		return nil, there, nil
	}
	if r := s.reserved[o.name]; r != nil {
		return r, theirs, nil
	}
	if len(s.stored)+len(s.reserved) >= MaxArtifacts || o.size > MaxSessionBytes-s.used() {
		return nil, mine, ErrQuota
	}
	r := &reservation{size: o.size, done: make(chan struct{})}
	s.reserved[o.name] = r
	return r, mine, nil
}

// settle ends a reservation. What failed may have been stored all the same: the next write looks.
func (s *SessionStore) settle(o object, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.reserved[o.name].done)
	delete(s.reserved, o.name)
	if err == nil {
		s.stored[o.name] = o.size
	} else {
		s.scanned = false
	}
}

// lost forgets an object that is not there.
func (s *SessionStore) lost(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.stored, name)
}

// doubt makes the next write look again when err says that somebody else was here.
func (s *SessionStore) doubt(err error) error {
	if errors.Is(err, ErrTampered) || errors.Is(err, ErrUnsafe) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.scanned = false
	}
	return err
}

// shut refuses further writes, and returns those that run.
func (s *SessionStore) shut() []*reservation {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deleted = true
	return slices.Collect(maps.Values(s.reserved))
}
