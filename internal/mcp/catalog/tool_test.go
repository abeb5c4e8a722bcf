// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"testing"
)

func TestSignature(t *testing.T) {
	sign := func(tool string) string { return read(t, tool).Tools[0].Signature }
	const (
		plain = `{"name":"t","description":"d","inputSchema":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"number"}}}}`
		// Golden vectors (requirements, section 24).
		vector         = "ac58ac0101fd7a8bf07512b2951958f6ea440c20ec94c8cae0fb5639ee3a1aa6"
		requiredVector = "bd1472af06442a1383b2c0b88f04e7117a2ef17d9923ac592899dc859e854b18"
	)
	for name, c := range map[string]struct {
		tool string
		want string // empty for anything but vector
	}{
		"CAT-19 vector":               {plain, vector},
		"CAT-19 vector, task support": {plain[:len(plain)-1] + `,"execution":{"taskSupport":"required"}}`, requiredVector},
		"CAT-19 order of keys": {`{"inputSchema":{"properties":{"b":{"type":"number"},"a":{"type":"string"}},"type":"object"},
			"description":"d","name":"t"}`, vector},
		"CAT-19 escapes":                      {`{"name":"\u0074","description":"\u0064","inputSchema":{"type":"obj\u0065ct","properties":{"a":{"type":"string"},"b":{"type":"number"}}}}`, vector},
		"CAT-18 other fields are not in it":   {plain[:len(plain)-1] + `,"title":"T","annotations":{"readOnlyHint":true},"_meta":{}}`, vector},
		"CAT-18 unknown task support":         {plain[:len(plain)-1] + `,"execution":{"taskSupport":"maybe"}}`, vector},
		"CAT-18 task support of another type": {plain[:len(plain)-1] + `,"execution":[]}`, vector},
		"CAT-19 description":                  {described("e"), ""},
	} {
		if got := sign(c.tool); (got == vector) != (c.want == vector) || (c.want != "" && got != c.want) {
			t.Errorf("%s: got %s", name, got)
		}
	}
	for name, c := range map[string]struct {
		a, b string
		same bool
	}{
		"CAT-19 number forms":     {`{"type":"object","maximum":1.0,"minimum":1e2}`, `{"type":"object","maximum":1,"minimum":100}`, true},
		"CAT-19 order of arrays":  {`{"type":"object","required":["a","b"]}`, `{"type":"object","required":["b","a"]}`, false},
		"CAT-19 beyond 2^53":      {`{"type":"object","maximum":9007199254740992}`, `{"type":"object","maximum":9007199254740993}`, false},
		"CAT-19 sorted by UTF-16": {`{"type":"object","\ufb33":1,"😀":2}`, `{"😀":2,"\ufb33":1,"type":"object"}`, true},
	} {
		if got := sign(schemed(c.a)) == sign(schemed(c.b)); got != c.same {
			t.Errorf("%s: same = %v", name, got)
		}
	}
}

// TestSignatureQuotes compares the parts that are quoted here with the canonical form.
func TestSignatureQuotes(t *testing.T) {
	text := "\"\\/\b\f\n\r\t\x01\x1f<>&\u2028é😀\x7f"
	encoded, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	// In JavaScript: JSON.stringify of the same string.
	const canonical = `"\"\\/\b\f\n\r\t\u0001\u001f<>&` + "\u2028é😀\x7f" + `"`
	sum := sha256.Sum256([]byte(`{"description":` + canonical + `,"inputSchema":{"type":"object"},"name":"t"}`))
	tool := read(t, `{"name":"t","description":`+string(encoded)+`,"inputSchema":{"type":"object"}}`).Tools[0]
	if tool.Signature != hex.EncodeToString(sum[:]) {
		t.Error("the description is not in its canonical form")
	}
}

func TestToolDigest(t *testing.T) {
	tool := read(t, named("t")).Tools[0]
	sum := sha256.Sum256(tool.Raw)
	if want := hex.EncodeToString(sum[:])[:32]; tool.Digest != want {
		t.Errorf("got %s, want %s", tool.Digest, want)
	}
}

func TestWireAs(t *testing.T) {
	for name, c := range map[string]struct{ raw, want string }{
		"first":                  {`{"name":"t","inputSchema":{"type":"object"}}`, `{"name":"x<\"","inputSchema":{"type":"object"}}`},
		"last, bytes kept":       {`{ "inputSchema" : {"type":"object","n":1.0} , "name" : "t" }`, `{ "inputSchema" : {"type":"object","n":1.0} , "name" : "x<\"" }`},
		"nested names":           {`{"inputSchema":{"name":"t","type":"object"},"name":"t","annotations":{"name":"t"}}`, `{"inputSchema":{"name":"t","type":"object"},"name":"x<\"","annotations":{"name":"t"}}`},
		"escaped key and value":  {`{"n\u0061me":"\u0074","inputSchema":{"type":"object"}}`, `{"n\u0061me":"x<\"","inputSchema":{"type":"object"}}`},
		"a brace within strings": {`{"title":"\"}{","name":"t","inputSchema":{"type":"object"}}`, `{"title":"\"}{","name":"x<\"","inputSchema":{"type":"object"}}`},
	} {
		tool := read(t, c.raw).Tools[0]
		if got := string(tool.WireAs(`x<"`)); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
		if got, want := tool.wireLen("other"), len(tool.WireAs("other")); got != want {
			t.Errorf("%s: wireLen = %d, want %d", name, got, want)
		}
		byHand := &Tool{Name: "t", Raw: tool.Raw}
		if got := string(byHand.WireAs(`x<"`)); got != c.want {
			t.Errorf("%s: made by hand: got %s, want %s", name, got, c.want)
		}
	}
}
