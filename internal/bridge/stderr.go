// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	maxTail       = 64 << 10 // kept of a command's standard error: what is shown of it is cleaned, and then shorter
	maxStderrLine = 1 << 10  // shown of a line
	linesPerSpan  = 50       // shown of a command in a span
	span          = time.Second
	stderrPrefix  = "stderr: "
)

// visible takes out what controls a terminal or cannot be seen: controls other than tab and newline, format characters,
// private use, unassigned. Invalid UTF-8 becomes U+FFFD. Package clean does more, and needs more than the standard
// library, of which alone this program is to consist; the runtime uses it on what it shows.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsGraphic(r) {
			return r
		}
		return -1
	}, s)
}

// tail keeps the last maxTail bytes written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

// Write implements io.Writer; it never fails.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b[max(0, len(b)-maxTail):]...)
	if n := len(t.buf); n > 2*maxTail { // moved once in maxTail bytes
		t.buf = t.buf[:copy(t.buf, t.buf[n-maxTail:])]
	}
	return len(b), nil
}

// text returns the end of what was written, cleaned, at most limit bytes, beginning at a code point.
func (t *tail) text(limit int) string {
	t.mu.Lock()
	b := t.buf[max(0, len(t.buf)-maxTail):]
	s := string(b)
	t.mu.Unlock()
	return last(visible(s), limit)
}

// first returns the beginning of s, at most limit bytes of whole code points.
func first(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// last returns the end of s, at most limit bytes of whole code points.
func last(s string, limit int) string {
	cut := max(0, len(s)-limit)
	for cut < len(s) && !utf8.RuneStart(s[cut]) {
		cut++
	}
	return s[cut:]
}

// lineLog shows a command's standard error to whoever runs the bridge: cleaned, each line cut, and not too many of them.
// One goroutine writes to it.
type lineLog struct {
	to    io.Writer
	line  []byte
	since time.Time
	shown int // in this span
	lost  int
}

// Write implements io.Writer; it never fails.
func (l *lineLog) Write(b []byte) (int, error) {
	n := len(b)
	for {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			l.keep(b)
			return n, nil
		}
		l.keep(b[:i])
		l.flush()
		b = b[i+1:]
	}
}

func (l *lineLog) keep(b []byte) {
	l.line = append(l.line, b[:min(len(b), maxStderrLine-len(l.line))]...)
}

func (l *lineLog) flush() {
	text := first(visible(string(l.line)), maxStderrLine)
	l.line = l.line[:0]
	if now := time.Now(); now.Sub(l.since) >= span {
		l.report()
		l.since, l.shown = now, 0
	}
	if l.shown == linesPerSpan {
		l.lost++
		return
	}
	l.shown++
	l.print(text)
}

// end shows what is still held back.
func (l *lineLog) end() {
	if len(l.line) > 0 {
		l.flush()
	}
	l.report()
}

func (l *lineLog) report() {
	if l.lost > 0 {
		l.print(fmt.Sprintf("[%d lines left out]", l.lost))
		l.lost = 0
	}
}

// print writes one line at once, so that lines of several writers do not mix. Nobody could be told of a failure.
func (l *lineLog) print(text string) { _, _ = io.WriteString(l.to, stderrPrefix+text+"\n") }
