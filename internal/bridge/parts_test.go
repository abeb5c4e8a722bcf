// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

func TestReadToken(t *testing.T) {
	full := strings.Repeat("k", minToken)
	for name, c := range map[string]struct {
		content string
		want    Token
		err     error
	}{
		"exact":                 {full, Token(full), nil},
		"one newline":           {full + "\n", Token(full), nil},
		"two newlines":          {full + "\n\n", Token(full + "\n"), nil},
		"short":                 {full[1:], nil, ErrToken},
		"short, with a newline": {full[1:] + "\n", nil, ErrToken},
		"empty":                 {"", nil, ErrToken},
		"longest":               {strings.Repeat("k", maxToken) + "\n", Token(strings.Repeat("k", maxToken)), nil},
		"too long":              {strings.Repeat("k", maxToken+1), nil, ErrToken},
	} {
		path := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := ReadToken(path)
		if !errors.Is(err, c.err) || (err == nil && !bytes.Equal(got, c.want)) {
			t.Errorf("%s: got %d bytes, %v", name, len(got), err)
		}
	}
	if _, err := ReadToken(filepath.Join(t.TempDir(), "missing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: got %v", err)
	}
}

func TestTokenHidesItself(t *testing.T) {
	token := Token(strings.Repeat("k", minToken))
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "token", token)
	for _, s := range []string{fmt.Sprint(token), fmt.Sprintf("%v %s %q %x %#v", token, token, token, token, token), log.String()} {
		if strings.Contains(s, "kkk") || strings.Contains(s, "6b6b6b") || strings.Contains(s, "a2tr") {
			t.Errorf("shown: %s", s)
		}
	}
}

// Both ends are built apart, and an old one meets a new one: the keys of a token never change. The vector was computed
// with another implementation of RFC 5869 and RFC 8032.
func TestKeyVector(t *testing.T) {
	for r, want := range map[role]string{
		server: "beea9188dd03347b3c1e3cbf0f3c55b6233c3d61c2a9c1d1d6c4ec207a166310",
		client: "ec2613de5447548b6dc1eb435a61953863c44433112048c36a7595a114e055af",
	} {
		k, err := key(bytes.Repeat([]byte("t"), minToken), r)
		if err != nil {
			t.Fatal(err)
		}
		if got := hex.EncodeToString(k.Public().(ed25519.PublicKey)); got != want {
			t.Errorf("%s: got %s, want %s", r, got, want)
		}
	}
}

func TestParseExit(t *testing.T) {
	for name, in := range map[string]string{
		"nothing":          ``,
		"null":             `null`,
		"array":            `[]`,
		"no reason":        `{"exitCode":1}`,
		"other reason":     `{"exitCode":1,"reason":"<b>"}`,
		"code is text":     `{"exitCode":"1","reason":"exited"}`,
		"code is fraction": `{"exitCode":1.5,"reason":"exited"}`,
		"signal is text":   `{"reason":"exited","signal":"kill -9"}`,
		"signal is long":   `{"reason":"exited","signal":"SIGSIGSIGSIGSIGSIG"}`,
		"stderr is long":   `{"reason":"exited","stderr":"` + strings.Repeat("x", maxExitStderr+1) + `"}`,
		"too large":        `{"reason":"exited","x":"` + strings.Repeat("x", maxExit) + `"}`,
		"text after":       `{"reason":"exited"} x`,
	} {
		if e, err := ParseExit(json.RawMessage(in)); !errors.Is(err, ErrExit) || e != (Exit{}) {
			t.Errorf("%s: got %+v, %v", name, e, err)
		}
	}
}

