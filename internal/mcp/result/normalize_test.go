// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mooring-dev/mooring/internal/mcp/clean"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// memory is a Store.
type memory struct {
	data map[string]string
	mime map[string]string
	err  error
	id   string // answered instead of the right one
}

func newMemory() *memory { return &memory{data: map[string]string{}, mime: map[string]string{}} }

func (m *memory) Put(_ context.Context, data []byte, mimeType string) (string, error) {
	id := digest(string(data))
	m.data[id], m.mime[id] = string(data), mimeType
	if m.id != "" {
		return m.id, m.err
	}
	return id, m.err
}

func digest(s string) string {
	d := sha256.Sum256([]byte(s))
	return hex.EncodeToString(d[:])
}

func text(s string) string { return `{"type":"text","text":` + string(wire.Quote(s)) + `}` }

func image(size int) string {
	return `{"type":"image","mimeType":"image/png","data":"` + base64.StdEncoding.EncodeToString(make([]byte, size)) + `"}`
}

func content(parts ...string) json.RawMessage {
	return json.RawMessage(`{"content":[` + strings.Join(parts, ",") + `]}`)
}

func normalize(t *testing.T, raw json.RawMessage, store Store) *Projected {
	t.Helper()
	p, err := Normalize(t.Context(), raw, Options{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	if p.Metadata.ArtifactCount != len(p.Metadata.Artifacts) || !utf8.ValidString(p.Text) {
		t.Errorf("%d artifacts, %+v", p.Metadata.ArtifactCount, p.Metadata.Artifacts)
	}
	return p
}

// TestRich is the acceptance case of section 8: three artifacts, no base64, no _meta (RES-08, RES-11, RES-12, SEC-10).
func TestRich(t *testing.T) {
	const b64 = "iVBORw0KGgoAAAANSUhEUgAAAAUA"
	raw := json.RawMessage(`{"_meta":{"a":"M3TA"},"x":"M3TA","structuredContent":{"n":9007199254740993},"content":[
		{"type":"text","text":"hello","annotations":{"audience":["M3TA"]},"_meta":{"b":"M3TA"}},
		{"type":"image","data":"` + b64 + `","mimeType":" image/png ","icons":["M3TA"]},
		{"type":"audio","data":"AAAA","mimeType":"audio/wav"},
		{"type":"resource","resource":{"uri":"file:///a.txt","mimeType":"text/x","text":"inner","_meta":"M3TA"}},
		{"type":"resource","resource":{"uri":"file:///b<","blob":"AAEC"}},
		{"type":"resource_link","uri":"file:///c","name":"c\"","description":"two\nlines <","title":"M3TA","mimeType":"text/y"}]}`)
	store := newMemory()
	p := normalize(t, raw, store)
	decoded, _ := base64.StdEncoding.DecodeString(b64)
	png, wav, blob := digest(string(decoded)), digest("\x00\x00\x00"), digest("\x00\x01\x02")
	want := strings.Join([]string{
		"hello",
		"[image, 21 bytes, sha256 " + png + `, type "image/png", artifact ` + png + "]",
		"[audio, 3 bytes, sha256 " + wav + `, type "audio/wav", artifact ` + wav + "]",
		"[resource \"file:///a.txt\", type \"text/x\"]\ninner",
		"[resource, 3 bytes, sha256 " + blob + `, source "file:///b\u003c", artifact ` + blob + "]",
		`[resource link "file:///c", name "c\"", type "text/y", description "two lines \u003c"]`,
		"[structured content]\n{\n  \"n\": 9007199254740993\n}",
	}, "\n\n")
	if p.Text != want {
		t.Errorf("RES-07, RES-08: got\n%s\nwant\n%s", p.Text, want)
	}
	got, _ := json.Marshal(p.Metadata)
	artifact := func(kind string, size int, id, rest string) string {
		return fmt.Sprintf(`{"id":%q,"kind":%q,"size":%d,"sha256":%q,"persisted":true,%s}`, id, kind, size, id, rest)
	}
	wantMeta := `{"isError":false,"contentCount":6,"textBytes":10,"structuredBytes":22,"artifactCount":3,"truncated":false,` +
		`"binaryOmitted":true,"artifacts":[` + artifact("image", 21, png, `"mimeType":"image/png"`) + "," + artifact("audio", 3, wav, `"mimeType":"audio/wav"`) + "," +
		artifact("resource", 3, blob, `"sourceUri":"file:///b\u003c"`) + "]}"
	if string(got) != wantMeta {
		t.Errorf("RES-11: got\n%s\nwant\n%s", got, wantMeta)
	}
	if all := p.Text + string(got); strings.Contains(all, "M3TA") || strings.Contains(all, b64) || strings.Contains(all, "AAEC") {
		t.Errorf("RES-12, SEC-10: %s", all)
	}
	if len(store.data) != 3 || store.data[png] != string(decoded) || store.mime[wav] != "audio/wav" {
		t.Errorf("%d stored", len(store.data))
	}
}

func TestLimits(t *testing.T) {
	long, mega := strings.Repeat("x", MaxTextBytes), text(strings.Repeat("x", MaxTextBytes))
	many := func(n int) json.RawMessage {
		return content(strings.Split(strings.Repeat(text("x")+"\n", n-1)+text("x"), "\n")...)
	}
	link := func(uri, name, rest string) json.RawMessage {
		return content(`{"type":"resource_link","uri":"` + uri + `","name":"` + name + `"` + rest + `}`)
	}
	for name, c := range map[string]struct {
		raw  json.RawMessage
		what string // of a LimitError; "malformed", or "" for none
	}{
		"RES-01 an array":                   {json.RawMessage(`[]`), "malformed"},
		"RES-01 no content":                 {json.RawMessage(`{"structuredContent":{}}`), "malformed"},
		"RES-01 content null":               {json.RawMessage(`{"content":null}`), "malformed"},
		"RES-01 content an object":          {json.RawMessage(`{"content":{}}`), "malformed"},
		"RES-02 64 parts":                   {many(64), ""},
		"RES-02 65 parts":                   {many(65), tooManyParts},
		"RES-02 an unknown type":            {content(`{"type":"video"}`), badPart},
		"RES-02 no type":                    {content(`{"text":"x"}`), badPart},
		"RES-02 a string":                   {content(`"x"`), badPart},
		"RES-03 1 MiB":                      {content(mega), ""},
		"RES-03 1 MiB and one":              {content(text(long + "x")), longText},
		"RES-03 resource text":              {content(`{"type":"resource","resource":{"uri":"u","text":"` + long + `x"}}`), longText},
		"RES-03 more than 4 MiB":            {content(mega, mega, mega, mega, text("x")), longTexts},
		"RES-03 a number":                   {content(`{"type":"text","text":1}`), badText},
		"DEV-28 four times 1 MiB":           {content(mega, mega, mega, mega), ""},
		"RES-04 8388608 B":                  {content(image(8388608)), ""},
		"RES-04 8388608 B and one":          {content(image(8388609)), longBinary},
		"RES-04 encoded":                    {content(`{"type":"image","mimeType":"a/b","data":"` + strings.Repeat("!", maxEncoded+1) + `"}`), longBinary},
		"RES-04 3 x 6 MiB":                  {content(image(6<<20), image(6<<20), image(6<<20)), longBinaries},
		"RES-04 2 x 8 MiB":                  {content(image(8<<20), image(8<<20)), ""},
		"RES-04 no padding":                 {content(`{"type":"image","mimeType":"a/b","data":"AA"}`), badBinary},
		"RES-04 URL alphabet":               {content(`{"type":"image","mimeType":"a/b","data":"AA-_"}`), badBinary},
		"RES-04 line ends":                  {content(`{"type":"image","mimeType":"a/b","data":"AA\nAA"}`), badBinary},
		"RES-04 trailing bits":              {content(`{"type":"image","mimeType":"a/b","data":"AB=="}`), badBinary},
		"RES-04 no data":                    {content(`{"type":"image","mimeType":"a/b"}`), badBinary},
		"RES-05 no MIME type":               {content(`{"type":"image","data":"AAAA"}`), badIdentity},
		"RES-05 URI of 8192":                {link(strings.Repeat("é", 8192), "n", ""), ""},
		"RES-05 URI of 8193":                {link(strings.Repeat("é", 8193), "n", ""), badIdentity},
		"RES-05 name of 256":                {link("u", strings.Repeat("é", 256), ""), ""},
		"RES-05 name of 257":                {link("u", strings.Repeat("é", 257), ""), badIdentity},
		"RES-05 blank name":                 {link("u", " \\t ", ""), badIdentity},
		"RES-05 MIME type of 257":           {link("u", "n", `,"mimeType":"`+strings.Repeat("m", 257)+`"`), badIdentity},
		"RES-05 empty MIME type":            {link("u", "n", `,"mimeType":""`), badIdentity},
		"RES-05 description of 16 KiB":      {link("u", "n", `,"description":"`+strings.Repeat("d", 16384)+`"`), ""},
		"RES-05 description of more":        {link("u", "n", `,"description":"`+strings.Repeat("d", 16385)+`"`), longDescription},
		"RES-05 no URI":                     {content(`{"type":"resource","resource":{"text":"x"}}`), badIdentity},
		"RES-06 an array":                   {json.RawMessage(`{"content":[],"structuredContent":[]}`), badStructured},
		"RES-06 null is none":               {json.RawMessage(`{"content":[],"structuredContent":null}`), ""},
		"RES-06 4 MiB with its indentation": {json.RawMessage(`{"content":[],"structuredContent":{"a":"` + strings.Repeat("x", MaxStructuredBytes-13) + `"}}`), ""},
		"RES-06 one more":                   {json.RawMessage(`{"content":[],"structuredContent":{"a":"` + strings.Repeat("x", MaxStructuredBytes-12) + `"}}`), longStructured},
		"RES-06 deep":                       {json.RawMessage(`{"content":[],"structuredContent":{"a":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}}`), longStructured},
		"RES-07 4 MiB together":             {json.RawMessage(`{"content":[` + mega + `],"structuredContent":{"a":"` + strings.Repeat("x", 3<<20) + `"}}`), longReport},
	} {
		store := newMemory()
		p, err := Normalize(t.Context(), c.raw, Options{Store: store})
		var limit *LimitError
		switch {
		case c.what == "":
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		case c.what == "malformed":
			if !errors.Is(err, ErrMalformed) {
				t.Errorf("%s: %v", name, err)
			}
		case !errors.As(err, &limit) || limit.What != c.what || len(err.Error()) >= 8<<10:
			t.Errorf("%s: %v, want %q", name, err, c.what)
		}
		// Nothing of what is refused is passed on or kept, and the call itself is answered (bridge row 2).
		if c.what != "" && (p != nil || len(store.data) != 0) {
			t.Errorf("RES-10: %s: %+v, %d stored", name, p, len(store.data))
		}
		if len(c.raw) > 1<<20 {
			continue // the race detector takes its time
		}
		if w := Wire(t.Context(), c.raw, WireOptions{}); !json.Valid(w.Result) {
			t.Errorf("RES-10: %s: no answer", name)
		}
	}
}

// TestInline: RES-09, with the vectors of section 24.
func TestInline(t *testing.T) {
	store := newMemory()
	p := normalize(t, content(text(strings.Repeat("x", 102400))), store)
	if len(p.Text) != 102400 || p.Metadata.Truncated || len(store.data) != 0 {
		t.Errorf("RES-09: result text 102400 B: %d shown, %+v", len(p.Text), p.Metadata)
	}
	full := "B3GIN" + strings.Repeat("x", 102401-8) + "3ND"
	p = normalize(t, content(text(full)), store)
	id := digest(full)
	if got := utf8.RuneCountInString(p.Text); got != 10476 {
		t.Errorf("RES-09: result text 102401 B: a preview of %d characters:\n%.400s", got, p.Text)
	}
	if a := p.Metadata.Artifacts; !p.Metadata.Truncated || len(a) != 1 || a[0].Kind != KindText || a[0].ID != id || !a[0].Persisted ||
		a[0].MimeType != "text/plain" || store.data[id] != full || store.mime[id] != "text/plain" {
		t.Errorf("RES-09: %+v", p.Metadata)
	}
	// 120 KiB: both ends, less than 16 KiB (acceptance).
	p = normalize(t, content(text("B3GIN"+strings.Repeat("é", 60<<10)+"3ND")), store)
	if len(p.Text) >= 16<<10 || !strings.Contains(p.Text, "B3GIN") ||
		!strings.HasSuffix(p.Text, "3ND") || strings.ContainsRune(p.Text, utf8.RuneError) {
		t.Errorf("RES-09, DEV-61: %d bytes: %.200s", len(p.Text), p.Text)
	}
	for shift := range 4 { // cuts are between code points (DEV-61)
		head, tail := ends(strings.Repeat("x", shift) + strings.Repeat("😀", 5000))
		if !utf8.ValidString(head) || !utf8.ValidString(tail) || len(head) <= HeadBytes-4 || len(tail) <= TailBytes-4 {
			t.Errorf("DEV-61: %d and %d bytes", len(head), len(tail))
		}
	}
	if got := normalize(t, content(text("")), nil).Text; got != noContent {
		t.Errorf("RES-07: no content: %q", got)
	}
}

// TestNotStored: RES-13. What is said of the bytes comes from the bytes.
func TestNotStored(t *testing.T) {
	other := newMemory()
	other.id = digest("other")
	failing := newMemory()
	failing.err = errors.New("s3cret")
	for name, store := range map[string]Store{"none": nil, "failing": failing, "another id": other} {
		p := normalize(t, content(`{"type":"image","mimeType":"image/png","data":"AAAA"}`), store)
		id := digest("\x00\x00\x00")
		want := "[image, 3 bytes, sha256 " + id + `, type "image/png", content omitted]`
		if a := p.Metadata.Artifacts; p.Text != want || len(a) != 1 || a[0].Persisted || a[0].ID != id || a[0].SHA256 != id || a[0].Size != 3 {
			t.Errorf("RES-13: %s: %q, %+v", name, p.Text, a)
		}
	}
}

// TestStripped: control characters are stripped and counted, not fatal (DEV-27), and redaction comes after (DEV-34).
func TestStripped(t *testing.T) {
	p := normalize(t, content(text("\x1b[31mred\x00\tTab\r\nline\x7f\u200b"), text("plain")), nil)
	if p.Text != "[31mred\tTab\nline\n\nplain" || p.Stripped != 4 {
		t.Errorf("DEV-27: %q, %d stripped", p.Text, p.Stripped)
	}
	const secret = "server-task-0815"
	store := newMemory()
	split := "server-\x00task-\u200b0815"
	raw := json.RawMessage(`{"structuredContent":{"id":"` + secret + `"},"content":[` + strings.Join([]string{
		text(strings.Repeat("y", InlineBytes) + secret + split),
		`{"type":"resource","resource":{"uri":"x://` + secret + `","blob":"` + base64.StdEncoding.EncodeToString([]byte(secret)) + `"}}`,
		`{"type":"resource_link","uri":"x","name":"` + secret + `","description":"` + secret + `"}`,
	}, ",") + `]}`)
	p, err := Normalize(t.Context(), raw, Options{Store: store, Redact: clean.NewSecrets(secret)})
	if err != nil {
		t.Fatal(err)
	}
	meta, _ := json.Marshal(p.Metadata)
	all := p.Text + string(meta)
	for _, data := range store.data {
		all += data
	}
	if len(store.data) != 2 || strings.Contains(all, secret) || !strings.Contains(all, "[redacted]") {
		t.Errorf("DEV-34: %d stored, and the id is shown", len(store.data))
	}
	for _, a := range p.Metadata.Artifacts {
		if !a.Persisted || int64(len(store.data[a.ID])) != a.Size {
			t.Errorf("DEV-34: %+v", a)
		}
	}
}

// TestErrors: RES-14, and the acceptance case of a failure with secrets.
func TestErrors(t *testing.T) {
	store := newMemory()
	raw := json.RawMessage(`{"isError":true,"_meta":{"k":"m3ta"},"content":[` +
		text("F4ILED at https://u:p@h/x with Bearer abcdef and sk-abcdefgh1234\x1b"+strings.Repeat(" z", InlineBytes)) + `]}`)
	p := normalize(t, raw, store)
	if !p.Metadata.IsError || !p.Metadata.Truncated || len(p.Text) > 4096 || len(p.Text) < 4000 || len(store.data) != 0 ||
		!strings.HasPrefix(p.Text, "F4ILED at [redacted-url] with Bearer [redacted] and [redacted]") || strings.Contains(p.Text, "m3ta") {
		t.Errorf("RES-14: %d bytes, %d stored: %.200s", len(p.Text), len(store.data), p.Text)
	}
	if p := normalize(t, json.RawMessage(`{"isError":true,"content":[]}`), nil); p.Text != noErrorText || !p.Metadata.IsError {
		t.Errorf("RES-14: an empty failure: %q", p.Text)
	}
	if p := normalize(t, json.RawMessage(`{"isError":"yes","content":[]}`), nil); p.Metadata.IsError {
		t.Error("RES-14: the error bit is a boolean")
	}
	if p := Failure("dial https://h: Bearer abc" + strings.Repeat(" x", 4096)); !p.Metadata.IsError || len(p.Text) > 4096 ||
		!strings.HasPrefix(p.Text, "Execution failed: dial [redacted-url] Bearer [redacted]") {
		t.Errorf("RES-14: thrown: %.100s", p.Text)
	}
	if p := Failure("\x00"); p.Text != "Execution failed: no reason was given" {
		t.Errorf("RES-14: thrown, empty: %q", p.Text)
	}
}

// TestSummarize: what Normalize refuses is left out of a status and named; the call has ended (bridge row 2).
func TestSummarize(t *testing.T) {
	for name, c := range map[string]struct {
		raw, want string
		truncated bool
	}{
		"plain":           {`{"content":[` + text("hi") + `]}`, "hi", false},
		"an unknown part": {`{"content":[` + text("hi") + `,{"type":"video"}]}`, "hi\n\n[part omitted: " + badPart + "]", true},
		"only structured": {`{"structuredContent":{"a":1}}`, "[structured content]\n{\n  \"a\": 1\n}", false},
		"an array":        {`{"content":[],"structuredContent":[1]}`, "[structured content]\n[omitted: " + badStructured + "]", true},
		"cut":             {`{"content":[` + text(strings.Repeat("<", 100)) + `]}`, strings.Repeat("<", 33), true},
		"failure":         {`{"content":[` + text("at https://h/x") + `],"isError":true}`, "at [redacted-url]", false},
	} {
		r, err := Summarize(json.RawMessage(c.raw), 200)
		if err != nil || r.Preview != c.want || r.Truncated != c.truncated {
			t.Errorf("%s: %+v, %v; want %q", name, r, err, c.want)
		}
	}
	if _, err := Summarize(json.RawMessage(`{"content":1}`), 200); !errors.Is(err, ErrMalformed) {
		t.Errorf("RES-01: %v", err)
	}
	r, err := Summarize(json.RawMessage(`{"content":[`+strings.Repeat(text("x")+",", 70)+text("x")+`]}`), 1000)
	if err != nil || r.Parts != 71 || !r.Truncated ||
		strings.Count(r.Preview, "x") != MaxParts || !strings.HasSuffix(r.Preview, tooManyParts+"]") {
		t.Errorf("RES-02: %+v, %v", r, err)
	}
}

// TestAllowList: RES-30, and the acceptance case of legacy metadata.
func TestAllowList(t *testing.T) {
	id := strings.Repeat("0a", 32)
	artifact := func(rest string) string { return `{"id":"` + id + `","sha256":"` + id + `",` + rest + `}` }
	good := artifact(`"kind":"image","size":3,"persisted":false`)
	raw := `{"isError":true,"truncated":1,"binaryOmitted":"true","contentCount":64,"textBytes":4194305,"structuredBytes":1.5,
		"artifactCount":-1,
		"content":"r4w","structuredContent":{},"_meta":{},"artifacts":[` + strings.Join([]string{
		good, `"x"`, artifact(`"kind":"video","size":3,"persisted":false`), artifact(`"kind":"image","size":67108865,"persisted":false`),
		artifact(`"kind":"image","size":3,"persisted":"false"`), artifact(`"kind":"image","persisted":true`),
		`{"id":"` + id + `","sha256":"` + strings.ToUpper(id) + `","kind":"image","size":3,"persisted":true}`,
		artifact(`"kind":"text","size":67108864,"persisted":true,"path":"/r4w","mimeType":"` +
			strings.Repeat("é", 300) + `","sourceUri":"` + strings.Repeat("u", 9000) + `"`),
	}, ",") + `]}`
	got, _ := json.Marshal(AllowList(json.RawMessage(raw)))
	want := `{"isError":true,"contentCount":64,"textBytes":0,"structuredBytes":0,"artifactCount":0,` +
		`"truncated":false,"binaryOmitted":false,"artifacts":[` +
		`{"id":"` + id + `","kind":"image","size":3,"sha256":"` + id + `","persisted":false},` +
		`{"id":"` + id + `","kind":"text","size":67108864,"sha256":"` + id + `","persisted":true,"mimeType":"` + strings.Repeat("é", 256) +
		`","sourceUri":"` + strings.Repeat("u", 8192) + `"}]}`
	if string(got) != want {
		t.Errorf("RES-30: got\n%.600s\nwant\n%.600s", got, want)
	}
	if strings.Contains(string(got), "path") {
		t.Error("RES-26: a path is shown, and every reader is remote")
	}
	for _, raw := range []string{`"r4w"`, `[]`, `null`, ``, `{`} {
		if m := AllowList(json.RawMessage(raw)); m != nil {
			t.Errorf("RES-30: %s: %+v", raw, m)
		}
	}
	many := AllowList(json.RawMessage(`{"artifacts":[` + strings.Repeat(good+",", 70) + good + `]}`))
	if len(many.Artifacts) != 64 {
		t.Errorf("RES-30: %d artifacts", len(many.Artifacts))
	}
}
