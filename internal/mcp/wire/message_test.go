// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"errors"
	"testing"
)

func TestParseKeepsBytes(t *testing.T) {
	in := `{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/call","params":{"b":1.0,"a":{"z":9007199254740993,"é":"\u00e9"}}}`
	m, err := Parse([]byte(in))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(m.Append(nil)); got != in {
		t.Errorf("relayed message differs:\n got %s\nwant %s", got, in)
	}
}

func TestParseRefuses(t *testing.T) {
	for name, in := range map[string]string{
		"duplicate member":         `{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}`,
		"duplicate member, nested": `{"jsonrpc":"2.0","id":1,"method":"a","params":{"name":"x","name":"y"}}`,
		"other case":               `{"jsonrpc":"2.0","id":1,"METHOD":"a"}`,
		"batch":                    `[{"jsonrpc":"2.0","id":1,"method":"a"}]`,
		"no version":               `{"id":1,"method":"a"}`,
		"fractional id":            `{"jsonrpc":"2.0","id":1.5,"method":"a"}`,
		"object id":                `{"jsonrpc":"2.0","id":{},"method":"a"}`,
		"array params":             `{"jsonrpc":"2.0","id":1,"method":"a","params":[1]}`,
		"result and error":         `{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"x"}}`,
		"method and result":        `{"jsonrpc":"2.0","id":1,"method":"a","result":{}}`,
		"neither":                  `{"jsonrpc":"2.0","id":1}`,
		"result without id":        `{"jsonrpc":"2.0","result":{}}`,
		"error without code":       `{"jsonrpc":"2.0","id":1,"error":{"message":"x"}}`,
		"error as string":          `{"jsonrpc":"2.0","id":1,"error":"insufficient_scope"}`,
		"text after":               `{"jsonrpc":"2.0","id":1,"method":"a"} x`,
		"invalid UTF-8":            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}",
		"empty":                    "",
		"null":                     "null",
	} {
		if m, err := Parse([]byte(in)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: got %+v, %v; want ErrMalformed", name, m, err)
		}
	}
}

func TestObjectEdits(t *testing.T) {
	o, err := ParseObject([]byte(`{"name":"x","arguments":{"n":1e400},"_meta":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	got := string(o.With("name", Quote("y<")).Without("_meta").Raw())
	if want := `{"name":"y<","arguments":{"n":1e400}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if name, _ := o.String("name"); name != "x" {
		t.Errorf("With changed its receiver: %q", name)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":"a","method":"x","params":{"a":[1,{"b":null}]}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no","data":[]}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := Parse(b)
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		again, err := Parse(m.Append(nil))
		if err != nil {
			t.Fatalf("a relayed message no longer parses: %v", err)
		}
		if !bytes.Equal(again.Append(nil), m.Append(nil)) {
			t.Fatal("relaying twice differs from relaying once")
		}
	})
}
