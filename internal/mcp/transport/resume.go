// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"errors"
	"net/http"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/mooring-dev/mooring/internal/mcp/sse"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

const (
	// maxResumes bounds resumptions in a row that bring no event.
	maxResumes      = 5
	resumeDelay     = time.Second
	minRetry        = 10 * time.Millisecond
	maxRetry        = 30 * time.Second
	maxFruitlessGap = maxRetry
)

// resumption takes a legacy stream up where it broke off (2025-11-25 transports, "Resumability and Redelivery").
type resumption struct {
	h         *streamable
	lastID    string
	retry     time.Duration
	fruitless int
}

var errNotResumed = errors.New("the stream could not be resumed")

// next opens the stream again. It returns cause where that cannot be done.
func (r *resumption) next(ctx context.Context, ended *sse.Reader, cause error) (*response, error) {
	r.observe(ended)
	for r.lastID != "" && r.fruitless <= maxResumes {
		if err := sleep(ctx, r.delay()); err != nil {
			return nil, err
		}
		r.fruitless++
		res, err := r.h.stream(ctx, r.lastID)
		if err == nil {
			return res, nil
		}
		if !broken(err) {
			// Whatever the server says to this is no answer to the request, which it took.
			return nil, &NetworkError{Err: errNotResumed}
		}
		cause = err
	}
	return nil, cause
}

// observe takes over what an ended stream told about resuming it.
func (r *resumption) observe(ended *sse.Reader) {
	if id := ended.LastID(); id != "" && id != r.lastID && httpguts.ValidHeaderFieldValue(id) {
		r.lastID, r.fruitless = id, 0
	}
	if ended.Retry() > 0 {
		r.retry = min(max(ended.Retry(), minRetry), maxRetry)
	}
}

func (r *resumption) delay() time.Duration {
	if r.retry > 0 {
		return r.retry
	}
	return min(resumeDelay<<r.fruitless, maxFruitlessGap)
}

// stream opens the stream that legacy servers speak on unasked, or resumes one at an event.
func (h *streamable) stream(ctx context.Context, lastEventID string) (*response, error) {
	out := &outgoing{method: http.MethodGet, limit: headerTimeout}
	if lastEventID != "" {
		out.header = http.Header{wire.HeaderLastEventID: {lastEventID}}
	}
	res, err := h.send(ctx, out)
	if err != nil {
		return nil, err
	}
	if err := h.triage(res, wire.ID{}); err != nil {
		res.close()
		return nil, err
	}
	if mediaType(res.Response) != mediaStream {
		res.close()
		return nil, &ProtocolError{What: "the response is no event stream"}
	}
	return res, nil
}

// sleep waits, or returns the context's cause when that ends first.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
