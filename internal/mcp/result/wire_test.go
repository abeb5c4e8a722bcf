// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mooring-dev/mooring/internal/mcp/clean"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// TestWireAsSent: bridge row 1.
func TestWireAsSent(t *testing.T) {
	for name, raw := range map[string]string{
		"bridge row 1 everything": `{ "content":[{"type":"image","data":"AAAA","mimeType":"x"},{"type":"hologram","n":9007199254740993},{"type":"text","text":"\u001b[31m é","_meta":{"v":1e400}},
			{"type":"resource_link","uri":"u","icons":[]},{"type":"text","text":7},{"type":"resource","resource":{"uri":"u","blob":"!!"}}], "structuredContent":[1.0,null],"_meta":{"a":{}},"isError":false,"new":1}`,
		"bridge row 2 structured only": `{"structuredContent":7}`,
		"another result type":          `{"resultType":"task","taskId":"x"}`,
		"a failure":                    `{"isError":true,"content":[{"type":"text","text":"https:\/\/h Bearer x \u0000"}]}`,
		"empty":                        `{}`,
		"longest":                      `{"content":[` + text(strings.Repeat("x", DefaultInlineBytes)) + `]}`,
	} {
		got := Wire(t.Context(), json.RawMessage(raw), WireOptions{Secrets: clean.NewSecrets("unrelated-value")})
		if string(got.Result) != raw || got.Replaced+got.Linked != 0 {
			t.Errorf("%s: got %.300s, %d, %d", name, got.Result, got.Replaced, got.Linked)
		}
	}
}

func TestWireReplaces(t *testing.T) {
	for name, c := range map[string]struct {
		raw, want string
		replaced  int
	}{
		"bridge row 2 a part": {
			`{"x":1.0,"content":["a",{"type":"y","n":1.0},7],"isError":true,"structuredContent":{"k":1.0}}`,
			`{"x":1.0,"content":[NOTICE,{"type":"y","n":1.0},NOTICE],"isError":true,"structuredContent":{"k":1.0}}`, 2,
		},
		"bridge row 2 no list": {
			`{"content":{},"structuredContent":[]}`,
			`{"content":[{"type":"text","text":"[the result's content was no list, and was left out]"}],"structuredContent":[]}`, 1,
		},
		"bridge row 2 no object": {`"x"`, `{"content":[{"type":"text","text":"[the server's result was no JSON object, and was left out]"}]}`, 1},
	} {
		got := Wire(t.Context(), json.RawMessage(c.raw), WireOptions{})
		want := strings.ReplaceAll(c.want, "NOTICE", `{"type":"text","text":"[a part of the result was no JSON object, and was left out]"}`)
		if string(got.Result) != want || got.Replaced != c.replaced {
			t.Errorf("%s: got %s, %d; want %s", name, got.Result, got.Replaced, want)
		}
	}
}

// TestWireLong: bridge row 5.
func TestWireLong(t *testing.T) {
	long := "B3GIN" + strings.Repeat("é", 600<<10) + "s3cret-value" + "3ND"
	raw := content(`{"type":"text","annotations":{"priority":1.0},"text":`+string(wire.Quote(long))+`}`,
		`{"type":"resource","resource":{"uri":"u","mimeType":"text/html","text":`+string(wire.Quote(long))+`}}`, text("short"))
	kept := strings.ReplaceAll(long, "s3cret-value", "[redacted]")
	store := newMemory()
	got := Wire(t.Context(), raw, WireOptions{Store: store, Secrets: clean.NewSecrets("s3cret-value")})
	var result struct {
		Content []map[string]any `json:"content"`
	}
	if err := json.Unmarshal(got.Result, &result); err != nil || got.Linked != 2 || got.Replaced != 0 || len(result.Content) != 5 {
		t.Fatalf("bridge row 5: %d linked, %d replaced, %d parts, %v", got.Linked, got.Replaced, len(result.Content), err)
	}
	id := digest(kept)
	preview, _ := result.Content[0]["text"].(string)
	if !strings.Contains(preview, "B3GIN") || !strings.HasSuffix(preview, "[redacted]3ND") || !utf8.ValidString(preview) ||
		len(preview) > 11000 || strings.ContainsRune(preview, utf8.RuneError) ||
		!bytes.Contains(got.Result, []byte(`"annotations":{"priority":1.0}`)) {
		t.Errorf("bridge row 5, DEV-61: a preview of %d bytes: %.300s", len(preview), preview)
	}
	link := result.Content[1]
	if link["type"] != "resource_link" || link["uri"] != "mooring://artifacts/"+id || link["mimeType"] != "text/plain" ||
		link["size"] != float64(len(kept)) ||
		link["name"] == "" {
		t.Errorf("bridge row 5: %v", link)
	}
	if store.data[id] != kept || result.Content[3]["mimeType"] != "text/html" || result.Content[4]["text"] != "short" {
		t.Errorf("bridge row 5: %d stored", len(store.data))
	}
	// Where it cannot be stored, there is a notice and no link, and no error.
	store.err = errors.New("full")
	for _, s := range []Store{nil, store} {
		got := Wire(t.Context(), content(text(long)), WireOptions{Store: s})
		if got.Replaced != 1 || got.Linked != 0 || len(got.Result) > 12000 || bytes.Contains(got.Result, []byte("mooring://")) {
			t.Errorf("bridge row 2: %d replaced, %d bytes", got.Replaced, len(got.Result))
		}
	}
	small := Wire(t.Context(), content(text("0123456789")), WireOptions{InlineBytes: 4})
	if !bytes.Contains(small.Result, []byte(`0123"`)) || bytes.Contains(small.Result, []byte("01234")) {
		t.Errorf("bridge row 5: a small budget: %s", small.Result)
	}
}

