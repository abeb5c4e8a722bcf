// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestCheckOutput: a result whose tool has an output schema is compared with it; nothing follows but a count (CON-20,
// bridge row 2). Each tool has a schema of its own, whichever page it was listed on (DEV-53).
func TestCheckOutput(t *testing.T) {
	person := `{"type":"object","properties":{"name":{"type":"string","format":"email","pattern":"^[a-z ]+$"},
		"age":{"$ref":"#/$defs/age"}},"required":["name"],"$defs":{"age":{"type":"integer","minimum":0}}}`
	for name, c := range map[string]struct {
		schema, result string
		want           Verdict
	}{
		"CON-20 matches":               {person, `{"content":[],"structuredContent":{"name":"ann","age":9007199254740993}}`, Matches},
		"CON-20 mismatch":              {person, `{"content":[],"structuredContent":{"name":"ann","age":-1}}`, Mismatch},
		"CON-20 pattern":               {person, `{"structuredContent":{"name":"Ann"}}`, Mismatch},
		"CON-20 missing":               {person, `{"content":[]}`, Missing},
		"CON-20 a failure":             {person, `{"content":[],"isError":true}`, Matches},
		"CON-20 a failure, mismatched": {person, `{"content":[],"isError":true,"structuredContent":{}}`, Matches},
		"DEV-53 another tool's":        {`{"type":"object","required":["b"]}`, `{"structuredContent":{"name":"ann"}}`, Mismatch},
		"any JSON type":                {`{"type":["array","null"]}`, `{"structuredContent":null}`, Matches},
		"draft 7":                      {`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}]}`, `{"structuredContent":[1]}`, Mismatch},
		"not an object":                {person, `[]`, Unchecked},
		"no schema":                    {`{"type":1}`, `{"structuredContent":{}}`, Unchecked},
		"a reference to a file":        {`{"$ref":"file:///etc/passwd"}`, `{"structuredContent":{}}`, Unchecked},
		"a reference to an address":    {`{"$ref":"http://127.0.0.1:1/x"}`, `{"structuredContent":{}}`, Unchecked},
		"an unknown dialect":           {`{"$schema":"http://127.0.0.1:1/x"}`, `{"structuredContent":{}}`, Unchecked},
		"a dynamic reference":          {`{"$dynamicRef":"#a"}`, `{"structuredContent":{}}`, Unchecked},
		"a lookahead":                  {`{"pattern":"(?=a)"}`, `{"structuredContent":"a"}`, Unchecked},
		"too large":                    {`{"description":"` + strings.Repeat("x", maxSchemaBytes) + `"}`, `{"structuredContent":{}}`, Unchecked},
		"too deep":                     {strings.Repeat(`{"not":`, 80) + "true" + strings.Repeat("}", 80), `{"structuredContent":{}}`, Unchecked},
		"a deep value":                 {`{}`, `{"structuredContent":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}`, Unchecked},
		"a huge exponent":              {`{"minimum":1}`, `{"structuredContent":1e999999999}`, Unchecked},
		"a huge exponent, in a schema": {`{"minimum":1e999999999}`, `{"structuredContent":1}`, Unchecked},
		"a circle":                     {`{"$ref":"#"}`, `{"structuredContent":1}`, Mismatch},
	} {
		if got := CheckOutput(t.Context(), NewSchema(json.RawMessage(c.schema)), json.RawMessage(c.result)); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

// TestCheckTakesBounded: no schema keeps a check running, and no value makes it fill the memory.
func TestCheckTakesBounded(t *testing.T) {
	branching := func(keyword, leaf string) string {
		var b strings.Builder
		b.WriteString(`{"$ref":"#/$defs/l0","$defs":{`)
		for i := range 60 {
			fmt.Fprintf(&b, `"l%d":{%s},`, i, strings.ReplaceAll(keyword, "NEXT", fmt.Sprintf(`{"$ref":"#/$defs/l%d"}`, i+1)))
		}
		return b.String() + `"l60":` + leaf + `}}`
	}
	for name, c := range map[string]struct{ schema, value string }{
		"all match":          {branching(`"allOf":[NEXT,NEXT]`, `{}`), `{}`},
		"none matches":       {branching(`"anyOf":[NEXT,NEXT]`, `{"type":"string"}`), `{}`},
		"dependent, failing": {branching(`"dependentSchemas":{"p":{"not":NEXT},"q":{"not":NEXT}}`, `{"type":"string"}`), `{"p":1,"q":1}`},
		"old dependencies":   {`{"$schema":"http://json-schema.org/draft-07/schema#",` + branching(`"dependencies":{"p":{"not":NEXT},"q":{"not":NEXT}}`, `{"type":"string"}`)[1:], `{"p":1,"q":1}`},
		"conditions":         {branching(`"if":NEXT,"then":NEXT,"else":NEXT`, `{"type":"string"}`), `{}`},
		"not":                {branching(`"not":{"anyOf":[{"not":NEXT},{"not":NEXT}]}`, `{}`), `{}`},
		"unevaluated":        {branching(`"oneOf":[NEXT,NEXT],"unevaluatedProperties":false`, `{"type":"string"}`), `{"p":1}`},
	} {
		schema, start := NewSchema(json.RawMessage(c.schema)), time.Now()
		got := CheckOutput(t.Context(), schema, json.RawMessage(`{"structuredContent":`+c.value+`}`))
		if took := time.Since(start); took > 10*maxCheck {
			t.Errorf("%s: took %s", name, took)
		}
		if name == "all match" && got != Unchecked {
			t.Errorf("%s: %s", name, got)
		}
		// What ended early leaves the schema usable.
		if again := CheckOutput(t.Context(), schema, json.RawMessage(`{"isError":true}`)); again != Matches {
			t.Errorf("%s: then %s", name, again)
		}
	}
	many := `{"structuredContent":[` + strings.Repeat("1,", 1<<18) + `1]}`
	schema := NewSchema(json.RawMessage(`{"items":{"type":"string"}}`))
	if got := CheckOutput(t.Context(), schema, json.RawMessage(many)); got != Mismatch {
		t.Errorf("a long array: %s", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	schema = NewSchema(json.RawMessage(branching(`"allOf":[NEXT,NEXT]`, `{}`)))
	if got := CheckOutput(ctx, schema, json.RawMessage(`{"structuredContent":1}`)); got != Unchecked {
		t.Errorf("cancelled: %s", got)
	}
	// The largest schemas compile in bounded time.
	var b strings.Builder
	b.WriteString(`{"properties":{"a":{}`)
	for i := range maxSchemas - 3 {
		fmt.Fprintf(&b, `,"%d":{}`, i)
	}
	start := time.Now()
	schema = NewSchema(json.RawMessage(b.String() + "}}"))
	if got := CheckOutput(t.Context(), schema, json.RawMessage(`{"structuredContent":{}}`)); got != Matches {
		t.Errorf("the largest schema: %s", got)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("the largest schema: took %s", took)
	}
}
