// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"errors"
	"io"

	"github.com/mooring-dev/mooring/internal/mcp/sse"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// maxBadEvents bounds the events of one stream that are no message; fewer are skipped.
const maxBadEvents = 100

// messages reads the messages of one event stream.
type messages struct {
	events *sse.Reader
	bad    int // events so far that should have been messages
}

// next returns the next message. Events of another type carry none; of those that should and do not, a few are skipped.
func (s *messages) next() (*wire.Message, error) {
	for {
		event, err := s.event()
		if err != nil {
			return nil, err
		}
		if event.Name != "" && event.Name != "message" {
			continue
		}
		m, err := wire.Parse(event.Data)
		if err == nil {
			return m, nil
		}
		if s.bad++; s.bad > maxBadEvents {
			return nil, &ProtocolError{What: "an event is no JSON-RPC message"}
		}
	}
}

func (s *messages) event() (sse.Event, error) {
	event, err := s.events.Next()
	switch {
	case err == nil:
		return event, nil
	case errors.Is(err, sse.ErrTooLarge):
		return sse.Event{}, &ProtocolError{What: "an event is too large"}
	case errors.Is(err, io.EOF):
		return sse.Event{}, &NetworkError{Err: io.ErrUnexpectedEOF}
	}
	return sse.Event{}, &NetworkError{Err: err}
}
