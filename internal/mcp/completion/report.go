// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package completion

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/unicode/norm"

	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// The bounds of a report (CMP-10, CMP-11).
const (
	MaxValues         = 100
	MaxSourceBytes    = 1 << 20 // what is read of the values
	MaxCandidateBytes = 4096
	MaxReportBytes    = 65536

	maxSafeInteger = 1<<53 - 1
)

// ErrMalformed says that an answer is no completion, or has more than 100 values (CMP-10).
var ErrMalformed = errors.New("the answer is no completion of at most 100 texts")

// Report is what may be shown of an answer (CMP-14).
type Report struct {
	// Values are the candidates: cleaned, different, in the server's order, each <= 4096 bytes, together <= 65536. A
	// text of which nothing was left stays as an empty one, as the requirements' vector has it (CMP-13).
	Values []string `json:"values"`
	// Total is how many the server has; nil when it gave no safe integer >= 0.
	Total *int64 `json:"total,omitempty"`
	// HasMore: the server said so, or Truncated, or Total is larger than what is here.
	HasMore bool `json:"hasMore"`
	// SourceCount and SourceBytes count what the server sent, ReportBytes what is in Values.
	SourceCount int `json:"sourceCount"`
	SourceBytes int `json:"sourceBytes"`
	ReportBytes int `json:"reportBytes"`
	// SHA256 of the completion object as sent, hex.
	SHA256 string `json:"sha256"`
	// Truncated: a value was cut, or there are fewer than were sent, be it for being equal.
	Truncated bool `json:"truncated"`
}

// NewReport reports on the result of completion/complete (CMP-10 to CMP-14). Its error is ErrMalformed.
func NewReport(raw json.RawMessage) (*Report, error) {
	result, err := wire.ParseObject(raw)
	if err != nil {
		return nil, ErrMalformed
	}
	sent := result.Get("completion")
	completion, err := wire.ParseObject(sent)
	if err != nil {
		return nil, ErrMalformed
	}
	values, err := readValues(completion.Get("values"))
	if err != nil {
		return nil, ErrMalformed
	}
	sum := sha256.Sum256(sent)
	r := &Report{Values: []string{}, SourceCount: len(values), SHA256: hex.EncodeToString(sum[:])}
	r.take(values)
	r.Truncated = r.Truncated || len(r.Values) < len(values)
	r.Total = safeInteger(completion.Get("total"))
	r.HasMore = string(completion.Get("hasMore")) == "true" || r.Truncated ||
		(r.Total != nil && *r.Total > int64(len(r.Values)))
	return r, nil
}

// readValues reads an array of at most MaxValues texts, and stops at one more.
func readValues(list json.RawMessage) ([]string, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(list))
	if dec.PeekKind() != '[' {
		return nil, ErrMalformed
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, ErrMalformed
	}
	var values []string
	for dec.PeekKind() == '"' && len(values) < MaxValues {
		token, err := dec.ReadToken()
		if err != nil {
			return nil, ErrMalformed
		}
		values = append(values, token.String())
	}
	if dec.PeekKind() != ']' {
		return nil, ErrMalformed
	}
	return values, nil
}

// take cleans what was sent and keeps what fits.
func (r *Report) take(values []string) {
	seen := map[string]bool{}
	left := MaxSourceBytes
	full := false
	for _, value := range values {
		r.SourceBytes += len(value)
		if full {
			continue
		}
		source := cut(value, left)
		left -= len(source)
		if full = len(source) < len(value); full && source == "" {
			continue
		}
		cleaned := sanitize(source)
		candidate := cut(cleaned, MaxCandidateBytes)
		r.Truncated = r.Truncated || full || len(candidate) < len(cleaned)
		if seen[candidate] {
			continue
		}
		if r.ReportBytes+len(candidate) > MaxReportBytes {
			full = true
			continue
		}
		seen[candidate] = true
		r.ReportBytes += len(candidate)
		r.Values = append(r.Values, strings.Clone(candidate)) // not to keep a long value alive
	}
}

// cut returns the longest beginning of whole code points that fits (DEV-61).
func cut(s string, maxBytes int) string {
	if len(s) <= maxBytes {
		return s
	}
	for maxBytes > 0 && !utf8.RuneStart(s[maxBytes]) {
		maxBytes--
	}
	return s[:maxBytes]
}

// sanitize applies CMP-12: NFKC without what cannot be seen. It is normalised once more, for what was taken out may have
// stood between characters that compose.
func sanitize(s string) string {
	seen := strings.Map(func(r rune) rune {
		if isControl(r) || unicode.In(r, unicode.Cf, unicode.Co, unicode.Cn) {
			return -1
		}
		return r
	}, norm.NFKC.String(s))
	return norm.NFKC.String(seen)
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// safeInteger returns a number that is an integer of 0 to 2^53-1, in whatever notation, and otherwise nil.
func safeInteger(value json.RawMessage) *int64 {
	n, err := strconv.ParseFloat(string(value), 64)
	if err != nil || n != math.Trunc(n) || n < 0 || n > maxSafeInteger {
		return nil
	}
	i := int64(n)
	return &i
}
