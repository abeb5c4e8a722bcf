// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"encoding/json"

	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// carrier is what differs between the kinds of transport. Conn makes the messages, keeps the ids and the time; a carrier
// carries. Except for open and abort its methods are called concurrently, between open and abort.
type carrier interface {
	// open makes what must be there before the first message.
	open(ctx context.Context) error
	// exchange sends body, which is req, and waits for its answer. It returns soon after ctx has ended.
	exchange(ctx context.Context, req *Request, body []byte) (json.RawMessage, error)
	// post sends a message that has no answer.
	post(ctx context.Context, m *wire.Message) error
	// listen opens the server's own stream and reads it to its end.
	listen(ctx context.Context, l *listening) error
	// end tells the server, and returns an error when it did not confirm.
	end(ctx context.Context) error
	// abort closes every socket, for good. Goroutines end soon. It may be called more than once.
	abort()
	sockets() int
}

func newCarrier(c *Conn) (carrier, error) {
	switch c.cfg.Kind {
	case KindStdio:
		if c.cfg.Stdio == nil {
			return nil, &ConfigError{What: "nothing opens a connection to a process"}
		}
		return newDuplex(c, newStdio(c)), nil
	case KindSSE:
		w, err := newWeb(c)
		if err != nil {
			return nil, err
		}
		return newDuplex(c, &eventChannel{web: w}), nil
	case KindHTTP:
		w, err := newWeb(c)
		if err != nil {
			return nil, err
		}
		return &streamable{web: w}, nil
	}
	return nil, &ConfigError{What: "there is no such kind of transport"}
}
