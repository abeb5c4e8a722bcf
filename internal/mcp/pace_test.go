// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"errors"
	"io"
	"log"
	"net/http"
	"testing"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp/transport"
)

// errAbort makes a handler break its connection off, silently.
var errAbort = http.ErrAbortHandler

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

var defaults = Policy{}.orDefault()

func TestREC02Delays(t *testing.T) {
	golden := map[float64][]int{
		0:   {800, 1600, 3200, 6400, 12800},
		0.5: {1000, 2000, 4000, 8000, 16000},
		1:   {1200, 2400, 4800, 9600, 19200},
	}
	for random, want := range golden {
		for i, ms := range want {
			if got := defaults.Recovery.delay(i+1, random); got != time.Duration(ms)*time.Millisecond {
				t.Errorf("delay(%d) at %v: %s, want %d ms", i+1, random, got, ms)
			}
		}
	}
	if got := defaults.Recovery.delay(1000, 0.5); got != defaultMaxDelay {
		t.Errorf("delay(1000): %s", got)
	}
}

func TestPace(t *testing.T) {
	const rest = time.Hour
	down := &transport.NetworkError{Dialing: true, Err: errors.New("x")}
	var p pace
	for i := 1; i < 100; i++ {
		w := p.after(down, defaults.Recovery, rest)
		if w.state != StateConnecting || w.attempt != i+1 || w.limit != 0 || w.delay > 30*time.Second {
			t.Fatalf("first connect, failure %d: %+v", i, w)
		}
	}
	for range 100 { // status takes no larger number
		if w := p.after(down, defaults.Recovery, rest); w.attempt != maxAttempt {
			t.Fatalf("attempt %d", w.attempt)
		}
	}
	p.lost(time.Minute)
	for i := 1; i <= defaultAttempts; i++ {
		if w := p.after(down, defaults.Recovery, rest); w.state != StateReconnecting || w.attempt != i || w.limit != defaultAttempts {
			t.Errorf("recovery %d: %+v", i, w)
		}
	}
	if w := p.after(down, defaults.Recovery, rest); w.state != StateFailed || w.attempt != 5 || w.delay < rest/2 {
		t.Errorf("given up: %+v", w)
	}
	// A connection that does not live is not dialled ever faster.
	p = pace{}
	for range 10 {
		p.lost(time.Second)
	}
	if w := p.after(down, defaults.Recovery, rest); w.delay < 20*time.Second {
		t.Errorf("flapping: %+v", w)
	}
}

func TestClassify(t *testing.T) {
	cases := []struct {
		err    error
		reason FailureReason
		final  bool
	}{
		{&transport.ConfigError{What: "x"}, FailureConfiguration, true},
		{&transport.VersionError{}, FailureUnsupportedVersion, true},
		{&transport.RedirectError{Status: 302}, FailureRedirected, true},
		{&transport.StatusError{Status: 401}, FailureUnauthorized, false},
		{&transport.StatusError{Status: 403}, FailureUnauthorized, false},
		{&transport.StatusError{Status: 429, RetryAfter: time.Minute}, FailureRateLimited, false},
		{&transport.StatusError{Status: 503}, FailureServerError, false},
		{&transport.StatusError{Status: 404}, FailureProtocol, false},
		{&transport.StatusError{Status: 404, Session: true}, FailureUnreachable, false},
		{&transport.TimeoutError{Phase: "x", Limit: time.Second}, FailureTimeout, false},
		{&transport.ProtocolError{What: "x"}, FailureProtocol, false},
		{&transport.NetworkError{Err: io.ErrUnexpectedEOF}, FailureUnreachable, false},
	}
	for _, tc := range cases {
		if got := classify(tc.err); got.reason != tc.reason || got.final != tc.final || got.message == "" {
			t.Errorf("%v: %+v", tc.err, got)
		}
	}
	var p pace
	if w := p.after(&transport.StatusError{Status: 429, RetryAfter: time.Minute}, defaults.Recovery, time.Hour); w.delay < time.Minute {
		t.Errorf("Retry-After was not kept: %+v", w)
	}
}
