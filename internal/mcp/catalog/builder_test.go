// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

const anyObject = `{"type":"object"}`

// list builds a page of raw tools.
func list(tools ...string) json.RawMessage {
	return json.RawMessage(`{"tools":[` + strings.Join(tools, ",") + `]}`)
}

// named is a good tool.
func named(name string) string {
	return `{"name":` + string(wire.Quote(name)) + `,"inputSchema":` + anyObject + `}`
}

func described(description string) string {
	return `{"name":"t","description":"` + description + `","inputSchema":` + anyObject + `}`
}

func schemed(schema string) string { return `{"name":"t","inputSchema":` + schema + `}` }

// read builds a catalog of one page.
func read(t testing.TB, tools ...string) *Catalog {
	t.Helper()
	b := NewBuilder()
	if next, err := b.AddPage(list(tools...)); err != nil || next != "" {
		t.Fatalf("AddPage: %q, %v", next, err)
	}
	return b.Catalog()
}

func TestAddPage(t *testing.T) {
	b := NewBuilder()
	next, err := b.AddPage(json.RawMessage(`{"nextCursor":"é","x":1,"tools":[ ` + named("a") + `]}`))
	if next != "é" || err != nil {
		t.Fatalf("got %q, %v", next, err)
	}
	sent := `{"name" : "b\u0021", "description":"Does\u200b it.", "inputSchema": { "type":"object" , "x":1.0}, "title":"B",
		"execution":{"taskSupport":"optional"}, "_meta":{"n":9007199254740993}}`
	next, err = b.AddPage(list("\n"+sent+"\t", named("c")))
	if next != "" || err != nil {
		t.Fatalf("got %q, %v", next, err)
	}
	c := b.Catalog()
	if len(c.Tools) != 3 || len(c.Dropped) != 0 || len(c.Digest) != 64 {
		t.Fatalf("got %+v", c)
	}
	tool := c.Tools[1]
	got := []string{tool.Name, string(tool.Raw), tool.Description, string(tool.InputSchema), tool.TaskSupport}
	want := []string{"b!", sent, "Does it.", `{ "type":"object" , "x":1.0}`, "optional"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("CAT-04, CAT-18 (-want +got):\n%s", diff)
	}
	if want := len(named("a")) + len(sent) + len(named("c")); c.Bytes != want {
		t.Errorf("Bytes = %d, want %d", c.Bytes, want)
	}
}

