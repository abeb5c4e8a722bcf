// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// everything stands for every request in server.turn.
const everything = "*"

// server is an MCP server that behaves until a test turns it.
type server struct {
	t      testing.TB
	modern bool
	addr   string

	mu       sync.Mutex
	answers  map[string]answer // by method of the protocol, or GET and DELETE
	heard    map[string]int    // by the same; "" counts answers of the client
	sessions map[string]bool   // live ones, of the legacy era
	made     int
	streams  map[*stream]struct{}
	open     map[*peer]struct{}
	cutting  bool // whoever connects is reset
	http     *http.Server
	serving  sync.WaitGroup
}

// answer answers one HTTP request.
type answer func(x *exchange)

func newServer(t testing.TB, modern bool) *server {
	t.Helper()
	s := &server{
		t: t, modern: modern, addr: "127.0.0.1:0", answers: map[string]answer{}, heard: map[string]int{},
		sessions: map[string]bool{}, streams: map[*stream]struct{}{}, open: map[*peer]struct{}{},
	}
	s.start()
	return s
}

// start listens, where it listened before if it did.
func (s *server) start() {
	s.t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.addr = listener.Addr().String()
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	server := s.http
	s.serving.Go(func() { _ = server.Serve(&counted{Listener: listener, s: s}) })
}

// stop closes the listener and every connection.
func (s *server) stop() {
	_ = s.http.Close()
	s.cut()
	s.serving.Wait()
}

func (s *server) url() string { return "http://" + s.addr + "/mcp" }

// turn changes how requests of a method are answered; nil answers well again.
func (s *server) turn(method string, a answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[method] = a
}

// behave answers everything well again.
func (s *server) behave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.answers)
}

// forget makes the server know no session, as after a restart.
func (s *server) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.sessions)
}

// times counts requests of a method, total those of all.
func (s *server) times(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.heard[method]
}

func (s *server) total() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for count := range maps.Values(s.heard) {
		n += count
	}
	return n
}

func (s *server) known(session string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[session]
}

// sockets counts the open connections.
func (s *server) sockets() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}

// cut resets every open connection.
func (s *server) cut() {
	s.mu.Lock()
	open := slices.Collect(maps.Keys(s.open))
	s.mu.Unlock()
	for _, p := range open {
		p.reset()
	}
}

// refuse resets every open connection, and until allowed again every new one.
func (s *server) refuse(yes bool) {
	s.mu.Lock()
	s.cutting = yes
	s.mu.Unlock()
	if yes {
		s.cut()
	}
}

// counted is a listener whose connections are counted.
type counted struct {
	net.Listener
	s *server
}

// Accept implements net.Listener.
func (l *counted) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		p := &peer{Conn: conn, s: l.s}
		l.s.mu.Lock()
		refused := l.s.cutting
		if !refused {
			l.s.open[p] = struct{}{}
		}
		l.s.mu.Unlock()
		if !refused {
			return p, nil
		}
		p.reset()
	}
}

// peer is a connection to a client.
type peer struct {
	net.Conn
	s *server
}

// Close implements net.Conn.
func (p *peer) Close() error {
	p.s.mu.Lock()
	delete(p.s.open, p)
	p.s.mu.Unlock()
	return p.Conn.Close()
}

// reset ends the connection with RST.
func (p *peer) reset() {
	if tcp, ok := p.Conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = p.Close()
}

const maxRequest = 1 << 20

// ServeHTTP implements http.Handler.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{s: s, w: w, r: r, m: &wire.Message{}}
	method := r.Method
	if method == http.MethodPost {
		body, err := io.ReadAll(io.LimitReader(r.Body, maxRequest))
		if err == nil {
			x.m, err = wire.Parse(body)
		}
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		method = x.m.Method
	}
	s.mu.Lock()
	s.heard[method]++
	a := s.answers[method]
	if a == nil {
		a = s.answers[everything]
	}
	s.mu.Unlock()
	if a == nil {
		a = honest
	}
	a(x)
}

// push sends a notification on every open stream, as fast as the client takes it; params are members of an object.
func (s *server) push(method, params string) {
	s.mu.Lock()
	streams := slices.Collect(maps.Keys(s.streams))
	s.mu.Unlock()
	for _, one := range streams {
		select {
		case one.out <- one.notification(method, params):
		case <-one.left:
		}
	}
}

// listened reports whether a client listens.
func (s *server) listened() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.streams) > 0
}

// stream is what a client listens on. id is that of the subscription in the modern era.
type stream struct {
	id   string
	out  chan string
	left chan struct{} // closed when nobody listens any more
}

func newStream(id string) *stream {
	return &stream{id: id, out: make(chan string, 64), left: make(chan struct{})}
}

func (s *stream) notification(method, params string) string {
	if s.id != "" {
		if params != "" {
			params = "," + params
		}
		params = `"_meta":{"` + wire.MetaSubscriptionID + `":` + s.id + `}` + params
	}
	return `{"jsonrpc":"2.0","method":"` + method + `","params":{` + params + `}}`
}

// join opens a stream until the client leaves it.
func (s *server) join(x *exchange, one *stream) {
	s.mu.Lock()
	s.streams[one] = struct{}{}
	s.mu.Unlock()
	defer func() {
		close(one.left)
		s.mu.Lock()
		delete(s.streams, one)
		s.mu.Unlock()
	}()
	for {
		select {
		case event := <-one.out:
			if x.event(event) != nil {
				return
			}
		case <-x.r.Context().Done():
			return
		}
	}
}

// begin makes a session of the legacy era.
func (s *server) begin() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made++
	id := "s" + strconv.Itoa(s.made)
	s.sessions[id] = true
	return id
}

// begun counts the sessions that were made.
func (s *server) begun() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.made
}

var errNotTCP = errors.New("not a connection of this server")
