// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bytes"
	"context"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// triage turns an answer without success into a typed error. id is that of the request, if it was one.
func (w *web) triage(res *response, id wire.ID) error {
	switch {
	case res.StatusCode >= 200 && res.StatusCode < 300:
		return unencoded(res)
	case res.StatusCode >= 300 && res.StatusCode < 400:
		return &RedirectError{Status: res.StatusCode}
	}
	e := &StatusError{Status: res.StatusCode, RetryAfter: retryAfter(res.Header), Session: w.inSession()}
	timer := time.AfterFunc(errorBodyTimeout, func() {
		res.cancel(&TimeoutError{Phase: "the body of an error", Limit: errorBodyTimeout})
	})
	defer timer.Stop()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxErrorBody+1))
	if err != nil || len(body) > maxErrorBody {
		return e
	}
	if m, err := wire.Parse(body); err == nil && m.Error != nil {
		e.RPC, e.Answered = m.Error, !id.IsZero() && m.ID == id
	}
	return e
}

// unencoded refuses what was compressed though it must not be: expanded, it could be of any size.
func unencoded(res *response) error {
	for _, coding := range res.Header["Content-Encoding"] {
		if coding != "" && !strings.EqualFold(coding, "identity") {
			return &ProtocolError{What: "the response is compressed"}
		}
	}
	return nil
}

// finish gives a response back. Its answer was read; if the rest of the body is empty, its socket can be used again. That
// is found out aside, for the caller need not wait for it.
func (w *web) finish(res *response) {
	res.detach()
	taken := w.c.work.Go(func() {
		timer := time.AfterFunc(drainTimeout, func() { res.cancel(ErrClosed) })
		defer timer.Stop()
		_, _ = io.CopyN(io.Discard, res.Body, maxErrorBody)
		res.close()
	})
	if !taken {
		res.close() // the connection is ending, and its sockets with it
	}
}

// post sends a message that has no answer.
func (w *web) post(ctx context.Context, m *wire.Message) error {
	return w.deliver(ctx, &outgoing{method: http.MethodPost, body: m.Append(nil)}, wire.ID{})
}

// deliver sends a request whose response says no more than whether it was taken.
func (w *web) deliver(ctx context.Context, out *outgoing, id wire.ID) error {
	res, err := w.send(ctx, out)
	if err != nil {
		return err
	}
	if err := w.triage(res, id); err != nil {
		res.close()
		return err
	}
	w.finish(res)
	return nil
}

// retryAfter reads Retry-After, which is a number of seconds or a date.
func retryAfter(header http.Header) time.Duration {
	value := header.Get("Retry-After")
	if value == "" {
		return 0
	}
	wait := time.Duration(0)
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		wait = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(value); err == nil {
		wait = time.Until(at)
	}
	return min(max(wait, 0), maxRetryAfter)
}

func mediaType(res *http.Response) string {
	media, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return media
}

// readMessage reads a body that is one JSON-RPC message.
func readMessage(res *http.Response) (*wire.Message, error) {
	if res.ContentLength > wire.MaxMessageBytes {
		return nil, &ProtocolError{What: "the response is too large"}
	}
	body, err := readBounded(res.Body, wire.MaxMessageBytes)
	if err != nil {
		return nil, err
	}
	m, err := wire.Parse(body)
	if err != nil {
		return nil, &ProtocolError{What: "the response is no JSON-RPC message"}
	}
	return m, nil
}

const maxSegment = 1 << 20

// readBounded reads at most limit bytes. It reads into segments, so that a body of unknown length costs its own size
// while it may still turn out too large, and not what a growing buffer would.
func readBounded(r io.Reader, limit int) ([]byte, error) {
	var segments [][]byte
	total := 0
	segment := make([]byte, 0, 4<<10)
	for {
		n, err := r.Read(segment[len(segment):cap(segment)])
		segment = segment[:len(segment)+n]
		if total+len(segment) > limit {
			return nil, &ProtocolError{What: "the response is too large"}
		}
		if err == io.EOF {
			if segments == nil {
				return segment, nil
			}
			return bytes.Join(append(segments, segment), nil), nil
		}
		if err != nil {
			return nil, &NetworkError{Err: err}
		}
		if len(segment) == cap(segment) {
			segments, total = append(segments, segment), total+len(segment)
			segment = make([]byte, 0, min(2*cap(segment), maxSegment))
		}
	}
}