// The runtime's own parser takes the bridge's line, whatever the command wrote.
func TestExitLine(t *testing.T) {
	for _, want := range []Exit{
		{Code: 0, Reason: ReasonExited},
		{Code: -1, Signal: "SIGTERM", Reason: ReasonStalled, Stderr: strings.Repeat("<\x00", maxExitStderr/2)},
		{Code: 255, Reason: ReasonLineTooLong, Stderr: "\u2028\n\"é\""},
	} {
		line := want.line()
		if bytes.IndexByte(line, '\n') != len(line)-1 {
			t.Fatalf("not one line: %q", line)
		}
		m, err := wire.Parse(line)
		if err != nil || !m.IsNotification() || m.Method != ExitMethod {
			t.Fatalf("%v: %s", err, line)
		}
		if got, err := ParseExit(m.Params); err != nil || got != want {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	}
}

func FuzzParseExit(f *testing.F) {
	f.Add([]byte(`{"exitCode":1,"signal":"SIGKILL","reason":"exited","stderr":"x"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := ParseExit(b)
		if err != nil {
			if !errors.Is(err, ErrExit) {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		if len(e.Stderr) > maxExitStderr || !utf8.ValidString(e.Stderr) || !isSignal(e.Signal) {
			t.Fatalf("out of bounds: %+v", e)
		}
	})
}

// DEV-29: the bridge and the runtime mean the same by a line.
func TestMaxLine(t *testing.T) {
	if MaxLine != wire.MaxMessageBytes {
		t.Errorf("%d, but a message may have %d bytes", MaxLine, wire.MaxMessageBytes)
	}
}

// DEV-29: however the bytes arrive, a line is as long as it is.
func TestLineCounter(t *testing.T) {
	long := bytes.Repeat([]byte("x"), MaxLine)
	for name, c := range map[string]struct {
		chunks [][]byte
		fits   bool
	}{
		"fits":                   {[][]byte{long, []byte("\n"), long, []byte("\nab")}, true},
		"one more":               {[][]byte{long, []byte("x")}, false},
		"one more, in one":       {[][]byte{append(long[:MaxLine:MaxLine], "x\n"...)}, false},
		"one more, after a line": {[][]byte{[]byte("a\nb"), long}, false},
		"a return counts":        {[][]byte{long, []byte("\r\n")}, false},
	} {
		var l lineCounter
		var err error
		for _, chunk := range c.chunks {
			err = errors.Join(err, l.take(chunk))
		}
		if (err == nil) != c.fits {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func FuzzLineCounter(f *testing.F) {
	f.Add([]byte("a\n\nbc"), 1)
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		cut = min(max(cut, 0), len(b))
		var whole, parts lineCounter
		if whole.take(b) != nil || parts.take(b[:cut]) != nil || parts.take(b[cut:]) != nil {
			t.Skip("longer than the fuzzer makes it")
		}
		if want := len(b) - 1 - bytes.LastIndexByte(b, '\n'); whole.open != want || parts.open != want {
			t.Fatalf("open: %d whole, %d in parts, want %d", whole.open, parts.open, want)
		}
	})
}

func TestTail(t *testing.T) {
	var tail tail
	if got := tail.text(10); got != "" {
		t.Errorf("of nothing: %q", got)
	}
	var all []byte
	for i := range 40000 {
		line := fmt.Appendf(nil, "%d é\n", i)
		all = append(all, line...)
		if _, err := tail.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := tail.text(maxTail-1), string(all[len(all)-maxTail+1:]); got != want {
		t.Errorf("ends with %q, want %q", got[len(got)-20:], want[len(want)-20:])
	}
	if n := cap(tail.buf); n > 4*maxTail {
		t.Errorf("keeps %d bytes", n)
	}
	if got := tail.text(2); got != "\n" { // é is not cut in two
		t.Errorf("got %q", got)
	}
	_, _ = tail.Write(bytes.Repeat([]byte{0xff}, 3*maxTail))
	if got := tail.text(4); got != "\ufffd" {
		t.Errorf("got %q", got)
	}
}

func TestLineLog(t *testing.T) {
	var out bytes.Buffer
	l := lineLog{to: &out}
	_, _ = l.Write([]byte("one\x1b[2J\r\ntw"))
	_, _ = l.Write([]byte("o\n" + strings.Repeat("é", maxStderrLine) + "\n\xff" + strings.Repeat("\xff", maxStderrLine) + "\nlast"))
	l.end()
	want := []string{"one[2J", "two", strings.Repeat("é", maxStderrLine/2), strings.Repeat("\ufffd", maxStderrLine/3), "last"}
	for i, line := range want {
		want[i] = stderrPrefix + line + "\n"
	}
	if got := out.String(); got != strings.Join(want, "") {
		t.Errorf("got %q", got)
	}
}
