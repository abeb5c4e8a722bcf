// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// process is a server behind lines, whose answers a test writes by method. What it says nothing to gets no answer.
type process struct {
	answers map[string]func(p *peer, m *wire.Message)

	mu    sync.Mutex
	peers []*peer
	heard []*wire.Message
	work  sync.WaitGroup
}

// peer is the process's end of one connection.
type peer struct {
	net.Conn
	*process
}

func newProcess(t *testing.T, answers map[string]func(*peer, *wire.Message)) *process {
	t.Helper()
	p := &process{answers: map[string]func(*peer, *wire.Message){
		wire.MethodDiscover:   func(p *peer, m *wire.Message) { p.fail(m, wire.CodeMethodNotFound) },
		wire.MethodInitialize: func(p *peer, m *wire.Message) { p.result(m, `{"protocolVersion":"2025-11-25","capabilities":{}}`) },
		wire.MethodPing:       func(p *peer, m *wire.Message) { p.result(m, `{}`) },
	}}
	for method, answer := range answers {
		p.answers[method] = answer
	}
	t.Cleanup(func() {
		p.mu.Lock()
		for _, peer := range p.peers {
			_ = peer.Close()
		}
		p.mu.Unlock()
		p.work.Wait()
	})
	return p
}

const modernDiscovery = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}}}`

// modernProcess is a process of the modern era.
func modernProcess(t *testing.T, answers map[string]func(*peer, *wire.Message)) *process {
	t.Helper()
	p := newProcess(t, answers)
	if answers[wire.MethodDiscover] == nil {
		p.answers[wire.MethodDiscover] = func(p *peer, m *wire.Message) { p.result(m, modernDiscovery) }
	}
	return p
}

func (p *process) open(ctx context.Context) (net.Conn, error) {
	var l net.ListenConfig
	listener, err := l.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer func() { _ = listener.Close() }()
	ours, err := (&net.Dialer{}).DialContext(ctx, "tcp", listener.Addr().String())
	if err != nil {
		return nil, err
	}
	theirs, err := listener.Accept()
	if err != nil {
		return nil, err
	}
	end := &peer{Conn: theirs, process: p}
	p.mu.Lock()
	p.peers = append(p.peers, end)
	p.mu.Unlock()
	p.work.Go(end.run)
	return ours, nil
}

func (p *peer) run() {
	in := bufio.NewReader(p)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			_ = p.Close()
			return
		}
		m, err := wire.Parse(line)
		if err != nil {
			panic(err)
		}
		p.mu.Lock()
		p.heard = append(p.heard, m)
		p.mu.Unlock()
		if answer := p.answers[m.Method]; answer != nil {
			answer(p, m)
		}
	}
}

// say writes a line.
func (p *peer) say(line string) { _, _ = io.WriteString(p, line+"\n") }

func (p *peer) result(m *wire.Message, result string) {
	p.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result))
}

func (p *peer) fail(m *wire.Message, code int) {
	p.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"no"}}`, m.ID, code))
}

func (p *peer) notify(method, params string) {
	p.say(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params))
}

// all returns what was heard with a method; "" are answers.
func (p *process) all(method string) []*wire.Message {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []*wire.Message
	for _, m := range p.heard {
		if m.Method == method {
			out = append(out, m)
		}
	}
	return out
}

func (p *process) methods() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for _, m := range p.heard {
		out = append(out, m.Method)
	}
	return out
}

func (p *process) opened() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.peers)
}

func (p *process) config() Config { return Config{Kind: KindStdio, Stdio: p.open} }

// eventually waits for what the other side does.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within 10 s", what)
		}
	}
}

type scripts = map[string]func(*peer, *wire.Message)

