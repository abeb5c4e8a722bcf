// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

func TestLines(t *testing.T) {
	const good = `{"jsonrpc":"2.0","method":"x"}`
	for name, tc := range map[string]struct {
		in   string
		want error
	}{
		"one":              {good + "\n", nil},
		"CRLF and blanks":  {"\r\n \n" + good + "\r\n", nil},
		"noise":            {strings.Repeat("no\n", maxBadLines) + good + "\n", nil},
		"more noise":       {strings.Repeat("no\n", maxBadLines+1) + good + "\n", &ProtocolError{}},
		"as long as it is": {good + strings.Repeat(" ", 100-len(good)) + "\n", nil},
		"longer":           {good + strings.Repeat(" ", 101-len(good)) + "\n", &ProtocolError{}},
		"no end":           {good, &NetworkError{}},
		"nothing":          {"", &NetworkError{}},
	} {
		m, err := newLines(strings.NewReader(tc.in), 100).next()
		if tc.want == nil && (err != nil || m.Method != "x") || tc.want != nil && !sameType(err, tc.want) {
			t.Errorf("%s: %v, %v", name, m, err)
		}
	}
	l := newLines(strings.NewReader(strings.Repeat(strings.Repeat("no\n", maxBadLines)+good+"\n", 3)), 100)
	for range 3 {
		if _, err := l.next(); err != nil {
			t.Errorf("noise between messages: %v", err)
		}
	}
}

// FuzzLines reads anything, however it is cut, to one of two ends, and never a message that is not in it.
func FuzzLines(f *testing.F) {
	f.Add([]byte("{\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n"), 3)
	f.Add([]byte("\n\r\n{}\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":[1]}}"), 1)
	f.Add(bytes.Repeat([]byte("x\n"), 120), 7)
	f.Fuzz(func(t *testing.T, in []byte, cut int) {
		l := newLines(&cutting{in: in, n: max(cut, 1)}, 512)
		for {
			m, err := l.next()
			if err != nil {
				if !sameType(err, &NetworkError{}) && !sameType(err, &ProtocolError{}) {
					t.Fatalf("%T", err)
				}
				return
			}
			if again, err := wire.Parse(m.Append(nil)); err != nil || again.Method != m.Method {
				t.Fatalf("%v does not survive", m)
			}
		}
	})
}

// cutting reads n bytes at a time.
type cutting struct {
	in []byte
	n  int
}

func (c *cutting) Read(b []byte) (int, error) {
	if len(c.in) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), c.n)], c.in)
	c.in = c.in[n:]
	return n, nil
}

// FuzzDiscover reads any result of server/discover to a description or a typed error.
func FuzzDiscover(f *testing.F) {
	f.Add([]byte(modernDiscovery))
	f.Add([]byte(`{"supportedVersions":["2025-06-18"],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"x"}}}`))
	f.Add([]byte(`{"supportedVersions":null}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, in []byte) {
		found, err := readDiscovery(in)
		if err != nil {
			if !errors.Is(err, errNoDiscovery) && !sameType(err, &ProtocolError{}) {
				t.Fatalf("%T", err)
			}
			return
		}
		if found.versions == nil || (found.info.Capabilities != nil && !json.Valid(found.info.Capabilities.Raw())) {
			t.Fatalf("%+v", found)
		}
	})
}

// FuzzExited makes an error of any last message, bounded and clean (DEV-23).
func FuzzExited(f *testing.F) {
	f.Add([]byte(`{"exitCode":1,"signal":"SIGKILL","reason":"exited","stderr":"x"}`))
	f.Add([]byte(`{"exitCode":1e99,"reason":"startFailed","stderr":"\u001b"}`))
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, in []byte) {
		err := exited(in)
		var e *ExitError
		if !errors.As(err, &e) {
			t.Fatalf("%T", err)
		}
		if len(e.Stderr) > maxExitStderr || len(e.Reason) > maxExitWord || len(e.Signal) > maxExitWord || !utf8.ValidString(e.Stderr) {
			t.Fatalf("%+v", e)
		}
		if sameType(err, &ConfigError{}) != (e.Reason == reasonStartFailed) {
			t.Fatalf("%T for %s", err, e.Reason)
		}
	})
}
