// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

var noon = time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)

func parse(t *testing.T, params string) Message {
	t.Helper()
	m, err := Parse(json.RawMessage(params))
	if err != nil {
		t.Fatalf("Parse(%.100s): %v", params, err)
	}
	return m
}

func entryOf(t *testing.T, data string) Entry {
	t.Helper()
	return parse(t, `{"level":"error","data":`+data+`}`).Project(noon)
}

func TestLOG01Levels(t *testing.T) {
	order := []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}
	for i, name := range order {
		level, err := ParseLevel(name)
		if err != nil {
			t.Fatal(err)
		}
		for j, other := range order {
			if got := level.Compare(Level(other)); (got < 0) != (i < j) || (got == 0) != (i == j) {
				t.Errorf("LOG-01: %s against %s = %d", name, other, got)
			}
			if got := (Policy{Enabled: true, Level: Level(other)}).Accepts(level); got != (i >= j) {
				t.Errorf("LOG-04: %s at %s: %v", name, other, got)
			}
			if (Policy{Level: Level(other)}).Accepts(level) {
				t.Errorf("LOG-04: disabled and accepted")
			}
		}
	}
	for _, name := range []string{"", "Error", "warn", "fatal", " info"} {
		if _, err := ParseLevel(name); !errors.Is(err, ErrLevel) {
			t.Errorf("LOG-01: %q is a level", name)
		}
		if (Policy{Enabled: true, Level: Debug}).Accepts(Level(name)) {
			t.Errorf("LOG-04: %q is accepted", name)
		}
	}
	if got := DefaultPolicy(); !got.Enabled || got.Level != Warning {
		t.Errorf("LOG-01: default %+v", got)
	}
}

