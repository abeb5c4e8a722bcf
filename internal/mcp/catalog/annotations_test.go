// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestHeaderParams goes through "Custom Headers from Tool Parameters", "Schema Extension" (2026-07-28 transports).
func TestHeaderParams(t *testing.T) {
	root := func(properties string) string { return `{"type":"object","properties":{` + properties + `}}` }
	property := func(kind, header string) string {
		return root(`"p":{"type":` + kind + `,"x-mcp-header":` + header + `}`)
	}
	var many []string
	for i := range maxHeaderParams + 1 {
		many = append(many, fmt.Sprintf(`"p%d":{"type":"string","x-mcp-header":"H%d"}`, i, i))
	}
	for name, c := range map[string]struct {
		schema string
		params []HeaderParam
		want   string
	}{
		"none":        {schema: root(`"p":{"type":"string"}`)},
		"string":      {schema: property(`"string"`, `"Region"`), params: []HeaderParam{{"Region", []string{"p"}}}},
		"integer":     {schema: property(`"integer"`, `"R"`), params: []HeaderParam{{"R", []string{"p"}}}},
		"boolean":     {schema: property(`"boolean"`, `"R"`), params: []HeaderParam{{"R", []string{"p"}}}},
		"every tchar": {schema: property(`"string"`, "\"aZ09!#$%&'*+-.^_`|~\""), params: []HeaderParam{{"aZ09!#$%&'*+-.^_`|~", []string{"p"}}}},
		"nested": {
			schema: root(`"o":{"type":"object","properties":{"i":{"properties":{"s":{"type":"string","x-mcp-header":"S"}}}}}`),
			params: []HeaderParam{{"S", []string{"o", "i", "s"}}},
		},
		"escaped keyword":                    {schema: root(`"p":{"type":"string","x-mcp-heade\u0072":"R"}`), params: []HeaderParam{{"R", []string{"p"}}}},
		"a property called like the keyword": {schema: root(`"x-mcp-header":{"type":"string"}`)},
		"a property called properties": {
			schema: root(`"properties":{"type":"string","x-mcp-header":"P"}`), params: []HeaderParam{{"P", []string{"properties"}}},
		},
		"in an instance": {schema: root(`"p":{"default":{"x-mcp-header":"\n"},"enum":[{"x-mcp-header":1}],"const":{"x-mcp-header":1}}`)},
		"two":            {schema: root(`"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"B"}`), params: []HeaderParam{{"A", []string{"a"}}, {"B", []string{"b"}}}},

		"empty":                       {schema: property(`"string"`, `""`), want: droppedHeaderName},
		"not a string":                {schema: property(`"string"`, `1`), want: droppedHeaderName},
		"null":                        {schema: property(`"string"`, `null`), want: droppedHeaderName},
		"space":                       {schema: property(`"string"`, `"a b"`), want: droppedHeaderName},
		"colon":                       {schema: property(`"string"`, `"a:b"`), want: droppedHeaderName},
		"CRLF":                        {schema: property(`"string"`, `"a\r\nb"`), want: droppedHeaderName},
		"not ASCII":                   {schema: property(`"string"`, `"é"`), want: droppedHeaderName},
		"long":                        {schema: property(`"string"`, `"`+strings.Repeat("x", 129)+`"`), want: droppedHeaderName},
		"number":                      {schema: property(`"number"`, `"R"`), want: droppedHeaderType},
		"object":                      {schema: property(`"object"`, `"R"`), want: droppedHeaderType},
		"several types":               {schema: property(`["string","null"]`, `"R"`), want: droppedHeaderType},
		"no type":                     {schema: root(`"p":{"x-mcp-header":"R"}`), want: droppedHeaderType},
		"root":                        {schema: `{"type":"object","x-mcp-header":"R"}`, want: droppedHeaderType},
		"twice":                       {schema: root(`"a":{"type":"string","x-mcp-header":"R"},"b":{"type":"string","x-mcp-header":"r"}`), want: droppedHeaderTwice},
		"twice, nested":               {schema: root(`"a":{"type":"string","x-mcp-header":"R"},"b":{"properties":{"c":{"type":"string","x-mcp-header":"R"}}}`), want: droppedHeaderTwice},
		"many":                        {schema: root(strings.Join(many, ",")), want: droppedHeaderCount},
		"items":                       {schema: root(`"a":{"items":{"type":"string","x-mcp-header":"R"}}`), want: droppedHeaderPlace},
		"prefixItems":                 {schema: root(`"a":{"prefixItems":[{"type":"string","x-mcp-header":"R"}]}`), want: droppedHeaderPlace},
		"oneOf":                       {schema: `{"type":"object","oneOf":[` + property(`"string"`, `"R"`) + `]}`, want: droppedHeaderPlace},
		"allOf in another":            {schema: root(`"a":{"allOf":[{"properties":{"b":{"type":"string","x-mcp-header":"R"}}}]}`), want: droppedHeaderPlace},
		"not":                         {schema: `{"type":"object","not":` + property(`"string"`, `"R"`) + `}`, want: droppedHeaderPlace},
		"then":                        {schema: `{"type":"object","then":` + property(`"string"`, `"R"`) + `}`, want: droppedHeaderPlace},
		"$defs":                       {schema: `{"type":"object","$defs":{"d":` + property(`"string"`, `"R"`) + `}}`, want: droppedHeaderPlace},
		"a definition called default": {schema: `{"type":"object","$defs":{"default":` + property(`"string"`, `"R"`) + `}}`, want: droppedHeaderPlace},
		"patternProperties":           {schema: `{"type":"object","patternProperties":{".":{"type":"string","x-mcp-header":"R"}}}`, want: droppedHeaderPlace},
		"additionalProperties":        {schema: `{"type":"object","additionalProperties":{"type":"string","x-mcp-header":"R"}}`, want: droppedHeaderPlace},
	} {
		tool := named("t")
		tool = strings.Replace(tool, anyObject, c.schema, 1)
		got := read(t, tool)
		if c.want != "" {
			if diff := cmp.Diff([]DroppedTool{{"t", c.want}}, got.Dropped); diff != "" {
				t.Errorf("%s: dropped (-want +got):\n%s", name, diff)
			}
			lenient := NewBuilder()
			lenient.LenientHeaders = true
			_, err := lenient.AddPage(list(tool))
			if kept := lenient.Catalog(); err != nil || len(kept.Tools) != 1 || kept.Tools[0].HeaderParams != nil {
				t.Errorf("%s: a lenient builder did not keep it without parameters", name)
			}
			continue
		}
		if len(got.Tools) != 1 {
			t.Errorf("%s: dropped: %v", name, got.Dropped)
		} else if diff := cmp.Diff(c.params, got.Tools[0].HeaderParams); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestHeaderValue(t *testing.T) {
	for name, c := range map[string]struct {
		arguments, path string
		want            string
		ok              bool
	}{
		"string":                {`{"a":"us-west1"}`, "a", "us-west1", true},
		"escaped":               {`{"\u0061":"\u0062"}`, "a", "b", true},
		"not ASCII":             {`{"a":"Hello, 世界"}`, "a", "=?base64?SGVsbG8sIOS4lueVjA==?=", true},
		"empty":                 {`{"a":""}`, "a", "", true},
		"integer":               {`{"a":-7}`, "a", "-7", true},
		"integer with fraction": {`{"a":42.0}`, "a", "42", true},
		"integer with exponent": {`{"a":1E3}`, "a", "1000", true},
		"minus zero":            {`{"a":-0}`, "a", "0", true},
		"large integer":         {`{"a":9007199254740993}`, "a", "9007199254740993", true},
		"no integer":            {`{"a":1.5}`, "a", "1.5", true},
		"true":                  {`{"a":true}`, "a", "true", true},
		"false":                 {`{"a":false}`, "a", "false", true},
		"nested":                {`{"x":{"a":1},"o":{"a":2}}`, "o.a", "2", true},
		"null":                  {`{"a":null}`, "a", "", false},
		"absent":                {`{"b":1}`, "a", "", false},
		"absent object":         {`{"b":1}`, "o.a", "", false},
		"not an object":         {`{"o":"a"}`, "o.a", "", false},
		"object":                {`{"a":{}}`, "a", "", false},
		"array":                 {`{"a":["x"]}`, "a", "", false},
		"no arguments":          {``, "a", "", false},
	} {
		got, ok := HeaderValue(json.RawMessage(c.arguments), HeaderParam{Header: "H", Path: strings.Split(c.path, ".")})
		if got != c.want || ok != c.ok {
			t.Errorf("%s: got %q, %v; want %q, %v", name, got, ok, c.want, c.ok)
		}
	}
}

// TestEncodeHeaderValue has the examples of "Value Encoding" (2026-07-28 transports).
func TestEncodeHeaderValue(t *testing.T) {
	for in, want := range map[string]string{
		"us-west1":           "us-west1",
		"a b\tc":             "a b\tc",
		"Hello, 世界":          "=?base64?SGVsbG8sIOS4lueVjA==?=",
		" padded ":           "=?base64?IHBhZGRlZCA=?=",
		"tab\t":              "=?base64?dGFiCQ==?=",
		"line1\nline2":       "=?base64?bGluZTEKbGluZTI=?=",
		"=?base64?literal?=": "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=",
		"=?base64?literal":   "=?base64?literal",
		"a\x7f":              "=?base64?YX8=?=",
		"":                   "",
	} {
		if got := EncodeHeaderValue(in); got != want {
			t.Errorf("EncodeHeaderValue(%q) = %q, want %q", in, got, want)
		}
	}
}