func TestListRefused(t *testing.T) {
	big := strings.Repeat("x", 200<<10)
	var manyBytes, manyRaw []string
	for i := range 50 {
		schema := `{"type":"object","title":"` + big + `"}`
		manyBytes = append(manyBytes, fmt.Sprintf(`{"name":"t%d","inputSchema":%s}`, i, schema))
		manyRaw = append(manyRaw, fmt.Sprintf(`{"name":"t%d","inputSchema":%s,"title":"%s%s"}`, i, anyObject, big, big))
	}
	var manyTools []string
	for i := range MaxTools {
		manyTools = append(manyTools, named(fmt.Sprint("t", i)))
	}
	for name, c := range map[string]struct {
		page json.RawMessage
		want string
	}{
		"not JSON":                       {json.RawMessage(`{"tools":[`), refusedJSON},
		"nothing":                        {nil, refusedObject},
		"text after":                     {json.RawMessage(`{"tools":[]} x`), refusedJSON},
		"repeated member":                {json.RawMessage(`{"tools":[],"tools":[]}`), refusedJSON},
		"repeated member of a tool":      {list(`{"name":"a","name":"b","inputSchema":` + anyObject + `}`), refusedJSON},
		"invalid UTF-8":                  {list(named("a"), "\"\xff\""), refusedJSON},
		"half a surrogate pair":          {list(`{"name":"\ud800","inputSchema":` + anyObject + `}`), refusedJSON},
		"not an object":                  {json.RawMessage(`[]`), refusedObject},
		"no tools":                       {json.RawMessage(`{}`), refusedTools},
		"tools not an array":             {json.RawMessage(`{"tools":{}}`), refusedTools},
		"cursor not a string":            {json.RawMessage(`{"tools":[],"nextCursor":1}`), refusedCursor},
		"CAT-11 count":                   {list(append(manyTools, `1`)...), refusedCount},
		"CAT-14 duplicate":               {list(named("a"), named("a")), refusedDoubles},
		"CAT-14 duplicate, escaped":      {list(named("a"), `{"name":"\u0061","inputSchema":`+anyObject+`}`), refusedDoubles},
		"CAT-14 duplicate, padded":       {list(named("a"), named(" a\ufeff")), refusedDoubles},
		"CAT-14 duplicate of a bad tool": {list(`{"name":"a"}`, named("a")), refusedDoubles},
		"CAT-17 bytes":                   {list(manyBytes...), refusedBytes},
		"bytes as sent":                  {list(manyRaw...), refusedRaw},
	} {
		b := NewBuilder()
		_, err := b.AddPage(c.page)
		var got *ListError
		if !errors.As(err, &got) || got.What != c.want {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
		if b.Catalog() != nil {
			t.Errorf("%s: a refused list has a catalog", name)
		}
		if _, again := b.AddPage(list()); !errors.As(again, &got) {
			t.Errorf("%s: a page after a refusal gives %v", name, again)
		}
	}
}

func TestPaging(t *testing.T) {
	for name, c := range map[string]struct {
		pages  int
		cursor func(page int) string
		want   string
	}{
		"CAT-10 hundred pages":          {MaxPages, func(page int) string { return strings.Repeat("x", MaxPages-page) }, ""},
		"CAT-10 a cursor after them":    {MaxPages, func(page int) string { return fmt.Sprint(page) }, refusedPages},
		"CAT-12 repeated cursor":        {2, func(int) string { return "again" }, refusedRepeat},
		"CAT-12 repeated after another": {3, func(page int) string { return fmt.Sprint(page % 2) }, refusedRepeat},
	} {
		b := NewBuilder()
		var err error
		for page := 1; page <= c.pages && err == nil; page++ {
			_, err = b.AddPage(json.RawMessage(fmt.Sprintf(`{"tools":[%s],"nextCursor":%q}`, named(fmt.Sprint(page)), c.cursor(page))))
		}
		if c.want == "" {
			if err != nil || len(b.Catalog().Tools) != c.pages {
				t.Errorf("%s: got %v", name, err)
			}
			continue
		}
		var got *ListError
		if !errors.As(err, &got) || got.What != c.want {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	for _, none := range []string{`null`, `""`} {
		if next, err := NewBuilder().AddPage(json.RawMessage(`{"tools":[],"nextCursor":` + none + `}`)); next != "" || err != nil {
			t.Errorf("nextCursor %s: got %q, %v", none, next, err)
		}
	}
	var tools []string
	for i := range MaxTools {
		tools = append(tools, named(fmt.Sprint("t", i)))
	}
	if c := read(t, tools...); len(c.Tools) != MaxTools {
		t.Errorf("CAT-11: %d tools of %d", len(c.Tools), MaxTools)
	}
	// CAT-11 holds over pages.
	b := NewBuilder()
	_, _ = b.AddPage(list(tools...))
	if _, err := b.AddPage(list(named("more"))); err == nil {
		t.Error("CAT-11: a tool more on the second page was taken")
	}
}

// TestDropped wants each bad tool named and left out, and its neighbours kept (bridge row 9).
func TestDropped(t *testing.T) {
	schemaOf := func(size int) string {
		const frame = `{"type":"object","title":""}`
		return strings.Replace(frame, `""`, `"`+strings.Repeat("x", size-len(frame))+`"`, 1)
	}
	for name, c := range map[string]struct {
		tool, label, want string
	}{
		"kept":                          {named("t"), "", ""},
		"not an object":                 {`"x"`, "#2", droppedObject},
		"too large":                     {`{"name":"t","inputSchema":{"type":"object"},"x":"` + strings.Repeat("x", MaxToolBytes) + `"}`, "t", droppedSize},
		"no name":                       {`{"inputSchema":{"type":"object"}}`, "#2", droppedName},
		"CAT-13 type":                   {`{"name":1,"inputSchema":{"type":"object"}}`, "#2", droppedName},
		"CAT-13 empty":                  {named(""), "#2", droppedEmptyName},
		"CAT-13 blank":                  {named(" \t"), "#2", droppedEmptyName},
		"CAT-13 long":                   {named(strings.Repeat("n", 257)), strings.Repeat("n", 64), droppedLongName},
		"CAT-13 long in UTF-16":         {named(strings.Repeat("😀", 129)), strings.Repeat("😀", 64), droppedLongName},
		"CAT-13 longest":                {named(strings.Repeat("😀", 128)), "", ""},
		"CAT-13 NUL":                    {named("a\x00b"), "ab", droppedControls},
		"CAT-13 DEL":                    {named("a\x7fb"), "ab", droppedControls},
		"DEV-25 padded":                 {named(" t"), "t", droppedPadded},
		"CAT-15 type":                   {`{"name":"t","description":1,"inputSchema":{"type":"object"}}`, "t", droppedDescription},
		"CAT-15 null":                   {`{"name":"t","description":null,"inputSchema":{"type":"object"}}`, "t", droppedDescription},
		"CAT-15 longest":                {described(strings.Repeat("x", 16384)), "", ""},
		"CAT-15 long":                   {described(strings.Repeat("x", 16385)), "t", droppedLong},
		"CAT-15 controls are no reason": {described(`\u0000\u001b`), "", ""},
		"CAT-16 missing":                {`{"name":"t"}`, "t", droppedNoSchema},
		"CAT-16 type":                   {schemed(`true`), "t", droppedNoSchema},
		"CAT-16 root":                   {schemed(`{"type":"string"}`), "t", droppedRoot},
		"CAT-16 root list":              {schemed(`{"type":["object"]}`), "t", droppedRoot},
		"CAT-16 no root":                {schemed(`{}`), "t", droppedRoot},
		"CAT-16 largest":                {schemed(schemaOf(MaxSchemaBytes)), "", ""},
		"CAT-16 largest, with spaces":   {schemed("{ \n" + schemaOf(MaxSchemaBytes)[1:]), "", ""},
		"CAT-16 large":                  {schemed(schemaOf(MaxSchemaBytes + 1)), "t", droppedSchemaSize},
		"header annotation":             {schemed(`{"type":"object","x-mcp-header":"X"}`), "t", droppedHeaderType},
	} {
		got := read(t, named("before"), c.tool, named("after"))
		var want []DroppedTool
		if c.want != "" {
			want = []DroppedTool{{Name: c.label, Reason: c.want}}
		}
		if diff := cmp.Diff(want, got.Dropped); diff != "" || len(got.Tools) != 3-len(want) {
			t.Errorf("%s: %d tools, dropped (-want +got):\n%s", name, len(got.Tools), diff)
		}
	}
}

func TestCatalogDigest(t *testing.T) {
	one := read(t, named("a"), named("b"))
	b := NewBuilder()
	for _, tool := range []string{named("a"), named("b")} {
		if _, err := b.AddPage(list(" " + tool)); err != nil {
			t.Fatal(err)
		}
	}
	if b.Catalog().Digest != one.Digest {
		t.Error("paging and outer white space change the digest")
	}
	lenient := NewBuilder()
	lenient.LenientHeaders = true
	_, _ = lenient.AddPage(list(named("a"), named("b")))
	for name, other := range map[string]*Catalog{
		"order":         read(t, named("b"), named("a")),
		"fewer":         read(t, named("a")),
		"dropped":       read(t, named("a"), named("b"), `1`),
		"dropped other": read(t, named("a"), named("b"), `2`),
		"white space":   read(t, named("a"), strings.Replace(named("b"), ":", ": ", 1)),
		"lenient":       lenient.Catalog(),
		"empty":         NewBuilder().Catalog(),
	} {
		if other.Digest == one.Digest {
			t.Errorf("%s: the digest is the same", name)
		}
	}
}

func FuzzAddPage(f *testing.F) {
	f.Add([]byte(list(named("a"), described("x"), `{}`)))
	f.Add([]byte(`{"tools":[],"nextCursor":"x"}`))
	f.Add([]byte(list(schemed(`{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A"}}}`))))
	f.Add([]byte(list(schemed(`{"type":"object","allOf":[{"properties":{"a":{"x-mcp-header":"A"}}}]}`))))
	f.Fuzz(func(t *testing.T, page []byte) {
		b := NewBuilder()
		if _, err := b.AddPage(page); err != nil {
			var list *ListError
			if !errors.As(err, &list) || b.Catalog() != nil {
				t.Fatalf("got %v", err)
			}
			return
		}
		c := b.Catalog()
		for _, tool := range c.Tools {
			checkTool(t, tool)
		}
		for _, d := range c.Dropped {
			if d.Name == "" || d.Reason == "" || utf8.RuneCountInString(d.Name) > 64 {
				t.Fatalf("dropped %+v", d)
			}
		}
		p := Project([]ServerTools{{Server: "s", Catalog: c}}, Filter{})
		if len(p.Tools)+p.ClashCount != len(c.Tools) {
			t.Fatalf("%d tools projected and %d clashes of %d", len(p.Tools), p.ClashCount, len(c.Tools))
		}
	})
}

func checkTool(t *testing.T, tool *Tool) {
	t.Helper()
	before, err := wire.ParseObject(tool.Raw)
	if err != nil {
		t.Fatalf("Raw %q: %v", tool.Raw, err)
	}
	after, err := wire.ParseObject(tool.WireAs("other"))
	if err != nil {
		t.Fatalf("WireAs of %q: %v", tool.Raw, err)
	}
	if diff := cmp.Diff(before.With("name", wire.Quote("other")), after); diff != "" {
		t.Fatalf("WireAs (-want +got):\n%s", diff)
	}
	if name, _ := before.String("name"); name != tool.Name || string(before.Get("inputSchema")) != string(tool.InputSchema) {
		t.Fatalf("%q was read as %+v", tool.Raw, tool)
	}
	for _, p := range tool.HeaderParams {
		if !isToken(p.Header) || len(p.Path) == 0 {
			t.Fatalf("header %+v", p)
		}
	}
}