// TestWireFailure: bridge row 4.
func TestWireFailure(t *testing.T) {
	const secret = "p4ss-w0rd"
	raw := `{"isError":true,"content":[{"type":"text","text":"no p4ss\u002dw0rd for https://h\u001b"},{"type":"x","y":"p4ss-w0rd"}],` +
		`"structuredContent":{"p":"p4ss-w0rd","n":1.0}}`
	want := `{"isError":true,"content":[{"type":"text","text":"no [redacted] for https://h\u001b"},{"type":"x","y":"[redacted]"}],` +
		`"structuredContent":{"p":"[redacted]","n":1.0}}`
	got := Wire(t.Context(), json.RawMessage(raw), WireOptions{Secrets: clean.NewSecrets(secret)})
	if string(got.Result) != want || got.Replaced != 0 {
		t.Errorf("bridge row 4: got %s, want %s", got.Result, want)
	}
	success := strings.Replace(raw, "true", "false", 1)
	if got := Wire(t.Context(), json.RawMessage(success), WireOptions{Secrets: clean.NewSecrets(secret)}); string(got.Result) != success {
		t.Errorf("bridge row 1: a success: %s", got.Result)
	}
	// Its texts are at most 64 KiB, together.
	long := json.RawMessage(`{"isError":true,"content":[` + strings.Repeat(text(strings.Repeat("é", 30000))+",", 2) + text("x") + `]}`)
	got = Wire(t.Context(), long, WireOptions{})
	if n := bytes.Count(got.Result, []byte("é")); n != clean.WireErrorBytes/2 || bytes.Contains(got.Result, []byte(`"x"`)) {
		t.Errorf("bridge row 4: %d characters", n)
	}
	// Names that become the same leave nothing that could be read in two ways.
	twice := `{"isError":true,"structuredContent":{"aaaaaaaa-1":1,"bbbbbbbb-1":2}}`
	got = Wire(t.Context(), json.RawMessage(twice), WireOptions{Secrets: clean.NewSecrets("aaaaaaaa-1", "bbbbbbbb-1")})
	if string(got.Result) != `{"isError":true,"structuredContent":"[redacted]"}` {
		t.Errorf("bridge row 4: %s", got.Result)
	}
}

func FuzzNormalize(f *testing.F) {
	f.Add([]byte(`{"content":[{"type":"text","text":"a\u0000"},{"type":"image","mimeType":"a/b","data":"AAAA"}],` +
		`"structuredContent":{"a":[1]}}`))
	f.Add([]byte(`{"isError":true,"content":[{"type":"resource","resource":{"uri":"u","blob":"AA=="}},` +
		`{"type":"resource_link","uri":"u","name":"n"}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, err := Normalize(t.Context(), raw, Options{Store: newMemory()})
		var limit *LimitError
		if err != nil && !errors.Is(err, ErrMalformed) && !errors.As(err, &limit) {
			t.Fatalf("untyped error %v", err)
		}
		if err == nil && (len(p.Text) > InlineBytes || p.Text == "" || clean.Multiline(p.Text, len(p.Text)) != p.Text || p.Stripped < 0) {
			t.Fatalf("%d bytes, %d stripped: %q", len(p.Text), p.Stripped, p.Text)
		}
		if err == nil {
			meta, _ := json.Marshal(p.Metadata)
			again, _ := json.Marshal(AllowList(meta))
			if !bytes.Equal(meta, again) {
				t.Fatalf("the allow-list changes\n%s to\n%s", meta, again)
			}
		}
		r, sumErr := Summarize(raw, 500)
		if err == nil && sumErr != nil {
			t.Fatalf("reported, but not summarized: %v", sumErr)
		}
		if sumErr == nil {
			if encoded, _ := json.Marshal(r.Preview); len(encoded) > 502 {
				t.Fatalf("a preview of %d bytes", len(encoded))
			}
		}
	})
}

func FuzzWire(f *testing.F) {
	f.Add([]byte(`{"content":[{"type":"text","text":"0123456789012345678901234567890123456789"},7],"isError":true}`), 8)
	f.Add([]byte(`{"content":{},"structuredContent":{"s3cret-value":1},"isError":true}`), 0)
	f.Fuzz(func(t *testing.T, raw []byte, inline int) {
		object, err := wire.ParseObject(raw)
		got := Wire(t.Context(), raw, WireOptions{InlineBytes: inline, Store: newMemory(), Secrets: clean.NewSecrets("s3cret-value")})
		after, afterErr := wire.ParseObject(got.Result)
		if afterErr != nil {
			t.Fatalf("%v: %s", afterErr, got.Result)
		}
		if err != nil {
			return
		}
		if len(after) != len(object) || string(after.Get("isError")) != string(object.Get("isError")) {
			t.Fatalf("members changed: %s", got.Result)
		}
		for i, m := range object {
			if m.Name != after[i].Name || (m.Name != "content" && !isTrue(object, "isError") && string(m.Value) != string(after[i].Value)) {
				t.Fatalf("%q changed: %s", m.Name, got.Result)
			}
		}
	})
}