// TestStdioEra: server/discover first; any error that a modern server does not give, or silence, means legacy (CON-12,
// protocol D2). A late answer to the probe is dropped.
func TestStdioEra(t *testing.T) {
	code := func(code int) func(*peer, *wire.Message) {
		return func(p *peer, m *wire.Message) { p.fail(m, code) }
	}
	var late *wire.Message
	for name, tc := range map[string]struct {
		scripts scripts
		era     Era
		want    error
		opened  int
	}{
		"modern":         {scripts: scripts{wire.MethodDiscover: func(p *peer, m *wire.Message) { p.result(m, modernDiscovery) }}, era: EraModern},
		"no such method": {scripts: nil, era: EraLegacy},
		"internal error": {scripts: scripts{wire.MethodDiscover: code(wire.CodeInternal)}, era: EraLegacy},
		"not yet":        {scripts: scripts{wire.MethodDiscover: code(-32002)}, era: EraLegacy},
		"other result":   {scripts: scripts{wire.MethodDiscover: func(p *peer, m *wire.Message) { p.result(m, `[]`) }}, era: EraLegacy},
		"modern refusal": {scripts: scripts{wire.MethodDiscover: code(wire.CodeMissingCapability)}, want: &wire.Error{}},
		"silence, then a late answer": {scripts: scripts{
			wire.MethodDiscover: func(_ *peer, m *wire.Message) { late = m },
			wire.MethodInitialize: func(p *peer, m *wire.Message) {
				p.result(late, modernDiscovery)
				p.result(m, `{"protocolVersion":"2024-11-05"}`)
			},
		}, era: EraLegacy},
		"version of nobody's (CON-17)": {scripts: scripts{wire.MethodInitialize: func(p *peer, m *wire.Message) {
			p.result(m, `{"protocolVersion":"2023-01-01"}`)
		}}, want: &VersionError{}},
		"dies of the probe": {scripts: scripts{wire.MethodDiscover: func(p *peer, _ *wire.Message) {
			p.notify(methodExited, `{"exitCode":1,"signal":"","reason":"exited","stderr":""}`)
		}}, era: EraLegacy, opened: 2},
		"cannot be started (DEV-23)": {scripts: scripts{wire.MethodDiscover: func(p *peer, _ *wire.Message) {
			p.notify(methodExited, `{"exitCode":-1,"signal":"","reason":"startFailed","stderr":"no such file"}`)
		}}, want: &ConfigError{}},
		"closes": {scripts: scripts{wire.MethodDiscover: func(p *peer, _ *wire.Message) { _ = p.Close() }}, want: &NetworkError{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProcess(t, tc.scripts)
			c, err := dial(t, p.config())
			if p.opened() != max(tc.opened, 1) {
				t.Errorf("opened %d times", p.opened())
			}
			if tc.want != nil {
				if !sameType(err, tc.want) {
					t.Fatalf("%T %v, want %T", err, err, tc.want)
				}
				return
			}
			if err != nil || c.Info().Era != tc.era {
				t.Fatalf("%v, %v", c, err)
			}
			if err := c.Check(t.Context()); err != nil {
				t.Errorf("check: %v", err)
			}
			if err := c.Close(t.Context()); err != nil || c.Sockets() != 0 {
				t.Errorf("close: %v, %d sockets", err, c.Sockets())
			}
		})
	}
}

// TestStdioCarriesLines keeps a message on one line whatever white space its parts were sent with, finds answers by id in
// any order, and drops second answers, answers to nobody, blank lines and noise (CON-12, CON-14).
func TestStdioCarriesLines(t *testing.T) {
	var first *wire.Message
	p := newProcess(t, scripts{wire.MethodToolsCall: func(p *peer, m *wire.Message) {
		if first == nil {
			first = m
			return
		}
		p.say("listening on port 3000\r\n\r\n")
		p.result(m, `{"n":2}`)
		p.result(m, `{"n":3}`)
		p.say(`{"jsonrpc":"2.0","id":4711,"result":{}}`)
		p.result(first, `{"n":1}`)
	}})
	c := mustDial(t, p.config())
	results := make(chan string, 1)
	params := wire.Object{{Name: "arguments", Value: []byte("{\n\"a\":\r\n\"b\\nc\"}")}}
	go func() {
		raw, err := c.Do(t.Context(), &Request{Method: wire.MethodToolsCall, Params: params})
		results <- fmt.Sprint(string(raw), err)
	}()
	eventually(t, "the first call", func() bool { return len(p.all(wire.MethodToolsCall)) == 1 })
	raw, err := c.Do(t.Context(), &Request{Method: wire.MethodToolsCall})
	if err != nil || string(raw) != `{"n":2}` {
		t.Errorf("second: %s, %v", raw, err)
	}
	if got := <-results; got != `{"n":1}<nil>` {
		t.Errorf("first: %s", got)
	}
	if got := string(p.all(wire.MethodToolsCall)[0].Params); !strings.Contains(got, `"b\nc"`) {
		t.Errorf("arguments arrived as %s", got)
	}
	if want := []string{wire.MethodDiscover, wire.MethodInitialize, wire.MethodInitialized}; !slices.Equal(p.methods()[:3], want) {
		t.Errorf("heard %v", p.methods())
	}
}

