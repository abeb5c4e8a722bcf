// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

func page(kind Kind, entries ...string) json.RawMessage {
	return json.RawMessage(`{"` + string(kind) + `":[` + strings.Join(entries, ",") + `]}`)
}

func quote(s string) string { return string(wire.Quote(s)) }

func resource(uri string) string { return `{"uri":` + quote(uri) + `,"name":"n"}` }

func template(text string) string { return `{"uriTemplate":` + quote(text) + `,"name":"n"}` }

func prompt(name, arguments string) string {
	return `{"name":` + quote(name) + `,"arguments":[` + arguments + `]}`
}

// with adds members to an entry.
func with(entry, more string) string { return strings.TrimSuffix(entry, "}") + "," + more + "}" }

// read builds a catalog of one page.
func read(t testing.TB, kind Kind, entries ...string) *Catalog {
	t.Helper()
	b := NewBuilder(kind, Limits{})
	if next, err := b.AddPage(page(kind, entries...)); err != nil || next != "" {
		t.Fatalf("AddPage: %q, %v", next, err)
	}
	return b.Catalog()
}

// TestAddPage has the acceptance case "two-page resources and prompts: order preserved" (CNT-01, CNT-03).
func TestAddPage(t *testing.T) {
	for kind, entry := range map[Kind]func(string) string{
		Resources: resource, ResourceTemplates: template, Prompts: func(name string) string { return prompt(name, "") },
	} {
		b := NewBuilder(kind, Limits{})
		first := json.RawMessage(`{"nextCursor":"é","` + string(kind) + `":[` + entry("z") + `, ` + entry("y") + `]}`)
		if next, err := b.AddPage(first); next != "é" || err != nil {
			t.Fatalf("%s: got %q, %v", kind, next, err)
		}
		if next, err := b.AddPage(page(kind, entry("x"))); next != "" || err != nil {
			t.Fatalf("%s: got %q, %v", kind, next, err)
		}
		c := b.Catalog()
		var ids []string
		for _, e := range c.Entries {
			ids = append(ids, e.ID)
			if found, ok := c.Lookup(e.ID); !ok || found != e || string(e.Raw) != entry(e.ID) {
				t.Errorf("%s: %s is not found as sent", kind, e.ID)
			}
		}
		if diff := cmp.Diff([]string{"z", "y", "x"}, ids); diff != "" {
			t.Errorf("%s: order (-want +got):\n%s", kind, diff)
		}
		if _, ok := c.Lookup("w"); ok || len(c.Digest) != 64 || c.Bytes != 3*len(entry("z")) {
			t.Errorf("%s: got %+v", kind, c)
		}
	}
	none := NewBuilder(Resources, Limits{}).Catalog() // CNT-01: nothing was asked for
	if _, ok := none.Lookup("a"); ok || len(none.Entries) != 0 {
		t.Error("CNT-01: the empty catalog has entries")
	}
}

