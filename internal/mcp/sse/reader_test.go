// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package sse

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

type got struct {
	Events []string
	LastID string
	Retry  time.Duration
}

func readAll(t testing.TB, in io.Reader, maxBytes int) (got, error) {
	t.Helper()
	r := NewReader(in, maxBytes)
	var out got
	for {
		event, err := r.Next()
		if err != nil {
			out.LastID, out.Retry = r.LastID(), r.Retry()
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return out, err
		}
		out.Events = append(out.Events, event.Name+"|"+string(event.Data))
	}
}

func TestReader(t *testing.T) {
	for name, tc := range map[string]struct {
		in   string
		want got
	}{
		"one event":              {"data: a\n\n", got{Events: []string{"|a"}}},
		"no space":               {"data:a\n\n", got{Events: []string{"|a"}}},
		"only one space goes":    {"data:  a\n\n", got{Events: []string{"| a"}}},
		"lines join":             {"data: a\ndata: b\n\n", got{Events: []string{"|a\nb"}}},
		"an empty line joins":    {"data: a\ndata\ndata: b\n\n", got{Events: []string{"|a\n\nb"}}},
		"CRLF":                   {"data: a\r\ndata: b\r\n\r\n", got{Events: []string{"|a\nb"}}},
		"CR":                     {"data: a\rdata: b\r\r", got{Events: []string{"|a\nb"}}},
		"byte order mark":        {"\xef\xbb\xbfdata: a\n\n", got{Events: []string{"|a"}}},
		"only a byte order mark": {"\xef\xbb\xbf", got{}},
		"named":                  {"event: x\ndata: a\n\ndata: b\n\n", got{Events: []string{"x|a", "|b"}}},
		"comment":                {": hello\n\n:\n\ndata: a\n\n", got{Events: []string{"|a"}}},
		"unknown field":          {"foo: a\nbar\ndata: a\n\n", got{Events: []string{"|a"}}},
		"priming event":          {"id: 7\nretry: 500\ndata: \n\n", got{LastID: "7", Retry: 500 * time.Millisecond}},
		"id stays":               {"id: 7\ndata: a\n\ndata: b\n\n", got{Events: []string{"|a", "|b"}, LastID: "7"}},
		"id is reset":            {"id: 7\n\nid\n\n", got{}},
		"id counts when complete": {
			"id: 7\ndata: a\n\nid: 8\ndata: b\n",
			got{Events: []string{"|a"}, LastID: "7"},
		},
		"id with NUL":      {"id: 7\x00\n\n", got{}},
		"id too long":      {"id: " + strings.Repeat("x", MaxIDBytes+1) + "\n\n", got{}},
		"retry garbage":    {"retry: -1\nretry: 1s\nretry: 99999999999999999999\n\n", got{}},
		"unfinished event": {"data: a\n", got{}},
		"unfinished line":  {"data: a\n\ndata: b", got{Events: []string{"|a"}}},
		"long line":        {"data: " + strings.Repeat("x", 5000) + "\n\n", got{Events: []string{"|" + strings.Repeat("x", 5000)}}},
	} {
		for way, wrap := range map[string]func(io.Reader) io.Reader{
			"whole": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader,
		} {
			t.Run(name+"/"+way, func(t *testing.T) {
				out, err := readAll(t, wrap(strings.NewReader(tc.in)), 1<<20)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tc.want, out); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
			})
		}
	}
}

// endless yields the same bytes for ever, and fails the test if a reader swallows too many of them.
type endless struct {
	t    *testing.T
	unit string
	read int
}

func (e *endless) Read(p []byte) (int, error) {
	if e.read += len(p); e.read > 1<<20 {
		e.t.Error("the reader does not stop at its bound")
		return 0, io.ErrUnexpectedEOF
	}
	return copy(p, strings.Repeat(e.unit, len(p)/len(e.unit)+1)), nil
}

func TestReaderBounds(t *testing.T) {
	for name, unit := range map[string]string{
		"endless line":       "x",
		"endless data lines": "data: xxxxxxxx\n",
		"endless empty data": "data\n",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := readAll(t, &endless{t: t, unit: unit}, 4096); !errors.Is(err, ErrTooLarge) {
				t.Errorf("got %v, want ErrTooLarge", err)
			}
		})
	}
}

// An event must come out before the next one begins, also when its lines end in CR.
func TestReaderDoesNotWait(t *testing.T) {
	in, out := io.Pipe()
	go func() { _, _ = out.Write([]byte("data: a\r\n\r")) }()
	event, err := NewReader(in, 1024).Next()
	if err != nil || string(event.Data) != "a" {
		t.Errorf("got %q, %v", event.Data, err)
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("id: 1\nretry: 5\nevent: message\ndata: {\"a\":1}\n\n"), 3)
	f.Add([]byte("\xef\xbb\xbf:x\r\rdata\rdata: y\r\n\r\n"), 1)
	f.Fuzz(func(t *testing.T, in []byte, _ int) {
		const maxBytes = 256
		whole, wholeErr := readAll(t, strings.NewReader(string(in)), maxBytes)
		pieces, piecesErr := readAll(t, iotest.OneByteReader(strings.NewReader(string(in))), maxBytes)
		if (wholeErr == nil) != (piecesErr == nil) {
			t.Fatalf("whole: %v, byte by byte: %v", wholeErr, piecesErr)
		}
		if diff := cmp.Diff(whole, pieces); diff != "" {
			t.Fatalf("how the bytes arrive changes what is read:\n%s", diff)
		}
		for _, e := range whole.Events {
			if len(e) > maxBytes+MaxIDBytes+1 {
				t.Fatalf("event of %d bytes", len(e))
			}
		}
	})
}
