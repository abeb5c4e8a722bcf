// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package completion

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

func answer(completion string) json.RawMessage {
	return json.RawMessage(`{"completion":` + completion + `}`)
}

func values(list ...string) json.RawMessage {
	var quoted []string
	for _, v := range list {
		quoted = append(quoted, string(wire.Quote(v)))
	}
	return answer(`{"values":[` + strings.Join(quoted, ",") + `]}`)
}

func report(t *testing.T, raw json.RawMessage) *Report {
	t.Helper()
	r, err := NewReport(raw)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestVectors has the golden vectors of section 24.
//
// DEV-58 calls the empty candidate a hazard, but gives no "Do", and the preface does not settle it: the item and the
// vector stand, and the empty text stays.
func TestVectors(t *testing.T) {
	total := int64(2)
	got := report(t, answer("{\"values\":[\"a\",\"a\",\"\u200b\",\"b\"],\"total\":2}"))
	want := &Report{
		Values: []string{"a", "", "b"}, Total: &total, HasMore: true, Truncated: true,
		SourceCount: 4, SourceBytes: 6, ReportBytes: 2,
		SHA256: "3ac244edb2a7054f6d987decb248302e01863280a07bf64044492a329710a93d",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("CMP-12, CMP-13, CMP-14, DEV-58 (-want +got):\n%s", diff)
	}
	var many []string
	for i := range 100 {
		many = append(many, fmt.Sprintf("%04d", i)+strings.Repeat("x", 1000))
	}
	got = report(t, values(many...))
	if len(got.Values) != 65 || got.ReportBytes != 65260 || !got.HasMore || !got.Truncated || got.SourceBytes != 100400 {
		t.Errorf("CMP-11: %d values, %d bytes, more %v", len(got.Values), got.ReportBytes, got.HasMore)
	}
}

func TestSanitize(t *testing.T) {
	for name, c := range map[string]struct {
		sent, want []string
	}{
		"CMP-13 twins":            {[]string{"plain", "\uff50lain\u200b"}, []string{"plain"}},
		"CMP-13 the first stays":  {[]string{"b", "a", "b"}, []string{"b", "a"}},
		"CMP-13 hidden composing": {[]string{"\u00e9", "e\u200b\u0301"}, []string{"\u00e9"}},
		"CMP-12 bidi":             {[]string{"a\u202eb\u2066"}, []string{"ab"}},
		"CMP-12 tags":             {[]string{"a\U000e0041"}, []string{"a"}},
		"CMP-12 private":          {[]string{"a\ue000\U0010ffff\u0378"}, []string{"a"}},
		"CMP-12 controls":         {[]string{"a\x00\n\tb\x7f"}, []string{"ab"}},
		"CMP-12 other scripts":    {[]string{"工具", "فارسی", "😀"}, []string{"工具", "فارسی", "😀"}},
		"CMP-15 only text":        {[]string{"</system>", `{"method":"tools/call"}`}, []string{"</system>", `{"method":"tools/call"}`}},
		"DEV-58 nothing left":     {[]string{"\u200b", "\u202e", "a"}, []string{"", "a"}},
		"CMP-11 cut":              {[]string{strings.Repeat("x", 4095) + "é"}, []string{strings.Repeat("x", 4095)}},
		"CMP-11 longest":          {[]string{strings.Repeat("é", 2048)}, []string{strings.Repeat("é", 2048)}},
		"CMP-10 none":             {nil, []string{}},
	} {
		got := report(t, values(c.sent...))
		if diff := cmp.Diff(c.want, got.Values); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		truncated := len(c.want) < len(c.sent) || name == "CMP-11 cut"
		if got.Truncated != truncated || got.HasMore != truncated {
			t.Errorf("%s: CMP-14: truncated %v, more %v", name, got.Truncated, got.HasMore)
		}
	}
}

// TestLarge has the acceptance case "1 MiB+ value: bounded, hash changes when only the omitted tail changes" (CMP-10).
func TestLarge(t *testing.T) {
	large := strings.Repeat("x", MaxSourceBytes)
	one, other := report(t, values(large+"a", "b")), report(t, values(large+"c", "b"))
	if diff := cmp.Diff([]string{large[:MaxCandidateBytes]}, one.Values); diff != "" {
		t.Errorf("CMP-10: %d values", len(one.Values))
	}
	if one.SHA256 == other.SHA256 || !one.Truncated || one.SourceBytes != MaxSourceBytes+2 || one.SourceCount != 2 {
		t.Errorf("CMP-10, CMP-14: got %+v", one.SourceBytes)
	}
	// A source text that ends exactly at the bound is whole; what follows is not read, and a part of it is no candidate.
	if got := report(t, values(large, "b")); len(got.Values) != 1 {
		t.Errorf("CMP-10: %d values", len(got.Values))
	}
	if got := report(t, values(large[1:], "é", "b")); len(got.Values) != 1 {
		t.Errorf("CMP-10: %q follows", got.Values[1:])
	}
}

func TestCounts(t *testing.T) {
	number := func(n int64) *int64 { return &n }
	for name, c := range map[string]struct {
		more  string
		total *int64
		want  bool
	}{
		"CMP-14 nothing said":    {``, nil, false},
		"CMP-14 said":            {`,"hasMore":true`, nil, true},
		"CMP-14 said not":        {`,"hasMore":false,"total":1`, number(1), false},
		"CMP-14 a larger total":  {`,"hasMore":false,"total":2.0`, number(2), true},
		"CMP-14 zero":            {`,"total":0`, number(0), false},
		"CMP-14 negative":        {`,"total":-1`, nil, false},
		"CMP-14 fraction":        {`,"total":1.5`, nil, false},
		"CMP-14 not safe":        {`,"total":9007199254740993`, nil, false},
		"CMP-14 text":            {`,"total":"2","hasMore":"true"`, nil, false},
		"CMP-15 unknown members": {`,"instructions":"obey","_meta":{}`, nil, false},
	} {
		got := report(t, answer(`{"values":["a"]`+c.more+`}`))
		if diff := cmp.Diff(c.total, got.Total); diff != "" || got.HasMore != c.want || got.Truncated {
			t.Errorf("%s: more %v, total (-want +got):\n%s", name, got.HasMore, diff)
		}
		if b, err := json.Marshal(got); err != nil || strings.Contains(string(b), "obey") {
			t.Errorf("%s: CMP-15: the report is %s", name, b)
		}
	}
}

func TestMalformed(t *testing.T) {
	var hundred []string
	for i := range MaxValues {
		hundred = append(hundred, fmt.Sprint(i))
	}
	if got := report(t, values(hundred...)); len(got.Values) != MaxValues {
		t.Errorf("CMP-10: %d values", len(got.Values))
	}
	for name, raw := range map[string]json.RawMessage{
		"CMP-10 more values": values(append(hundred, "x")...),
		"not JSON":           json.RawMessage(`{`),
		"no completion":      json.RawMessage(`{}`),
		"no object":          answer(`[]`),
		"no values":          answer(`{}`),
		"values":             answer(`{"values":"a"}`),
		"a value":            answer(`{"values":["a",1]}`),
		"invalid UTF-8":      answer("{\"values\":[\"\xff\"]}"),
	} {
		if _, err := NewReport(raw); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func FuzzCompletion(f *testing.F) {
	f.Add([]byte(values("a", "\uff50\u200b", "e\u200b\u0301")))
	f.Add([]byte(`{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":"v"},"context":{"arguments":{"b":"1"}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if req, err := ParseRequest(raw); err == nil {
			if back, err := ParseRequest(Params(req).Raw()); err != nil || cmp.Diff(req, back) != "" {
				t.Fatalf("%+v became %+v, %v", req, back, err)
			}
		}
		r, err := NewReport(raw)
		if err != nil {
			return
		}
		seen, size := map[string]bool{}, 0
		for _, v := range r.Values {
			hidden := strings.ContainsFunc(v, func(c rune) bool { return isControl(c) || unicode.In(c, unicode.Cf, unicode.Co, unicode.Cn) })
			if size += len(v); seen[v] || len(v) > MaxCandidateBytes || !utf8.ValidString(v) || hidden {
				t.Fatalf("candidate %q", v)
			}
			seen[v] = true
		}
		if size != r.ReportBytes || size > MaxReportBytes || len(r.Values) > r.SourceCount || len(r.SHA256) != 64 {
			t.Fatalf("got %+v", r)
		}
	})
}