func TestEntry(t *testing.T) {
	sent := `{ "uri":"file:///a\u200bb", "name":"N\u200b", "title":"T\u202e", "description":"one\r\n\ttwo\u200b", "mimeType":"text/plain",
		"size":1e1, "_meta":{"n":9007199254740993}, "icons":[], "annotations":{} }`
	e := read(t, Resources, sent).Entries[0]
	got := []string{e.ID, e.Shown(), e.Name, e.Title, e.Description, e.MimeType, string(e.Raw), fmt.Sprint(e.Size)}
	want := []string{"file:///a\u200bb", "file:///ab", "N", "T", "one\n\ttwo", "text/plain", sent, "10"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("CNT-04, CNT-05, DEV-26 (-want +got):\n%s", diff)
	}
	sent = prompt("p\u200b", `{"name":"a\u200b","description":"d\u202e","required":true},`+
		`{"name":"b","required":"true"},{"name":"c","required":1}`)
	e = read(t, Prompts, sent).Entries[0]
	arguments := []Argument{{ID: "a\u200b", Name: "a", Description: "d", Required: true}, {ID: "b", Name: "b"}, {ID: "c", Name: "c"}}
	if diff := cmp.Diff(arguments, e.Arguments); diff != "" || e.ID != "p\u200b" || e.Name != "p" {
		t.Errorf("CNT-07, DEV-26: prompt %q (-want +got):\n%s", e.Name, diff)
	}
	for raw, want := range map[string]int64{
		`0`: 0, `9007199254740991`: 9007199254740991, `7.0`: 7,
		`-1`: -1, `1.5`: -1, `9007199254740993`: -1, `1e400`: -1, `"1"`: -1, `null`: -1, `true`: -1,
	} {
		if got := read(t, Resources, with(resource("a"), `"size":`+raw)).Entries[0].Size; got != want {
			t.Errorf("CNT-06: size %s is %d, want %d", raw, got, want)
		}
	}
	e = read(t, Resources, with(resource("a"), `"title":"","description":"","mimeType":""`)).Entries[0]
	if plain := read(t, Resources, resource("a")).Entries[0]; e.Signature != plain.Signature {
		t.Error("CNT-05: empty values are not dropped")
	}
}

func TestListRefused(t *testing.T) {
	long := strings.Repeat("x", 16000)
	var many, large, raw []string
	for i := range MaxEntries {
		many = append(many, resource(fmt.Sprint("r", i)))
		large = append(large, with(many[i], `"description":"`+long+`"`))
		raw = append(raw, with(many[i], `"_meta":{"x":"`+long+long+`"}`))
	}
	for name, c := range map[string]refusal{
		"not JSON":                  {Resources, json.RawMessage(`{"resources":[`), refusedJSON},
		"nothing":                   {Resources, nil, refusedJSON},
		"repeated member":           {Resources, page(Resources, `{"uri":"a","uri":"b","name":"n"}`), refusedJSON},
		"another kind":              {Resources, page(Prompts), refusedList},
		"no array":                  {Prompts, json.RawMessage(`{"prompts":{}}`), refusedList},
		"cursor":                    {Prompts, json.RawMessage(`{"prompts":[],"nextCursor":1}`), refusedCursor},
		"no object":                 {Prompts, page(Prompts, `1`), refusedEntry},
		"CNT-03 most":               {Resources, page(Resources, many...), ""},
		"CNT-03 count":              {Resources, page(Resources, append(many, `1`)...), refusedCount},
		"CNT-03 bytes":              {Resources, page(Resources, large...), refusedBytes},
		"CNT-03 bytes as sent":      {Resources, page(Resources, raw...), refusedBytes},
		"CNT-03 duplicate URI":      {Resources, page(Resources, resource("a"), `{"uri":"\u0061","name":"m"}`), refusedDoubles},
		"CNT-03 duplicate template": {ResourceTemplates, page(ResourceTemplates, template("a"), template("a")), refusedDoubles},
		"CNT-03 duplicate prompt":   {Prompts, page(Prompts, prompt("a", ""), prompt("a", "")), refusedDoubles},
	} {
		c.check(t, name)
	}
}

