// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package sse

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

// ErrTooLarge says that a line or an event is larger than the reader's bound.
var ErrTooLarge = errors.New("event stream: event too large")

// MaxIDBytes bounds an event id: it is sent back in a request header.
const MaxIDBytes = 1024

// bufferBytes is small because idle streams are many and the HTTP client buffers below.
const bufferBytes = 1 << 10

// Event is one event that has data.
type Event struct {
	// Name is the event's type; empty means "message".
	Name string
	Data []byte
}

// Reader reads the events of one stream.
type Reader struct {
	in       *bufio.Reader
	maxBytes int

	lastID  string
	retry   time.Duration
	started bool
	skipLF  bool

	name    string
	id      string
	idSet   bool
	data    segments
	hasData bool
}

// maxField is how much is kept of a line that carries no data: nothing longer means anything.
const maxField = 4 << 10

// NewReader returns a Reader whose events and lines hold at most maxBytes.
func NewReader(r io.Reader, maxBytes int) *Reader {
	return &Reader{in: bufio.NewReaderSize(r, bufferBytes), maxBytes: maxBytes}
}

// LastID returns the id of the last event that had one, or the empty string.
func (r *Reader) LastID() string { return r.lastID }

// Retry returns the last reconnection time that the stream asked for, or zero.
func (r *Reader) Retry() time.Duration { return r.retry }

// Next returns the next event that has data. It returns io.EOF at the end of the stream, where an unfinished event is
// dropped as the standard asks.
func (r *Reader) Next() (Event, error) {
	for {
		line, taken, err := r.line()
		if err != nil {
			return Event{}, err
		}
		if len(line) > 0 {
			if err := r.field(line); err != nil {
				return Event{}, err
			}
		}
		if taken || len(line) > 0 {
			continue
		}
		if event, ok := r.dispatch(); ok {
			return event, nil
		}
	}
}

func (r *Reader) dispatch() (Event, bool) {
	if r.idSet {
		r.lastID = r.id
	}
	event := Event{Name: r.name, Data: r.data.take()}
	r.name, r.hasData, r.id, r.idSet = "", false, "", false
	return event, len(event.Data) > 0
}

func (r *Reader) field(line []byte) error {
	name, value, found := bytes.Cut(line, []byte{':'})
	if found && len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	switch string(name) {
	case "data":
		return r.appendData(value)
	case "event":
		r.name = string(value[:min(len(value), MaxIDBytes)])
	case "id":
		if bytes.IndexByte(value, 0) < 0 && len(value) <= MaxIDBytes {
			r.id, r.idSet = string(value), true
		}
	case "retry":
		if ms, err := strconv.ParseUint(string(value), 10, 32); err == nil {
			r.retry = time.Duration(ms) * time.Millisecond
		}
	}
	return nil // comments and unknown fields are ignored
}

func (r *Reader) appendData(value []byte) error {
	if err := r.beginData(); err != nil {
		return err
	}
	return r.moreData(value)
}

// beginData begins another line of data, which a line end joins to the last one.
func (r *Reader) beginData() error {
	if r.hasData {
		return r.moreData([]byte{'\n'})
	}
	r.hasData = true
	return nil
}

func (r *Reader) moreData(value []byte) error {
	if r.data.size+1+len(value) > r.maxBytes {
		return fmt.Errorf("%w: more than %d bytes", ErrTooLarge, r.maxBytes)
	}
	r.data.write(value)
	return nil
}

// line returns the next line without its end, which is CR, LF or CRLF; a line that no LF or CR ends is not a line. A long
// line of data is taken as it comes instead of being returned. The bytes are valid until the next call.
func (r *Reader) line() (line []byte, taken bool, err error) {
	left := r.maxBytes + len(dataField) + 1
	for {
		chunk, complete, err := r.bounded(&left)
		if err != nil {
			return nil, false, err
		}
		switch {
		case taken:
			err = r.moreData(chunk)
		case line == nil && complete:
			return chunk, false, nil
		case len(line) < maxField:
			line = append(line, chunk...)
			if taken = !complete && r.isData(line); taken {
				err = r.appendData(bytes.TrimPrefix(line[len(dataField):], []byte{' '}))
				line = nil
			}
		}
		if complete || err != nil {
			return line, taken, err
		}
	}
}

// bounded is chunk, and counts what is left of the longest line.
func (r *Reader) bounded(left *int) (chunk []byte, complete bool, err error) {
	if chunk, complete, err = r.chunk(); err != nil {
		return nil, false, err
	}
	if *left -= len(chunk); *left < 0 {
		return nil, false, fmt.Errorf("%w: line of more than %d bytes", ErrTooLarge, r.maxBytes)
	}
	return chunk, complete, nil
}

// isData reports whether the beginning of a line, long enough to tell, begins data.
func (r *Reader) isData(line []byte) bool {
	return len(line) > len(dataField) && bytes.HasPrefix(line, dataField)
}

var dataField = []byte("data:")

// chunk returns what is buffered of the current line, and whether that is the rest of it. A lone CR ends a line at once:
// waiting for a possible LF would hold back an event until the next one.
func (r *Reader) chunk() (line []byte, complete bool, err error) {
	if _, err := r.in.Peek(1); err != nil {
		return nil, false, err
	}
	buffered, _ := r.in.Peek(r.in.Buffered())
	if r.skipLF {
		r.skipLF = false
		if buffered[0] == '\n' {
			_, _ = r.in.Discard(1)
			return r.chunk()
		}
	}
	if err := r.skipBOM(&buffered); err != nil {
		return nil, false, err
	}
	end := bytes.IndexAny(buffered, "\r\n")
	if end < 0 {
		_, _ = r.in.Discard(len(buffered))
		return buffered, false, nil
	}
	r.skipLF = buffered[end] == '\r'
	_, _ = r.in.Discard(end + 1)
	return buffered[:end], true, nil
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// skipBOM drops a byte order mark from the stream's beginning.
func (r *Reader) skipBOM(buffered *[]byte) error {
	if r.started {
		return nil
	}
	r.started = true
	if (*buffered)[0] != byteOrderMark[0] {
		return nil
	}
	head, err := r.in.Peek(len(byteOrderMark))
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if bytes.Equal(head, byteOrderMark) {
		_, _ = r.in.Discard(len(byteOrderMark))
	}
	*buffered, _ = r.in.Peek(r.in.Buffered())
	if len(*buffered) == 0 {
		if _, err := r.in.Peek(1); err != nil {
			return err
		}
		*buffered, _ = r.in.Peek(r.in.Buffered())
	}
	return nil
}
