// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func contents(parts ...string) json.RawMessage {
	return json.RawMessage(`{"contents":[` + strings.Join(parts, ",") + `]}`)
}

func text(s string) string { return `{"uri":"u","text":` + quote(s) + `}` }

func blob(encoded string) string { return `{"uri":"u","blob":` + quote(encoded) + `}` }

func zeros(n int) string { return base64.StdEncoding.EncodeToString(make([]byte, n)) }

func TestReadReport(t *testing.T) {
	const sum15 = "6dd57b70d0e8e03f0b24cbcb3896d5fac60d11a7583f1bc45e1f58336b7b86af"
	sent := contents(
		`{"uri":"file:///a\u200b","mimeType":"text/plain","text":"one\u001b[31m\u202e\r\n\ttwo","_meta":{"k":1},"annotations":{},"icons":[]}`,
		`{"uri":"other","text":"second","blob":"AAAA"}`,
		`{"uri":"b","mimeType":"","blob":"`+base64.StdEncoding.EncodeToString([]byte("fifteen bytes!!"))+`"}`,
	)
	got, err := ReadReport(sent)
	if err != nil || CheckRead(sent) != nil {
		t.Fatal(err)
	}
	want := &Read{
		Contents: []Part{ // CNT-23: all, in order, the text wins; CNT-25: no extension fields, any URI
			{URI: "file:///a", MimeType: "text/plain", Text: "one[31m\n\ttwo"},
			{URI: "other", Text: "second"},
			{URI: "b", Blob: &Blob{Size: 15, SHA256: sum15, Omitted: true}},
		},
		Stripped: 2, // CNT-26 as DEV-26 and DEV-27 have it: reports are cleaned
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("CNT-21 to CNT-26, DEV-26 (-want +got):\n%s", diff)
	}
	if b, err := json.Marshal(got); err != nil || strings.Contains(string(b), "ZmlmdGVl") || strings.Contains(string(b), "AAAA") {
		t.Errorf("CNT-24: there is base64 in %s", b)
	}
}

func TestReadRefused(t *testing.T) {
	full := strings.Repeat("x", MaxTextBytes)
	many := strings.Split(strings.Repeat(text("a")+"|", MaxParts), "|")[:MaxParts]
	for name, c := range map[string]struct {
		raw  json.RawMessage
		want string
	}{
		"not JSON":                    {json.RawMessage(`{`), refusedResult},
		"CNT-21 no contents":          {json.RawMessage(`{}`), ""},
		"CNT-21 contents not a list":  {json.RawMessage(`{"contents":{}}`), ""},
		"CNT-21 most parts":           {contents(many...), ""},
		"CNT-21 parts":                {contents(append(many, text("a"))...), refusedParts},
		"CNT-21 no object":            {contents(`1`), refusedPart},
		"CNT-21 neither":              {contents(`{"uri":"u"}`), refusedPart},
		"CNT-21 text of another type": {contents(`{"uri":"u","text":1}`), refusedPart},
		"CNT-22 largest text":         {contents(text(full)), ""},
		"CNT-22 text":                 {contents(text(full + "x")), refusedText},
		"CNT-22 5 x 1 MiB":            {contents(text(full), text(full), text(full), text(full), text(full)), refusedReport},
		"CNT-22 text and binary":      {contents(text(full), blob(zeros(3<<20))), ""},
		"CNT-22 one byte over":        {contents(text(full), blob(zeros(3<<20+1))), refusedTotal},
		"CNT-22 escaping counts":      {contents(text(strings.Repeat("\n", MaxTextBytes)), text(strings.Repeat("\n", MaxTextBytes))), refusedReport},
		"CNT-24 largest":              {contents(blob(zeros(MaxResultBytes))), ""},
		"CNT-24 large":                {contents(blob(zeros(MaxResultBytes + 1))), refusedTotal},
		"CNT-24 larger":               {contents(blob(zeros(MaxResultBytes + 9))), refusedTotal},
		"CNT-24 empty":                {contents(blob("")), ""},
		"CNT-24 two pads":             {contents(blob("AA==")), ""},
		"CNT-24 not base64":           {contents(blob("not base64")), refusedBase64},
		"CNT-24 length":               {contents(blob("AAA")), refusedBase64},
		"CNT-24 three pads":           {contents(blob("A===")), refusedBase64},
		"CNT-24 URL alphabet":         {contents(blob("AA-_")), refusedBase64},
		"CNT-24 line ends":            {contents(blob("AAAA\r\n\r\n")), refusedBase64},
		"CNT-24 pad within":           {contents(blob("AA==AAAA")), refusedBase64},
		"CNT-25 URI":                  {contents(`{"uri":"a\u0000","text":""}`), refusedControls},
		"CNT-25 no URI":               {contents(`{"text":""}`), refusedType},
		"DEV-25 padded URI":           {contents(`{"uri":" a","text":""}`), refusedPadded},
		"CNT-05 MIME type":            {contents(`{"uri":"a","text":"","mimeType":"` + strings.Repeat("m", 257) + `"}`), refusedLongText},
	} {
		_, err := ReadReport(c.raw)
		var got *ResultError
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: got %v", name, err)
			}
		} else if !errors.As(err, &got) || got.What != c.want {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
		if len(c.raw) < MaxTextBytes && (CheckRead(c.raw) == nil) != (err == nil) {
			t.Errorf("%s: CheckRead and ReadReport disagree", name)
		}
	}
}

func FuzzReadReport(f *testing.F) {
	f.Add([]byte(contents(text("a\u200b\r\n"), blob("AA=="))))
	f.Add([]byte(`{"description":"d","messages":[{"role":"user","content":{"type":"image","data":"AAAA","mimeType":"image/png"}},
		{"role":"assistant","content":{"type":"resource","resource":{"uri":"u","text":"t"}}}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if report, err := ReadReport(raw); err == nil {
			checkParts(t, report.Stripped, report.Contents...)
		}
		if report, err := PromptReport(raw); err == nil {
			for _, m := range report.Messages {
				checkParts(t, report.Stripped, m.Part)
			}
		}
		for _, uri := range Links(raw) {
			new(LinkRing).Add(uri)
		}
	})
}

func checkParts(t *testing.T, stripped int, parts ...Part) {
	t.Helper()
	for _, p := range parts {
		if stripped < 0 || !utf8.ValidString(p.Text) || len(p.Text) > MaxTextBytes || hasControls(p.Text, "\n\t") || hasControls(p.URI, "") {
			t.Fatalf("%d stripped, %+v", stripped, p)
		}
		if p.Blob != nil && (!p.Blob.Omitted || p.Text != "" || p.Blob.Size > MaxResultBytes) {
			t.Fatalf("got %+v", p.Blob)
		}
	}
}
