// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a legacy server whose every answer a test can change while it runs.
type fake struct {
	*httptest.Server

	mu       sync.Mutex
	status   int                                 // of every answer, when not 0
	tools    string                              // the tools/list result
	answer   func(m *wire.Message, w *answer)    // to tools/call
	list     func(cursor string) (result string) // instead of tools
	modern   bool                                // speaks 2026-07-28, too
	caps     string                              // what it declares
	says     string                              // its instructions, as JSON
	results  map[string]string                   // by method, instead of "no such method"
	handle   func(m *wire.Message, a *answer) bool
	asked    []*wire.Message // every request and notification
	hold     chan struct{}   // initialize waits for it
	sessions map[string]bool // live ones
	began    int
	ended    int
	lists    int
	streams  map[chan string]struct{}
	heard    []string
	headers  []http.Header
}

// answer writes the answer to one request.
type answer struct {
	w  http.ResponseWriter
	id string
}

func (a *answer) result(result string) {
	a.w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(a.w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, a.id, result)
}

func (a *answer) error(code int) {
	a.w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(a.w, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"no","data":{"x":1}}}`, a.id, code)
}

// event sends a notification on the call's own stream.
func (a *answer) event(data string) {
	if a.w.Header().Get("Content-Type") == "" {
		a.w.Header().Set("Content-Type", "text/event-stream")
	}
	_, _ = fmt.Fprintf(a.w, "data: %s\n\n", data)
	a.w.(http.Flusher).Flush()
}

const oneTool = `{"tools":[{"name":"echo","description":"d","inputSchema":{"type":"object"}}]}`

func newFake(t testing.TB) *fake {
	t.Helper()
	f := &fake{
		caps: `{"tools":{"listChanged":true}}`, says: `"hi"`, results: map[string]string{}, tools: oneTool,
		sessions: map[string]bool{}, streams: map[chan string]struct{}{},
	}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.stop)
	return f
}

func (f *fake) stop() {
	f.CloseClientConnections()
	f.Close()
}

// with changes the server under its lock.
func (f *fake) with(change func(*fake)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

// get reads from the server under its lock.
func get[T any](f *fake, read func(*fake) T) T {
	f.mu.Lock()
	defer f.mu.Unlock()
	return read(f)
}

// push sends a notification on every open stream.
func (f *fake) push(method string, params ...string) {
	message := fmt.Sprintf(`{"jsonrpc":"2.0","method":%q}`, method)
	if len(params) > 0 {
		message = fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params[0])
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for stream := range f.streams {
		stream <- message
	}
}

// count is how often a method was asked for.
func (f *fake) count(method string) int {
	return get(f, func(f *fake) (n int) {
		for _, heard := range f.heard {
			if heard == method {
				n++
			}
		}
		return n
	})
}

// crash closes every connection, forgets every session and refuses what comes, until revive.
func (f *fake) crash() {
	f.with(func(f *fake) {
		f.sessions = map[string]bool{}
		f.status = -1
	})
	f.CloseClientConnections()
}

func (f *fake) revive() { f.with(func(f *fake) { f.status = 0 }) }

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	status, id := f.status, r.Header.Get(wire.HeaderSessionID)
	known := id == "" || f.sessions[id]
	f.headers = append(f.headers, r.Header.Clone())
	f.mu.Unlock()
	switch {
	case status < 0:
		panic(http.ErrAbortHandler)
	case status != 0:
		w.WriteHeader(status)
	case !known:
		w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodGet:
		f.stream(w, r)
	case r.Method == http.MethodDelete:
		f.with(func(f *fake) { delete(f.sessions, id); f.ended++ })
	default:
		f.post(w, r)
	}
}

func (f *fake) stream(w http.ResponseWriter, r *http.Request) {
	events := make(chan string, 100)
	f.with(func(f *fake) { f.streams[events] = struct{}{} })
	defer f.with(func(f *fake) { delete(f.streams, events) })
	w.Header().Set("Content-Type", "text/event-stream")
	w.(http.Flusher).Flush()
	for {
		select {
		case event := <-events:
			_, _ = fmt.Fprintf(w, "data: %s\n\n", event)
			w.(http.Flusher).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

func (f *fake) post(w http.ResponseWriter, r *http.Request) {
	var raw json.RawMessage
	if json.NewDecoder(r.Body).Decode(&raw) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	m, err := wire.Parse(raw)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	f.with(func(f *fake) { f.heard, f.asked = append(f.heard, m.Method), append(f.asked, m) })
	if m.IsNotification() {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	f.respond(m, &answer{w: w, id: string(m.ID.Raw())}, r)
}

func (f *fake) respond(m *wire.Message, a *answer, r *http.Request) {
	if handle := get(f, func(f *fake) func(*wire.Message, *answer) bool { return f.handle }); handle != nil && handle(m, a) {
		return
	}
	switch m.Method {
	case wire.MethodInitialize:
		if hold := get(f, func(f *fake) chan struct{} { return f.hold }); hold != nil {
			select {
			case <-hold:
			case <-r.Context().Done():
				return
			}
		}
		f.mu.Lock()
		f.began++
		id := fmt.Sprintf("s%d", f.began)
		f.sessions[id] = true
		f.mu.Unlock()
		a.w.Header().Set(wire.HeaderSessionID, id)
		caps, says := get(f, func(f *fake) string { return f.caps }), get(f, func(f *fake) string { return f.says })
		a.result(`{"protocolVersion":"2025-11-25","capabilities":` + caps +
			`,"serverInfo":{"name":"fake\u0007","version":"1"},"instructions":` + says + `}`)
	case wire.MethodToolsList:
		f.mu.Lock()
		f.lists++
		tools, list := f.tools, f.list
		f.mu.Unlock()
		if list != nil {
			params, _ := wire.ParseObject(m.Params)
			cursor, _ := params.String("cursor")
			tools = list(cursor)
		}
		a.result(tools)
	case wire.MethodToolsCall:
		if answer := get(f, func(f *fake) func(*wire.Message, *answer) { return f.answer }); answer != nil {
			answer(m, a)
			return
		}
		a.result(`{"content":[{"type":"text","text":"hello"}]}`)
	case wire.MethodDiscover:
		if get(f, func(f *fake) bool { return f.modern }) {
			a.result(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`)
			return
		}
		a.error(wire.CodeMethodNotFound)
	case wire.MethodPing:
		a.result(`{}`)
	default:
		if result := get(f, func(f *fake) string { return f.results[m.Method] }); result != "" {
			a.result(result)
			return
		}
		a.error(wire.CodeMethodNotFound)
	}
}