func TestEntryRefused(t *testing.T) {
	arguments := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`{"name":"a%d"}`, i))
		}
		return strings.Join(list, ",")
	}
	for name, c := range map[string]refusal{
		"CNT-04 no URI":                {Resources, page(Resources, `{"name":"n"}`), refusedType},
		"CNT-04 empty":                 {Resources, page(Resources, resource("")), refusedEmpty},
		"CNT-04 blank":                 {Prompts, page(Prompts, prompt(" ", "")), refusedEmpty},
		"CNT-04 syntax is free":        {Resources, page(Resources, resource("no URI <é>")), ""},
		"CNT-04 longest URI":           {Resources, page(Resources, resource(strings.Repeat("😀", 8192))), ""},
		"CNT-04 long URI":              {Resources, page(Resources, resource(strings.Repeat("u", 8193))), refusedLongURI},
		"CNT-04 long template":         {ResourceTemplates, page(ResourceTemplates, template(strings.Repeat("u", 8193))), refusedLongURI},
		"CNT-04 NUL in a template":     {ResourceTemplates, page(ResourceTemplates, template("a\x00b")), refusedControls},
		"CNT-04 DEL":                   {Prompts, page(Prompts, prompt("a\x7f", "")), refusedControls},
		"CNT-04 longest prompt":        {Prompts, page(Prompts, prompt(strings.Repeat("😀", 256), "")), ""},
		"CNT-04 long prompt":           {Prompts, page(Prompts, prompt(strings.Repeat("p", 257), "")), refusedLongName},
		"CNT-04 long name":             {Resources, page(Resources, `{"uri":"a","name":"`+strings.Repeat("n", 257)+`"}`), refusedLongName},
		"CNT-04 name's controls":       {Resources, page(Resources, `{"uri":"a","name":"\u0001"}`), refusedControls},
		"CNT-04 no name":               {Resources, page(Resources, `{"uri":"a"}`), refusedType},
		"DEV-25 padded URI":            {Resources, page(Resources, resource(" a")), refusedPadded},
		"DEV-25 padded template":       {ResourceTemplates, page(ResourceTemplates, template("a\ufeff")), refusedPadded},
		"DEV-25 padded prompt":         {Prompts, page(Prompts, prompt("a ", "")), refusedPadded},
		"DEV-25 padded argument":       {Prompts, page(Prompts, prompt("a", `{"name":" a"}`)), refusedPadded},
		"CNT-05 longest title":         {Resources, page(Resources, with(resource("a"), `"title":"`+strings.Repeat("é", 128)+`"`)), ""},
		"CNT-05 long title":            {Resources, page(Resources, with(resource("a"), `"title":"`+strings.Repeat("é", 129)+`"`)), refusedLongText},
		"CNT-05 tab in a title":        {Resources, page(Resources, with(resource("a"), `"title":"\t"`)), refusedControls},
		"CNT-05 long MIME type":        {Resources, page(Resources, with(resource("a"), `"mimeType":"`+strings.Repeat("m", 257)+`"`)), refusedLongText},
		"CNT-05 controls in MIME type": {Resources, page(Resources, with(resource("a"), `"mimeType":"a\n"`)), refusedControls},
		"CNT-05 longest description":   {Prompts, page(Prompts, with(prompt("a", ""), `"description":"`+strings.Repeat("d", 16384)+`"`)), ""},
		"CNT-05 one byte over":         {Prompts, page(Prompts, with(prompt("a", ""), `"description":"`+strings.Repeat("d", 16385)+`"`)), refusedLongText},
		"CNT-05 escape":                {Prompts, page(Prompts, with(prompt("a", ""), `"description":"\u001b"`)), refusedControls},
		"CNT-05 null":                  {Prompts, page(Prompts, with(prompt("a", ""), `"description":null`)), refusedType},
		"CNT-07 most":                  {Prompts, page(Prompts, prompt("a", arguments(64))), ""},
		"CNT-07 many":                  {Prompts, page(Prompts, prompt("a", arguments(65))), refusedMany},
		"CNT-07 twice":                 {Prompts, page(Prompts, prompt("a", `{"name":"a"},{"name":"a"}`)), refusedTwice},
		"CNT-07 no array":              {Prompts, page(Prompts, `{"name":"a","arguments":{}}`), refusedArguments},
		"CNT-07 no object":             {Prompts, page(Prompts, prompt("a", `"a"`)), refusedArguments},
		"CNT-07 longest description":   {Prompts, page(Prompts, prompt("a", `{"name":"a","description":"`+strings.Repeat("d", 4096)+`"}`)), ""},
		"CNT-07 long description":      {Prompts, page(Prompts, prompt("a", `{"name":"a","description":"`+strings.Repeat("d", 4097)+`"}`)), refusedLongText},
		"SEC-09 __proto__":             {Prompts, page(Prompts, prompt("a", `{"name":"__proto__"}`)), refusedUnsafe},
		"SEC-09 constructor":           {Prompts, page(Prompts, prompt("a", `{"name":"constructor"}`)), refusedUnsafe},
		"SEC-09 prototype":             {Prompts, page(Prompts, prompt("a", `{"name":"prototype"}`)), refusedUnsafe},
	} {
		c.check(t, name)
	}
}

