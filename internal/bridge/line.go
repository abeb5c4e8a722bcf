// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"bytes"
	"errors"
)

// MaxLine bounds a line in either direction, in bytes without the newline (DEV-29).
const MaxLine = 24 << 20

var errLineTooLong = errors.New("line too long")

// lineCounter knows how long the line is that passes by.
type lineCounter struct {
	open int // bytes since the last newline
}

// take counts b, and fails if that makes a line longer than MaxLine.
func (l *lineCounter) take(b []byte) error {
	for {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			l.open += len(b)
			return l.check()
		}
		l.open += i
		if err := l.check(); err != nil {
			return err
		}
		l.open, b = 0, b[i+1:]
	}
}

func (l *lineCounter) check() error {
	if l.open > MaxLine {
		return errLineTooLong
	}
	return nil
}