// TestStdioLost ends everything that is open at once, with how the process ended, and none of its words (REC-10, CON-14,
// DEV-29).
func TestStdioLost(t *testing.T) {
	for name, tc := range map[string]struct {
		last func(*peer)
		want error
	}{
		"exit": {func(p *peer) {
			p.notify(methodExited, `{"exitCode":3,"signal":"","reason":"exited","stderr":"SECRET\u001b[0m"}`)
		}, &ExitError{}},
		"end":       {func(p *peer) { _ = p.Close() }, &NetworkError{}},
		"garbage":   {func(p *peer) { p.say(strings.Repeat("noise\n", maxBadLines+1)) }, &ProtocolError{}},
		"long line": {func(p *peer) { p.say(strings.Repeat("x", wire.MaxMessageBytes+2)) }, &ProtocolError{}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProcess(t, scripts{wire.MethodToolsCall: func(p *peer, _ *wire.Message) { tc.last(p) }})
			c := mustDial(t, p.config())
			listened, waited := make(chan error, 1), make(chan error, 1)
			go func() { listened <- c.Listen(t.Context(), Filter{}, Listener{Message: func(*wire.Message) {}}) }()
			go func() { waited <- c.Wait(t.Context()) }()
			_, err := call(t, c)
			for _, err := range []error{err, <-listened, <-waited, c.Check(t.Context())} {
				if !sameType(err, tc.want) || strings.Contains(err.Error(), "SECRET") {
					t.Errorf("%T %v, want %T", err, err, tc.want)
				}
				var exit *ExitError
				if errors.As(err, &exit) && (exit.Code != 3 || exit.Stderr != "SECRET[0m") {
					t.Errorf("%+v", exit)
				}
			}
			eventually(t, "the socket's end", func() bool { return c.Sockets() == 0 })
		})
	}
}

// TestCloseOfAStubbornProcess closes its input, waits for it as long as it may, and says that it did not end (CON-13).
func TestCloseOfAStubbornProcess(t *testing.T) {
	ours, theirs := net.Pipe()
	closed := make(chan struct{})
	c, err := Dial(t.Context(), Config{Kind: KindStdio, Era: EraLegacy, Stdio: func(context.Context) (net.Conn, error) {
		go func() {
			buffer := make([]byte, 4096)
			_, _ = theirs.Read(buffer)
			_, _ = io.WriteString(theirs, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"}}`+"\n")
			_, _ = theirs.Read(buffer)
		}()
		return &halfClosing{Conn: ours, closed: closed}, nil
	}}, EraUnknown)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := c.Close(ctx); !errors.Is(err, context.DeadlineExceeded) || c.Sockets() != 0 {
		t.Errorf("%v, %d sockets", err, c.Sockets())
	}
	<-closed
}

type halfClosing struct {
	net.Conn
	closed chan struct{}
}

func (h *halfClosing) CloseWrite() error {
	close(h.closed)
	return nil
}

// TestStdioCancels tells the server in both eras, and drops the late answer (protocol D5).
func TestStdioCancels(t *testing.T) {
	for name, newOne := range map[string]func(*testing.T, scripts) *process{"legacy": newProcess, "modern": modernProcess} {
		t.Run(name, func(t *testing.T) {
			var open *wire.Message
			p := newOne(t, scripts{
				wire.MethodToolsCall: func(_ *peer, m *wire.Message) { open = m },
				wire.MethodCancelled: func(p *peer, _ *wire.Message) { p.result(open, `{}`) },
			})
			c := mustDial(t, p.config())
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				eventually(t, "the call", func() bool { return len(p.all(wire.MethodToolsCall)) == 1 })
				cancel()
			}()
			req := &Request{Method: wire.MethodToolsCall}
			if _, err := c.Do(ctx, req); err != context.Canceled || !req.Sent() { //nolint:errorlint // it is the cause itself
				t.Errorf("%v, sent %t", err, req.Sent())
			}
			eventually(t, "the cancellation", func() bool { return len(p.all(wire.MethodCancelled)) == 1 })
			if got := cancels(p.all(wire.MethodCancelled)[0]); got != req.id.String() {
				t.Errorf("cancelled %s", got)
			}
			if err := c.Check(t.Context()); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}