// TestLOG04Filter is the acceptance case: four levels at warning, then at debug.
func TestLOG04Filter(t *testing.T) {
	for _, c := range []struct {
		policy Policy
		want   []Level
	}{
		{DefaultPolicy(), []Level{Warning, Error}},
		{Policy{Enabled: true, Level: Debug}, []Level{Debug, Info, Warning, Error}},
		{Policy{Level: Debug}, nil},
	} {
		var got []Level
		for _, level := range []Level{Debug, Info, Warning, Error} {
			if m := parse(t, fmt.Sprintf(`{"level":%q,"data":1}`, level)); c.policy.Accepts(m.Level) {
				got = append(got, m.Project(noon).Level)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("LOG-04 %+v: got %v", c.policy, got)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for params, want := range map[string]error{
		``: ErrMalformed, `[]`: ErrMalformed, `{"level":"info","level":"info"}`: ErrMalformed,
		`{"level":"info","logger":{}}`: ErrMalformed, `{}`: ErrLevel, `{"level":"INFO"}`: ErrLevel, `{"level":3}`: ErrLevel,
	} {
		if _, err := Parse(json.RawMessage(params)); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", params, err, want)
		}
	}
}

// TestLOG06Burst is the acceptance case: of 100 messages at once, 64 are accepted and one marker stands for the rest.
func TestLOG06Burst(t *testing.T) {
	var w Window
	ring := NewRing()
	take := func(now time.Time) (counts [3]int) {
		for i := range 100 {
			verdict := w.Take(now.Add(time.Duration(i) * time.Millisecond))
			counts[verdict]++
			switch verdict {
			case Accept:
				ring.Add("s", entryOf(t, fmt.Sprint(i)))
			case Mark:
				ring.Add("s", Dropped(now))
			case Drop:
			}
		}
		return counts
	}
	if got := take(noon); got != [3]int{64, 1, 35} {
		t.Errorf("LOG-06: accepted, marked, dropped: %v", got)
	}
	kept := ring.Snapshot("s", 0, 0)
	if last := kept[len(kept)-1]; len(kept) != 64 || !last.Synthetic || last.Level != Warning || last.Message != dropNotice {
		t.Errorf("LOG-06: %d kept, last %+v", len(kept), last)
	}
	if got := w.Take(noon.Add(999 * time.Millisecond)); got != Drop {
		t.Errorf("LOG-06: the window is too short: %v", got)
	}
	if got := take(noon.Add(time.Second)); got != [3]int{64, 1, 35} {
		t.Errorf("LOG-06: the next window: %v", got)
	}
	if got := w.Take(noon); got != Accept {
		t.Errorf("LOG-06: a clock that went back: %v", got)
	}
}

func TestProject(t *testing.T) {
	many := func(n int, item string) string { return strings.TrimSuffix(strings.Repeat(item+",", n), ",") }
	members := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`"k%d":%d`, i, i))
		}
		return "{" + strings.Join(all, ",") + "}"
	}
	for name, c := range map[string]struct {
		data, want string
		truncated  bool
	}{
		"LOG-10 string":     {`"a\tb\r\nc"`, "a\tb\nc", false},
		"LOG-10 values":     {`{"a":[1.50,true,null,"x"],"b":9007199254740993}`, `{"a":[1.50,true,null,"x"],"b":9007199254740993}`, false},
		"LOG-10 depth 6":    {`[[[[[[1]]]]]]`, `[[[[[[1]]]]]]`, false},
		"LOG-10 depth 7":    {`[[[[[[[1]]]]]],{"a":2}]`, `[[[[[["[omitted]"]]]]],{"a":2}]`, true},
		"LOG-10 64 items":   {`[` + many(64, "1") + `]`, `[` + many(64, "1") + `]`, false},
		"LOG-10 65 items":   {`{"a":[` + many(65, "1") + `],"b":2}`, `{"a":[` + many(64, "1") + `,"[omitted]"],"b":2}`, true},
		"LOG-10 64 keys":    {members(64), members(64), false},
		"LOG-10 65 keys":    {`[` + members(70) + `,3]`, `[` + strings.TrimSuffix(members(64), "}") + `,"[omitted]":"[omitted]"},3]`, true},
		"LOG-10 128 nodes":  {`[[` + many(62, "1") + `],[` + many(63, "1") + `]]`, `[[` + many(62, "1") + `],[` + many(63, "1") + `]]`, false},
		"LOG-10 129 nodes":  {`[[` + many(62, "1") + `],[` + many(63, "1") + `],7]`, `[[` + many(62, "1") + `],[` + many(63, "1") + `],"[omitted]"]`, true},
		"LOG-10 130 nodes":  {`[[` + many(62, "1") + `],[` + many(64, "1") + `],7]`, `[[` + many(62, "1") + `],[` + many(63, "1") + `,"[omitted]"]]`, true},
		"LOG-10 long digit": {`[` + strings.Repeat("1", 65) + `]`, `["[omitted]"]`, true},
		"LOG-11 golden, DEV-13": {
			`{"password":"a","Token_count":2,"_meta":{"x":[1]},"cookieJar":[3],"ok":true,"n":4,"session_id":"s","auth":"t","pwd":"u"}`,
			`{"password":"[redacted]","Token_count":"[redacted]","_meta":"[redacted]","cookieJar":"[redacted]","ok":true,"n":4,` +
				`"session_id":"s","auth":"t","pwd":"u"}`, false,
		},
		"LOG-11 all": {
			`{"X-Authorization":1,"api-key":1,"API_KEY":1,"apikey":1,"credentials":1,"mySecret":1,"deep":{"_meta":1}}`,
			`{"X-Authorization":"[redacted]","api-key":"[redacted]","API_KEY":"[redacted]","apikey":"[redacted]",` +
				`"credentials":"[redacted]","mySecret":"[redacted]","deep":{"_meta":"[redacted]"}}`, false,
		},
		"LOG-11 hidden key":  {`{"pass\u200bword":1,"\uff54oken":2}`, `{"password":"[redacted]","token":"[redacted]"}`, false},
		"LOG-11 key cleaned": {`{"a\n\u202e\u001bb http://x":1}`, `{"a b [redacted-url]":1}`, false},
		"LOG-11 long key":    {`{"` + strings.Repeat("k", 300) + `password":1}`, `{"` + strings.Repeat("k", 128) + `":"[redacted]"}`, true},
		"LOG-11 longest key": {`{"` + strings.Repeat("k", 2000) + `":1}`, `{"` + strings.Repeat("k", 128) + `":"[redacted]"}`, true},
		"LOG-12 redaction": {
			`["see https://h/x","Bearer abc","sk-abcdefgh1","a\u0007b\u007f"]`,
			`["see [redacted-url]","Bearer [redacted]","[redacted]","ab"]`, false,
		},
		"LOG-12 DEV-24":          {`"s\u200bk-abcd\u0000efgh"`, "[redacted]", false},
		"LOG-13 no data":         {"", noMessage, false},
		"LOG-13 empty":           {`" \u200b\n"`, noMessage, false},
		"LOG-10 scalar":          {`5`, `5`, false},
		"LOG-10 empty container": {`[{},[]]`, `[{},[]]`, false},
	} {
		params := `{"level":"error"}`
		if c.data != "" {
			params = `{"level":"error","data":` + c.data + `}`
		}
		got := parse(t, params).Project(noon)
		if got.Message != c.want || got.Truncated != c.truncated {
			t.Errorf("%s: got %q, %v\nwant %q, %v", name, got.Message, got.Truncated, c.want, c.truncated)
		}
	}
}

