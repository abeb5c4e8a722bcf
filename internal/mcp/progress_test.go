// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"encoding/json"
	"strings"
	"testing"
)

// The golden vectors of progress, and what is reported of it (CALL-11, CALL-12, DEV-56).
func TestCALL11Reported(t *testing.T) {
	var r ProgressReport
	for _, row := range []struct {
		params  string
		ok      bool
		percent int
		message string
	}{
		{`{"progress":5,"total":3}`, true, 100, "100%"},
		{`{"progress":4}`, false, 0, ""}, // below the last one
		{`{"progress":-1}`, false, 0, ""},
		{`{"progress":5,"total":-1}`, false, 0, ""},
		{`{"progress":5,"total":0}`, false, 0, ""},
		{`{"progress":"6"}`, false, 0, ""},
		{`{"progress":1e999}`, false, 0, ""},
		{`[]`, false, 0, ""},
		{`{"progress":5,"total":10}`, true, 50, "50%"}, // equal is fine
		{`{"progress":6,"message":" \u0000 "}`, true, -1, "progress 6"},
		{`{"progress":6.5,"total":null,"message":"a\u001b[31m\nb"}`, true, -1, "a[31m b"},
	} {
		got, ok := r.Accept(json.RawMessage(row.params))
		if ok != row.ok || ok && (got.Percent != row.percent || got.Message != row.message) {
			t.Errorf("%s: %+v %v", row.params, got, ok)
		}
	}
	long := `{"progress":7,"message":"\u0000` + strings.Repeat("x", 2000) + `"}`
	if got, _ := r.Accept(json.RawMessage(long)); got.Message != strings.Repeat("x", 1000) {
		t.Errorf("CALL-12: %d characters", len(got.Message))
	}
	accepted := 0
	r = ProgressReport{}
	for range 200 { // CALL-14: who is slow loses nothing of this, for there is no more
		if _, ok := r.Accept(json.RawMessage(`{"progress":1}`)); ok {
			accepted++
		}
	}
	if accepted != maxReported {
		t.Errorf("CALL-11: %d were accepted", accepted)
	}
}
