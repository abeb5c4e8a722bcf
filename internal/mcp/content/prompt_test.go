// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPromptArguments(t *testing.T) {
	entry := read(t, Prompts, prompt("p", `{"name":"must","required":true},{"name":"may"}`)).Entries[0]
	long := quote(strings.Repeat("v", MaxValueBytes+1))
	for name, c := range map[string]struct {
		arguments, want string
	}{
		"CNT-30 good":                        {`{"must":"","may":"x"}`, ""},
		"CNT-30 longest":                     {`{"must":` + quote(strings.Repeat("v", MaxValueBytes)) + `}`, ""},
		"CNT-30 missing":                     {`{"may":"x"}`, refusedMissing},
		"CNT-30 none":                        {``, refusedMissing},
		"CNT-30 no object":                   {`[]`, refusedObject},
		"CNT-30 no string":                   {`{"must":1}`, refusedString},
		"CNT-30 value before missing":        {`{"may":` + long + `}`, refusedValue},
		"CNT-30 unknown before value":        {`{"must":` + long + `,"x":""}`, refusedUnknown},
		"CNT-30 unsafe before unknown":       {`{"x":"","__proto__":""}`, refusedReserve},
		"SEC-09 constructor":                 {`{"must":"","constructor":""}`, refusedReserve},
		"SEC-09 prototype":                   {`{"must":"","prototype":""}`, refusedReserve},
		"SEC-09 escaped":                     {`{"must":"","\u005f_proto__":""}`, refusedReserve},
		"CNT-30 what is named exactly":       {`{"must\u200b":"","must":""}`, refusedUnknown},
		"CNT-30 two of a name are no object": {`{"must":"","must":""}`, refusedObject},
	} {
		var raw json.RawMessage
		if c.arguments != "" {
			raw = json.RawMessage(c.arguments)
		}
		err := PromptArguments(entry, raw)
		var got *ArgumentError
		if (c.want == "") != (err == nil) || (err != nil && (!errors.As(err, &got) || got.What != c.want)) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	if err := PromptArguments(nil, nil); !errors.Is(err, ErrNotInCatalog) {
		t.Errorf("CNT-30: a prompt that is not offered gives %v", err)
	}
}

func message(role, content string) string { return `{"role":"` + role + `","content":` + content + `}` }

func messages(list ...string) json.RawMessage {
	return json.RawMessage(`{"description":"D\u200b","messages":[` + strings.Join(list, ",") + `]}`)
}

// TestPromptReport has the acceptance case "resolves text + embedded resource with roles kept".
func TestPromptReport(t *testing.T) {
	const sum3 = "709e80c88487a2411e1ee4dfb9f22a861492d20c4765150c0c794abd70f8147c" // of three zero bytes
	got, err := PromptReport(messages(
		message("user", `{"type":"text","text":"a\u0000","_meta":{}}`),
		message("assistant", `{"type":"resource","resource":{"uri":"u","mimeType":"m","text":"t"}}`),
		message("user", `{"type":"image","data":"AAAA","mimeType":"image/png"}`),
		message("user", `{"type":"audio","data":"AAAA"}`),
		message("user", `{"type":"resource","resource":{"uri":"u","blob":"AAAA"}}`),
		message("user", `{"type":"resource_link","uri":"l","name":"N\u200b","mimeType":"m"}`),
	))
	if err != nil {
		t.Fatal(err)
	}
	omitted := &Blob{Size: 3, SHA256: sum3, Omitted: true}
	want := &Prompt{Description: "D", Stripped: 1, Messages: []Message{
		{Role: "user", Type: "text", Part: Part{Text: "a"}},
		{Role: "assistant", Type: "resource", Part: Part{URI: "u", MimeType: "m", Text: "t"}},
		{Role: "user", Type: "image", Part: Part{MimeType: "image/png", Blob: omitted}},
		{Role: "user", Type: "audio", Part: Part{Blob: omitted}},
		{Role: "user", Type: "resource", Part: Part{URI: "u", Blob: omitted}},
		{Role: "user", Type: "resource_link", Name: "N", Part: Part{URI: "l", MimeType: "m"}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("CNT-31, CNT-32, DEV-26 (-want +got):\n%s", diff)
	}
	if b, err := json.Marshal(got); err != nil || strings.Contains(string(b), "AAAA") {
		t.Errorf("CNT-32: there is base64 in %s", b)
	}
}

func TestPromptRefused(t *testing.T) {
	full := `{"type":"text","text":"` + strings.Repeat("#", MaxTextBytes) + `"}`
	image := func(n int) string { return message("user", `{"type":"image","data":"`+zeros(n)+`"}`) }
	one := message("user", `{"type":"text","text":""}`)
	many := strings.Split(strings.Repeat(one+"|", MaxMessages), "|")[:MaxMessages]
	for name, c := range map[string]struct {
		raw  json.RawMessage
		want string
	}{
		"not JSON":               {json.RawMessage(`[`), refusedResult},
		"CNT-31 no messages":     {json.RawMessage(`{}`), refusedMessages},
		"CNT-31 no object":       {messages(`1`), refusedMessages},
		"CNT-31 most":            {messages(many...), ""},
		"CNT-31 many":            {messages(append(many, one)...), refusedMany128},
		"CNT-31 system":          {messages(message("system", `{"type":"text","text":""}`)), refusedRole},
		"CNT-31 no role":         {messages(`{"content":{"type":"text","text":""}}`), refusedRole},
		"CNT-31 unknown type":    {messages(message("user", `{"type":"video"}`)), refusedContent},
		"CNT-31 list":            {messages(message("user", `[]`)), refusedContent},
		"CNT-31 no content":      {messages(`{"role":"user"}`), refusedContent},
		"CNT-31 no text":         {messages(message("user", `{"type":"text"}`)), refusedPart},
		"CNT-31 no resource":     {messages(message("user", `{"type":"resource"}`)), refusedPart},
		"CNT-31 link":            {messages(message("user", `{"type":"resource_link","name":"n"}`)), refusedType},
		"CNT-31 base64":          {messages(message("user", `{"type":"image","data":"A"}`)), refusedBase64},
		"CNT-31 largest text":    {messages(message("user", full)), ""},
		"CNT-31 text":            {messages(message("user", strings.Replace(full, "#", "##", 1))), refusedText},
		"CNT-31 text and binary": {messages(message("user", full), image(3<<20)), ""},
		"CNT-31 one byte over":   {messages(message("user", full), image(3<<20+1)), refusedTotal},
		"CNT-31 escaping counts": {messages(message("user", strings.ReplaceAll(full, "#", `\n`)), message("user", strings.ReplaceAll(full, "#", `\n`))), refusedReport},
		"CNT-31 description":     {json.RawMessage(`{"description":"\u0000","messages":[]}`), refusedControls},
	} {
		_, err := PromptReport(c.raw)
		var got *ResultError
		if (c.want == "") != (err == nil) || (err != nil && (!errors.As(err, &got) || got.What != c.want)) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}
