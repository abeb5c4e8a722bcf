// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp/logs"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

func levels(f *fake) string {
	return get(f, func(f *fake) string {
		var out []string
		for _, m := range f.asked {
			if m.Method == wire.MethodSetLevel {
				params, _ := wire.ParseObject(m.Params)
				level, _ := params.String("level")
				out = append(out, level)
			}
		}
		return strings.Join(out, " ")
	})
}

func messages(r *Runtime, server string) string {
	var out []string
	for _, e := range r.Logs("a", server, 0, 0) {
		out = append(out, string(e.Level))
	}
	return strings.Join(out, " ")
}

// The level of the policy is asked for, messages below it are dropped, the level of the moment comes with the next
// connection as well, and messages reach no snapshot (LOG-01, LOG-02, LOG-04, LOG-05, LOG-16, LOG-17).
func TestLOG02Levels(t *testing.T) {
	f := full(t)
	r := newRuntime(t)
	r.Ensure("a", desired(hasty(f)))
	synced(t, r, "a")
	emit := func() {
		for _, level := range []string{"debug", "info", "warning", "error"} {
			f.push(wire.MethodMessage, fmt.Sprintf(`{"level":%q,"data":"x"}`, level))
		}
	}
	before, _ := r.Snapshot("a")
	emit()
	waitFor(t, func() bool { return messages(r, "one") == "warning error" })
	if after, _ := r.Snapshot("a"); after != before {
		t.Error("LOG-17: a message made another snapshot")
	}
	if got := levels(f); got != "warning" {
		t.Errorf("LOG-02: asked for %q", got)
	}
	if err := r.SetLogLevel(t.Context(), "a", "one", logs.Debug); err != nil {
		t.Fatal(err)
	}
	emit()
	waitFor(t, func() bool {
		return messages(r, "one") == "warning error "+strings.Join([]string{"debug", "info", "warning", "error"}, " ")
	})
	f.with(func(f *fake) { f.sessions = map[string]bool{} })
	f.CloseClientConnections()
	eventually(t, r, "recovered", func(s *Snapshot) bool { return s.Servers[0].Generation == 2 && s.Servers[0].State == StateConnected })
	if got := levels(f); got != "warning"+strings.Repeat(" debug", 2) {
		t.Errorf("LOG-02: asked for %q", got)
	}
	r.Ensure("a", desired()) // REG-18
	if got := messages(r, ""); got != "" {
		t.Errorf("LOG-16: %q of a server that was removed", got)
	}
}

// A server that cannot set its level connects all the same (LOG-03); one whose messages are off is not asked.
func TestLOG03SetupFails(t *testing.T) {
	f, off := full(t), full(t)
	delete(f.results, wire.MethodSetLevel)
	r := newRuntime(t)
	silent := to(off, "off")
	silent.Policy.Logging.Off = true
	r.Ensure("a", desired())
	rec := record(t, r)
	r.Ensure("a", desired(to(f, "one"), silent))
	s := synced(t, r, "a")
	if s.Servers[0].State != StateConnected || s.Servers[1].LogLevel != "" || levels(off) != "" {
		t.Errorf("%+v", s.Servers)
	}
	if got := r.Logs("a", "one", 0, 0); len(got) != 1 || !got[0].Synthetic || got[0].Level != logs.Warning {
		t.Errorf("LOG-03: %+v", got)
	}
	rec.contains(t, "level warning failed=true") // LOG-03
	off.push(wire.MethodMessage, `{"level":"emergency","data":"x"}`)
	time.Sleep(20 * time.Millisecond)
	if got := messages(r, "off"); got != "" {
		t.Errorf("LOG-04: %q", got)
	}
	if err := r.SetLogLevel(t.Context(), "a", "one", logs.Info); err == nil {
		t.Error("LOG-05: a level that was refused is set")
	}
}

// A burst is cut to 64 a second and one mark (LOG-06).
func TestLOG06Burst(t *testing.T) {
	f := full(t)
	r := newRuntime(t)
	r.Ensure("a", desired(to(f, "one")))
	synced(t, r, "a")
	for range 90 {
		f.push(wire.MethodMessage, `{"level":"error","data":"x"}`)
	}
	waitFor(t, func() bool { return len(r.Logs("a", "one", 0, 0)) == 64 })
	marks := 0
	for _, e := range r.Logs("a", "one", 0, 0) {
		if e.Synthetic {
			marks++
		}
	}
	if marks > 1 {
		t.Errorf("%d marks", marks)
	}
}

func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it never came")
		}
	}
}
