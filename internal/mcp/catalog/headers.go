// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	sentinelHead = "=?base64?"
	sentinelTail = "?="
)

// HeaderValue returns what "Mcp-Param-" + p.Header says for a call with these arguments, encoded. It is false when there
// is no value at the path, or null, or none that a header can say: then there is no header. arguments are well-formed
// JSON, or nil.
func HeaderValue(arguments json.RawMessage, p HeaderParam) (value string, ok bool) {
	at := jsontext.Value(arguments)
	for _, name := range p.Path {
		if at = member(at, name); at == nil {
			return "", false
		}
	}
	switch at.Kind() {
	case '"':
		text, ok := unquote(at)
		return EncodeHeaderValue(text), ok
	case 't', 'f':
		return string(at), true
	case '0':
		return decimal(string(at)), true
	}
	return "", false
}

// decimal writes an integer without fraction or exponent. Beyond the range that headers may carry (2^53-1) it stays as it
// was sent: the server judges it.
func decimal(number string) string {
	const safe = 1<<53 - 1
	if number == "-0" {
		return "0"
	}
	if !strings.ContainsAny(number, ".eE") {
		return number
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > safe {
		return number
	}
	return strconv.FormatInt(int64(f), 10)
}

// EncodeHeaderValue returns s as the value of Mcp-Name or Mcp-Param-*: visible ASCII, space and tab as they are, anything
// else, and what a recipient would take for encoded, in the Base64 sentinel (2026-07-28 transports, "Value Encoding").
func EncodeHeaderValue(s string) string {
	if isPlain(s) {
		return s
	}
	return sentinelHead + base64.StdEncoding.EncodeToString([]byte(s)) + sentinelTail
}

func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < ' ' && c != '\t') || c >= 0x7f {
			return false
		}
	}
	return strings.Trim(s, " \t") == s && (!strings.HasPrefix(s, sentinelHead) || !strings.HasSuffix(s, sentinelTail))
}