// plain dials anything.
type plain struct{}

func (plain) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, network, address)
}

// newRuntime returns a Runtime that is closed, and found empty, at the end of the test.
func newRuntime(t testing.TB, change ...func(*Options)) *Runtime {
	t.Helper()
	opts := Options{Egress: plain{}, Now: func() time.Time { return time.UnixMilli(0) }}
	for _, c := range change {
		c(&opts)
	}
	r := New(opts)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := r.Close(ctx); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return r
}

func to(f *fake, name string) Server {
	return Server{Name: name, Fingerprint: f.URL, HTTP: Endpoint{URL: f.URL, Era: EraAuto}}
}

func desired(servers ...Server) Desired { return Desired{Servers: servers} }

// synced waits until the session is in step with its servers.
func synced(t testing.TB, r *Runtime, id SessionID) *Snapshot {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	s, err := r.AwaitSync(ctx, id)
	if err != nil {
		t.Fatalf("AwaitSync: %v (%+v)", err, s)
	}
	return s
}

// eventually waits for a snapshot of session "a" that fits.
func eventually(t testing.TB, r *Runtime, what string, fits func(*Snapshot) bool) *Snapshot {
	t.Helper()
	var last *Snapshot
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		s, ok := r.Snapshot("a")
		if ok && fits(s) {
			return s
		}
		last = s
	}
	t.Fatalf("%s: never; last %+v", what, last)
	return nil
}

// endedBy is the reason and whether anything was sent of a request that failed; empty for any other error.
func endedBy(err error) (reason CallReason, sent bool) {
	var call *CallError
	if errors.As(err, &call) {
		return call.Reason, call.Sent
	}
	return "", false
}

func names(s *Snapshot) string {
	out := make([]string, 0, len(s.Projection.Tools))
	for i := range s.Projection.Tools {
		out = append(out, s.Projection.Tools[i].Name)
	}
	return strings.Join(out, " ")
}
