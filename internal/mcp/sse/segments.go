// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package sse

import "bytes"

const (
	minSegment = 256
	maxSegment = 1 << 20
)

// segments collects bytes without moving those that it has: an event that turns out too large has cost its own size, and
// not what a growing buffer would. The zero value is empty.
type segments struct {
	full [][]byte
	last []byte
	size int
}

func (s *segments) write(b []byte) {
	s.size += len(b)
	for len(b) > 0 {
		if len(s.last) == cap(s.last) {
			if s.last != nil {
				s.full = append(s.full, s.last)
			}
			s.last = make([]byte, 0, max(min(2*cap(s.last), maxSegment), min(len(b), maxSegment), minSegment))
		}
		n := copy(s.last[len(s.last):cap(s.last)], b)
		s.last = s.last[:len(s.last)+n]
		b = b[n:]
	}
}

// take returns what was collected, and is empty afterwards.
func (s *segments) take() []byte {
	out := s.last
	if s.full != nil {
		out = bytes.Join(append(s.full, s.last), nil)
	}
	*s = segments{}
	return out
}
