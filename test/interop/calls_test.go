// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package interop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp"
	"github.com/mooring-dev/mooring/internal/mcp/logs"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
	"github.com/mooring-dev/mooring/test/servers"
)

// ways are the modern server's, in both eras.
var ways = []struct {
	name  string
	start starter
	era   mcp.Era
}{
	{"modern over Streamable HTTP", over(mcp.TransportHTTP, servers.ModernNode), mcp.EraAuto},
	{"modern over stdio", bridged(modernStdio), mcp.EraAuto},
	{"legacy over stdio", bridged(modernStdio), mcp.EraLegacy},
}

func (s started) in(era mcp.Era) mcp.Server {
	server := s.server
	server.HTTP.Era, server.Stdio.Era = era, era
	return server
}

// CALL-07: the server is told when its answer is wanted no more, and ends the call.
func TestServerIsToldOfAnAbort(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			s := way.start(t)
			r := newRig(t, s.in(way.era))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			outcome := make(chan error, 1)
			go func() {
				_, err := r.Call(ctx, id, mcp.CallRequest{Tool: "mcp__one__wait"})
				outcome <- err
			}()
			r.waits("1 began, 0 were cancelled")
			cancel()
			var call *mcp.CallError
			if err := <-outcome; !errors.As(err, &call) || call.Reason != mcp.CallAborted {
				t.Errorf("%v", err)
			}
			r.waits("1 began, 1 were cancelled")
		})
	}
}

// A session that ends cancels the calls that are in flight, and ends in time whatever they do (DSP-02).
func TestReleaseDuringACall(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			s := way.start(t)
			r := newRig(t, s.in(way.era))
			outcome := make(chan error, 1)
			go func() {
				_, err := r.Call(t.Context(), id, mcp.CallRequest{Tool: "mcp__one__wait"})
				outcome <- err
			}()
			r.waits("1 began, 0 were cancelled")
			begin := time.Now()
			s.released(r)
			if took := time.Since(begin); took > 5*time.Second {
				t.Errorf("the release took %s", took)
			}
			var call *mcp.CallError
			if err := <-outcome; !errors.As(err, &call) || !call.OutcomeUnknown() {
				t.Errorf("%v", err)
			}
		})
	}
}

// waits polls what the server says of the tool wait.
func (r *rig) waits(want string) {
	r.t.Helper()
	eventually(r.t, patience, func() string {
		if _, texts := r.call(toolCall{name: "waits"}); texts != want {
			return texts
		}
		return ""
	})
}

// LOG-05: a level that is chosen reaches the server, which then sends nothing below it. Over HTTP a modern server's
// messages come with the call that made them.
func TestLogLevelReachesTheServer(t *testing.T) {
	s := over(mcp.TransportHTTP, servers.ModernNode)(t)
	r := newRig(t, s.server)
	for _, step := range []struct {
		level logs.Level
		want  []string
	}{
		{logs.Debug, []string{"debug", "info", "error"}},
		{logs.Info, []string{"info", "error"}},
		{logs.Critical, nil},
	} {
		if err := r.SetLogLevel(t.Context(), id, name, step.level); err != nil {
			t.Fatalf("%s: %v", step.level, err)
		}
		if got := r.synced().LogLevel; got != step.level {
			t.Errorf("the snapshot shows %q", got)
		}
		var came []string
		r.call(toolCall{name: "log", notify: func(m *wire.Message) {
			params, _ := wire.ParseObject(m.Params)
			if level, ok := params.String("level"); ok && m.Method == wire.MethodMessage {
				came = append(came, level)
			}
		}})
		if !slices.Equal(came, step.want) {
			t.Errorf("at %s came %q", step.level, came)
		}
	}
}

// A result that says isError is a result: it comes as the server sent it.
func TestErrorsOfToolsAreResults(t *testing.T) {
	r := newRig(t, over(mcp.TransportHTTP, servers.ModernNode)(t).server)
	raw, texts := r.call(toolCall{name: "echo", arguments: `{"text":7}`})
	if result, err := wire.ParseObject(raw); err != nil || string(result.Get("isError")) != "true" || !strings.Contains(texts, "text") {
		t.Errorf("%s", raw)
	}
}

// Answers find their calls, however many there are at once (CALL-06).
func TestParallelCalls(t *testing.T) {
	const workers, each = 16, 12
	for _, victim := range victims {
		t.Run(victim.name, func(t *testing.T) {
			r := newRig(t, victim.start(t).server)
			argument := map[string]string{"everything": "message", "modern": "text"}[strings.Fields(victim.name)[0]]
			var wg sync.WaitGroup
			for worker := range workers {
				wg.Go(func() {
					for n := range each {
						text := fmt.Sprintf("%d of %d", n, worker)
						raw, err := r.Call(t.Context(), id, mcp.CallRequest{
							Tool: "mcp__one__echo", Arguments: json.RawMessage(fmt.Sprintf(`{%q:%q}`, argument, text)),
						})
						if err != nil {
							t.Errorf("%s: %v", text, err)
						} else if got := textsOf(raw.Result); !strings.HasSuffix(got, ": "+text) {
							t.Errorf("%s: %s", text, got)
						}
					}
				})
			}
			wg.Wait()
			if n := r.Stats().CallsInFlight; n != 0 {
				t.Errorf("%d calls in flight", n)
			}
		})
	}
}

// CON-14, DEV-29: a line of a stdio server is bounded, by 24 MiB. What fits is answered, whole up to the 1 MiB of bridge
// row 5 and cut beyond it; what does not fit ends the connection, which recovers.
func TestLongLines(t *testing.T) {
	dir := t.TempDir()
	s := of(servers.Filesystem, dir)(t)
	r := newRig(t, s.server)
	// The server sends the text twice, as content and as structured content.
	for _, file := range []struct {
		name           string
		bytes          int
		whole, tooLong bool
	}{{"whole", 1 << 20, true, false}, {"cut", 4 << 20, false, false}, {"overlong", 14 << 20, false, true}} {
		path := filepath.Join(dir, file.name)
		text := strings.Repeat("0123456789abcde\n", file.bytes/16)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, got, err := r.try(toolCall{name: "read_text_file", arguments: fmt.Sprintf(`{"path":%q}`, path)})
		var call *mcp.CallError
		switch {
		case file.tooLong:
			if !errors.As(err, &call) || !call.OutcomeUnknown() {
				t.Errorf("%s: %d bytes, %v", file.name, len(got), err)
			}
		case err != nil:
			t.Errorf("%s: %v", file.name, err)
		case (got == text) != file.whole, !strings.Contains(got, text[:4096]):
			t.Errorf("%s: %d bytes of %d", file.name, len(got), len(text))
		}
	}
	r.await("recovered", func(e *mcp.Event) bool { return e.Kind == mcp.EventRecovery && e.Phase == mcp.PhaseRecovered })
	if _, texts := r.call(toolCall{name: "list_directory", arguments: fmt.Sprintf(`{"path":%q}`, dir)}); !strings.Contains(texts, "overlong") {
		t.Errorf("after the recovery: %s", texts)
	}
	s.released(r)
}