func TestLOG13Bounds(t *testing.T) {
	for name, data := range map[string]string{
		"LOG-13 64 KiB":        `"` + strings.Repeat("payload ", 8192) + `"`,
		"LOG-13 one word":      `"` + strings.Repeat("p", 64<<10) + `"`,
		"LOG-12 together":      `["` + strings.Repeat("a b ", 3000) + `","` + strings.Repeat("c d ", 3000) + `"]`,
		"LOG-13 escapes":       `["` + strings.Repeat(`\n\t`, 8000) + `"]`,
		"LOG-13 long addition": `"` + strings.Repeat("token=x ", 2000) + `"`,
	} {
		got := entryOf(t, data)
		if !got.Truncated || got.ProjectedBytes > MaxProjectionBytes || len(got.Message) > MaxMessageBytes ||
			!strings.HasSuffix(got.Message, suffix) || len(got.Message) < MaxMessageBytes-utf8.UTFMax {
			t.Errorf("%s: %d projected, %d shown, truncated %v", name, got.ProjectedBytes, len(got.Message), got.Truncated)
		}
	}
	exact := entryOf(t, `"`+strings.Repeat("e", MaxMessageBytes)+`"`)
	if exact.Truncated || len(exact.Message) != MaxMessageBytes {
		t.Errorf("LOG-13: exactly 8192 bytes: %d, truncated %v", len(exact.Message), exact.Truncated)
	}
	long := parse(t, `{"level":"info","logger":"a\u001b\nb `+strings.Repeat("l", 300)+`","data":1}`).Project(noon)
	if len(long.Logger) > MaxLoggerBytes || !strings.HasPrefix(long.Logger, "a b lll") {
		t.Errorf("LOG-13: logger of %d bytes: %q", len(long.Logger), long.Logger)
	}
}

func TestLOG14Entry(t *testing.T) {
	got := parse(t, `{"level":"alert","logger":"db","data":"abc"}`).Project(noon)
	want := Entry{
		Level: Alert, Logger: "db", Message: "abc", ProjectedBytes: 3, Time: noon,
		SHA256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
	}
	if got != want {
		t.Errorf("LOG-14: got %+v, want %+v", got, want)
	}
	if got := SetupFailed(noon); !got.Synthetic || got.Level != Warning || got.Time != noon || got.Message == "" { // LOG-03
		t.Errorf("LOG-14: %+v", got)
	}
}

func TestLOG15Restricted(t *testing.T) {
	e := parse(t, `{"level":"alert","logger":"MARKER","data":"MARKER /home/MARKER"}`).Project(noon)
	got := e.Restricted()
	if strings.Contains(fmt.Sprintf("%+v", got), "MARKER") || got.Logger != "" || !got.DetailsOmitted ||
		!strings.Contains(got.Message, e.SHA256) || got.Level != Alert || got.ProjectedBytes != e.ProjectedBytes {
		t.Errorf("LOG-15: %+v", got)
	}
}

// TestLOG17 keeps logs out of what a model reads of a call: its report is made without this package.
func TestLOG17NotInReports(t *testing.T) {
	entries, err := os.ReadDir("../result")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), "../result/"+entry.Name(), nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range file.Imports {
			seen++
			if strings.Contains(spec.Path.Value, "internal/mcp/logs") {
				t.Errorf("LOG-17: %s imports logs", entry.Name())
			}
		}
	}
	if seen == 0 {
		t.Error("LOG-17: no import was looked at")
	}
}

func FuzzProject(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":"x\ud83d\ude00"}],"token":{}}`))
	f.Add([]byte(strings.Repeat("[", 300) + strings.Repeat("]", 300)))
	f.Add([]byte(`"Bearer abc"`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Parse(slices.Concat([]byte(`{"level":"info","data":`), data, []byte(`}`)))
		if err != nil {
			return
		}
		e := m.Project(noon)
		if !utf8.ValidString(e.Message) || len(e.Message) > MaxMessageBytes || e.ProjectedBytes > MaxProjectionBytes || e.Message == "" {
			t.Fatalf("%+v", e)
		}
		if text, _ := project(m.data); m.data != nil && m.data[0] != '"' && !json.Valid([]byte(text)) {
			t.Fatalf("not JSON: %s", text)
		}
	})
}