// refusal is a page of a list, and why it is refused; empty when it is not.
type refusal struct {
	kind Kind
	page json.RawMessage
	want string
}

func (c refusal) check(t *testing.T, name string) {
	t.Helper()
	b := NewBuilder(c.kind, Limits{})
	_, err := b.AddPage(c.page)
	if c.want == "" {
		if err != nil || b.Catalog() == nil {
			t.Errorf("%s: got %v", name, err)
		}
		return
	}
	var got *ListError
	if !errors.As(err, &got) || got.What != c.want {
		t.Errorf("%s: got %v, want %q", name, err, c.want)
	}
	if b.Catalog() != nil {
		t.Errorf("%s: a refused list has a catalog", name)
	}
	if _, again := b.AddPage(page(c.kind)); !errors.As(again, &got) {
		t.Errorf("%s: a page after a refusal gives %v", name, again)
	}
}

func TestPaging(t *testing.T) {
	for name, c := range map[string]struct {
		pages  int
		cursor func(page int) string
		want   string
	}{
		"CNT-03 hundred pages":          {MaxPages, func(page int) string { return strings.Repeat("x", MaxPages-page) }, ""},
		"CNT-03 a cursor after them":    {MaxPages, func(page int) string { return fmt.Sprint(page) }, refusedPages},
		"CNT-03 repeated cursor":        {2, func(int) string { return "again" }, refusedRepeat},
		"CNT-03 repeated after another": {3, func(page int) string { return fmt.Sprint(page % 2) }, refusedRepeat},
	} {
		b := NewBuilder(Prompts, Limits{})
		var err error
		for i := 1; i <= c.pages && err == nil; i++ {
			_, err = b.AddPage(json.RawMessage(fmt.Sprintf(`{"prompts":[%s],"nextCursor":%q}`, prompt(fmt.Sprint(i), ""), c.cursor(i))))
		}
		var got *ListError
		if (c.want == "") != (err == nil) || (errors.As(err, &got) && got.What != c.want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if next, err := NewBuilder(Prompts, Limits{}).AddPage(json.RawMessage(`{"prompts":[],"nextCursor":null}`)); next != "" || err != nil {
		t.Errorf("nextCursor null: got %q, %v", next, err)
	}
}

// TestLimits wants lower bounds to hold exactly, over pages, and higher ones not to be (CNT-03).
func TestLimits(t *testing.T) {
	one := resource("a") // is its own normal form but for the order of its members
	for name, c := range map[string]struct {
		limits Limits
		want   bool
	}{
		"entries":     {Limits{MaxEntries: 2}, true},
		"fewer":       {Limits{MaxEntries: 1}, false},
		"bytes":       {Limits{MaxBytes: 2*len(one) + len("[,]")}, true},
		"fewer bytes": {Limits{MaxBytes: 2*len(one) + len("[,]") - 1}, false},
		"higher":      {Limits{MaxEntries: 1 << 30, MaxBytes: 1 << 30}, true},
	} {
		b := NewBuilder(Resources, c.limits)
		_, _ = b.AddPage(page(Resources, one))
		if _, err := b.AddPage(page(Resources, resource("b"))); (err == nil) != c.want {
			t.Errorf("CNT-03 %s: got %v", name, err)
		}
	}
	if got := (Limits{MaxEntries: 1 << 30, MaxBytes: 1 << 30}).orDefault(); got != (Limits{MaxEntries, MaxBytes}) {
		t.Errorf("CNT-03: got %+v", got)
	}
}
