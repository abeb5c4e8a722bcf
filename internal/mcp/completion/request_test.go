// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package completion

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mooring-dev/mooring/internal/mcp/content"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

func list(t *testing.T, kind content.Kind, entries ...string) *content.Catalog {
	t.Helper()
	b := content.NewBuilder(kind, content.Limits{})
	if _, err := b.AddPage(json.RawMessage(`{"` + string(kind) + `":[` + strings.Join(entries, ",") + `]}`)); err != nil {
		t.Fatal(err)
	}
	return b.Catalog()
}

func template(text string) string {
	return `{"name":"n","uriTemplate":` + string(wire.Quote(text)) + `}`
}

func TestCheck(t *testing.T) {
	long := strings.Repeat("é", 200) // a legal name of 400 bytes
	var arguments []string
	for i := range 33 {
		arguments = append(arguments, fmt.Sprintf(`{"name":"c%d"}`, i))
	}
	prompts := list(t, content.Prompts,
		`{"name":"p","arguments":[{"name":"a"},{"name":"b"},{"name":"hid\u200bden"},{"name":"`+long+`"},{"name":"\uff41"}]}`,
		`{"name":"many","arguments":[`+strings.Join(arguments, ",")+`]}`,
		`{"name":"p\u200b","arguments":[{"name":"a"}]}`, `{"name":"`+long+`","arguments":[{"name":"a"}]}`)
	templates := list(t, content.ResourceTemplates, template("x{?q,lang}"), template("x{a"), template("x{__proto__}"),
		template("x{a}"+strings.Repeat("é", 4096)), template("x{}"))
	context := func(n, size int) (list []Argument) {
		for i := range n {
			name := fmt.Sprint("c", i)
			list = append(list, Argument{name, strings.Repeat("v", size-len(name))})
		}
		return list
	}
	p := func(name, value string, context ...Argument) Request {
		return Request{Ref{PromptRef, "p"}, Argument{name, value}, context}
	}
	many := func(context ...Argument) Request { return Request{Ref{PromptRef, "many"}, Argument{"c0", ""}, context} }
	resource := func(text, name string) Request { return Request{Ref{ResourceRef, text}, Argument{name, ""}, nil} }
	for name, c := range map[string]struct {
		req  Request
		want Reason
	}{
		"CMP-02 prompt":              {p("a", "x"), ""},
		"CMP-02 unknown prompt":      {Request{Ref: Ref{PromptRef, "q"}}, UnknownPrompt},
		"CMP-02 a template's text":   {Request{Ref: Ref{PromptRef, "x{?q,lang}"}}, UnknownPrompt},
		"CMP-02 template":            {resource("x{?q,lang}", "lang"), ""},
		"CMP-02 unknown template":    {resource("x{?q}", "q"), UnknownTemplate},
		"CMP-02 invalid template":    {resource("x{a", "a"), InvalidTemplate},
		"CMP-02 another type":        {Request{Ref: Ref{"ref/tool", "p"}}, InvalidReference},
		"CMP-03 undeclared":          {p("x", ""), UndeclaredName},
		"CMP-03 undeclared variable": {resource("x{?q,lang}", "?q"), UndeclaredName},
		"CMP-03 no variables":        {resource("x{}", ""), UndeclaredName},
		"CMP-04 hidden":              {p("hid\u200bden", ""), InvalidName},
		"CMP-04 full width":          {p("\uff41", ""), InvalidName},
		"CMP-04 long":                {p(long, ""), InvalidName},
		"CMP-04 hidden prompt":       {Request{Ref{PromptRef, "p\u200b"}, Argument{"a", ""}, nil}, InvalidName},
		"CMP-04 long prompt":         {Request{Ref{PromptRef, long}, Argument{"a", ""}, nil}, InvalidName},
		"CMP-04 long template":       {resource("x{a}"+strings.Repeat("é", 4096), "a"), InvalidName},
		"CMP-04 hidden in context":   {p("a", "", Argument{"hid\u200bden", ""}), InvalidName},
		"SEC-09 __proto__":           {resource("x{__proto__}", "__proto__"), InvalidName},
		"SEC-09 constructor":         {p("a", "", Argument{"constructor", ""}), InvalidName},
		"SEC-09 prototype":           {p("a", "", Argument{"prototype", ""}), InvalidName},
		"CMP-05 longest":             {p("a", strings.Repeat("v", MaxValueBytes)), ""},
		"CMP-05 long":                {p("a", strings.Repeat("v", MaxValueBytes+1)), InvalidValue},
		"CMP-05 tab":                 {p("a", "\t"), InvalidValue},
		"CMP-05 newline in context":  {p("a", "", Argument{"b", "\n"}), InvalidValue},
		"CMP-05 DEL":                 {p("a", "\x7f"), InvalidValue},
		"CMP-05 invalid UTF-8":       {p("a", "\xff"), InvalidValue},
		"CMP-05 format characters":   {p("a", "\u200b\u202e"), ""},
		"CMP-06 the argument itself": {p("a", "", Argument{"a", "x"}, Argument{"b", ""}), ""},
		"CMP-06 undeclared":          {p("a", "", Argument{"x", ""}), InvalidContext},
		"CMP-06 twice":               {p("a", "", Argument{"b", ""}, Argument{"b", ""}), InvalidContext},
		"CMP-06 most entries":        {many(context(32, 10)...), ""},
		"CMP-06 entries":             {many(context(33, 10)...), ContextTooLarge},
		"CMP-06 largest":             {many(context(32, 2048)...), ""},
		"CMP-06 large":               {many(append(context(31, 2048), Argument{"c31", strings.Repeat("v", 2046)})...), ContextTooLarge},

		// The order of CMP-02 to CMP-06.
		"CMP-02 before CMP-03": {Request{Ref{PromptRef, "q"}, Argument{"x", "\n"}, nil}, UnknownPrompt},
		"CMP-03 before CMP-05": {p("x", "\n"), UndeclaredName},
		"CMP-04 before CMP-05": {p("hid\u200bden", "\n"), InvalidName},
		"CMP-05 before CMP-06": {p("a", "\n", Argument{"x", ""}), InvalidValue},
	} {
		err := Check(c.req, prompts, templates)
		var got *RefusedError
		if (c.want == "") != (err == nil) || (err != nil && (!errors.As(err, &got) || got.Reason != c.want)) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	if err := Check(p("a", ""), nil, nil); err == nil {
		t.Error("CMP-02: a server without catalogs is asked")
	}
}

func TestParams(t *testing.T) {
	for name, c := range map[string]struct {
		req  Request
		want string
	}{
		"CMP-06 no context": {
			Request{Ref{PromptRef, "p"}, Argument{"a", `"`}, []Argument{}},
			`{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":"\""}}`,
		},
		"CMP-06 context": {
			Request{Ref{ResourceRef, "x{a,b}"}, Argument{"a", ""}, []Argument{{"b", "1"}, {"a", "2"}}},
			`{"ref":{"type":"ref/resource","uri":"x{a,b}"},"argument":{"name":"a","value":""},"context":{"arguments":{"b":"1","a":"2"}}}`,
		},
	} {
		raw := Params(c.req).Raw()
		if string(raw) != c.want {
			t.Errorf("%s: got %s", name, raw)
		}
		back, err := ParseRequest(raw)
		if len(c.req.Context) == 0 {
			c.req.Context = nil
		}
		if diff := cmp.Diff(c.req, back); diff != "" || err != nil {
			t.Errorf("%s: read back: %v (-want +got):\n%s", name, err, diff)
		}
	}
	const ref, argument = `"ref":{"type":"ref/prompt","name":"p"}`, `"argument":{"name":"a","value":"v"}`
	for name, raw := range map[string]string{
		"no JSON": `{`, "no ref": `{` + argument + `}`, "no argument": `{` + ref + `}`,
		"uri of a prompt": `{"ref":{"type":"ref/prompt","uri":"p"},` + argument + `}`,
		"no value":        `{` + ref + `,"argument":{"name":"a"}}`,
		"context":         `{` + ref + `,` + argument + `,"context":1}`,
		"arguments":       `{` + ref + `,` + argument + `,"context":{"arguments":[]}}`,
		"context value":   `{` + ref + `,` + argument + `,"context":{"arguments":{"b":1}}}`,
		"context twice":   `{` + ref + `,` + argument + `,"context":{"arguments":{"b":"1","b":"2"}}}`,
	} {
		var refused *RefusedError
		if _, err := ParseRequest(json.RawMessage(raw)); !errors.As(err, &refused) || refused.Reason != MalformedRequest {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if req, err := ParseRequest(json.RawMessage(`{` + ref + `,` + argument + `,"context":{},"_meta":{}}`)); err != nil || req.Context != nil {
		t.Errorf("an empty context gives %+v, %v", req, err)
	}
}

// TestLimiter has the acceptance case "5th concurrent refused" (CMP-01, CMP-09).
func TestLimiter(t *testing.T) {
	var l Limiter
	var releases []func()
	for range MaxInFlight {
		release, err := l.Acquire()
		if err != nil {
			t.Fatal(err)
		}
		releases = append(releases, release)
	}
	var refused *RefusedError
	if _, err := l.Acquire(); !errors.As(err, &refused) || refused.Reason != TooManyRequests {
		t.Errorf("CMP-01: the fifth gives %v", err)
	}
	releases[0]()
	releases[0]() // does nothing
	if _, err := l.Acquire(); err != nil {
		t.Errorf("CMP-09: a released slot is not free: %v", err)
	}
	if _, err := l.Acquire(); err == nil {
		t.Error("CMP-01: a slot released twice counts twice")
	}
}
