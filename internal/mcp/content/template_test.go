// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestVariables(t *testing.T) {
	for name, c := range map[string]struct {
		template string
		want     []string
		ok       bool
	}{
		// Golden vectors (requirements, section 24).
		"CMP-03 query":    {"x{?q,lang}", []string{"q", "lang"}, true},
		"CMP-03 explode":  {"x{/a*,b}", []string{"a", "b"}, true},
		"CMP-03 plus":     {"x{+p}", []string{"p"}, true},
		"CMP-03 none":     {"x{}", []string{}, true},
		"CMP-03 unclosed": {"x{a", nil, false},

		"CMP-03 twice":       {"{a}/{b,a}", []string{"a", "b"}, true},
		"CMP-03 prefix":      {"{a:3}", []string{"a"}, true},
		"CMP-03 literal":     {"file:///x", []string{}, true},
		"CMP-02 nested":      {"{a{}b}", nil, false},
		"CMP-02 nested none": {"{{}}", nil, false},
		"CMP-02 unopened":    {"a}", nil, false},
		"CMP-02 reserved":    {"{=a}", nil, false},
		"CMP-02 space":       {"{ a }", nil, false},
		"CMP-02 percent":     {"%zz", nil, false},
		"CMP-02 long":        {strings.Repeat("x", MaxURIRunes+1), nil, false},
	} {
		got, err := Variables(c.template)
		if (err == nil) != c.ok || (err != nil && !errors.Is(err, ErrTemplate)) {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestMatch is bridge row 8.
func TestMatch(t *testing.T) {
	for name, c := range map[string]struct {
		template, uri string
		want          bool
	}{
		"one":                  {"db://{table}/rows", "db://users/rows", true},
		"empty":                {"db://{table}/rows", "db:///rows", true},
		"another end":          {"db://{table}/rows", "db://users/row", false},
		"another beginning":    {"db://{table}", "file:///etc/passwd", false},
		"no slash":             {"file:///{name}", "file:///a/b", false},
		"slash":                {"file:///{+path}", "file:///a/b", true},
		"encoded":              {"file:///{name}", "file:///a%2Fb", true},
		"half encoded":         {"file:///{name}", "file:///a%2", false},
		"not encoded":          {"file:///{name}", "file:///a b", false},
		"line end":             {"file:///{name}", "file:///a\n", false},
		"query":                {"x://{?q,lang}", "x://?q=1&lang=de", true},
		"no query":             {"x://{?q,lang}", "x://", true},
		"segments":             {"x:/{/a*}", "x://b/c", true},
		"literal":              {"x://a", "x://a", true},
		"literal is no regexp": {"x://a.{b}", "x://ab", false},
		"none":                 {"x://{}", "x://", true},
		"invalid":              {"x://{a", "x://{a", false},
		"invalid, other":       {"x://{a}}", "x://b}", false},
		"no URI":               {"{+a}", "", false},
		"overlap":              {"aa{x}aa", "aaa", false},
		"many variables":       {"{" + strings.Repeat("a,", maxVariables) + "a}", "x", false},
		"very many variables":  {"{" + strings.Repeat("a,", 4000) + "a}", "x", false},
		"too much work":        {"{+a}" + strings.Repeat("a", 4000), strings.Repeat("a", 4000), false},
		"long":                 {"file:///{+path}", "file:///" + strings.Repeat("a/", 4000), true},
	} {
		if got := Match(c.template, c.uri); got != c.want {
			t.Errorf("bridge 8 %s: got %v", name, got)
		}
		if got := MatchAny(read(t, ResourceTemplates, template("other:{x}"), template(c.template)), c.uri); got != c.want {
			t.Errorf("bridge 8 %s: a catalog gives %v", name, got)
		}
	}
}

// TestMatchAnyBounded wants a hostile catalog to cost no more than its bound: what lies behind it authorises nothing.
func TestMatchAnyBounded(t *testing.T) {
	uri := "x://" + strings.Repeat("a", 4000)
	var hostile []string
	for i := range 100 {
		hostile = append(hostile, template(fmt.Sprintf("x://{a%d}{b}{c}{/d}", i)))
	}
	if MatchAny(read(t, ResourceTemplates, append(hostile, template("{+last}"))...), uri+"|") {
		t.Error("bridge 8: no template lets that character through")
	}
	uri += "?"
	if !MatchAny(read(t, ResourceTemplates, template("x://{+last}")), uri) {
		t.Error("bridge 8: alone it matches")
	}
	if MatchAny(read(t, ResourceTemplates, append(hostile, template("x://{+last}"))...), uri) {
		t.Error("bridge 8: the bound of time does not hold")
	}
}
