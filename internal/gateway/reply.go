// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"bytes"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// reply is the answer to one HTTP request: one JSON body, or an event stream when something must be said earlier. Its
// methods may be called from several goroutines; what comes after the result or after close is dropped.
type reply struct {
	w  http.ResponseWriter
	rc *http.ResponseController
	// json and sse say what the client takes; set before anything is written.
	json, sse    bool
	writeTimeout time.Duration
	keepAlive    time.Duration

	mu        sync.Mutex
	streaming bool
	done      bool
	timer     *time.Timer
}

func newReply(w http.ResponseWriter, o Options) *reply {
	return &reply{w: w, rc: http.NewResponseController(w), json: true, writeTimeout: o.WriteTimeout, keepAlive: o.KeepAlive}
}

// header gives the headers, before anything is written.
func (r *reply) header() http.Header { return r.w.Header() }

// readDeadline bounds the reading of the body. A ResponseWriter that knows no deadlines is bounded by its server.
func (r *reply) readDeadline(t time.Time) { _ = r.rc.SetReadDeadline(t) }

// streamAfter opens the stream when nothing has been said for d, and keeps it open with comments.
func (r *reply) streamAfter(d time.Duration) {
	if !r.sse {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.timer = time.AfterFunc(d, r.comment)
}

func (r *reply) comment() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done {
		return
	}
	r.open()
	r.write([]byte(":\n\n"))
	r.flush()
	r.timer.Reset(r.keepAlive)
}

// notify sends a message before the result.
func (r *reply) notify(m *wire.Message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done || !r.sse {
		return
	}
	r.open()
	r.write(event(m.Append(nil)))
	r.flush()
}

// open begins the stream. Called with the lock held.
func (r *reply) open() {
	if r.streaming {
		return
	}
	r.streaming = true
	h := r.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	r.w.WriteHeader(http.StatusOK)
}

// Values of headers that all replies share. Nobody writes to them.
var (
	jsonType = []string{"application/json"}
	noStore  = []string{"no-store"}
)

// result sends the result of a request: raw is an object in one or more parts.
func (r *reply) result(id wire.ID, raw ...[]byte) {
	size := len(id.String()) + 64
	for _, part := range raw {
		if len(part) <= smallBody {
			size += len(part)
		}
	}
	head := append(make([]byte, 0, size), `{"jsonrpc":"2.0","id":`...)
	head = append(append(head, id.String()...), `,"result":`...)
	parts := [][]byte{head}
	for _, part := range raw {
		parts = join(parts, part)
	}
	r.end(http.StatusOK, join(parts, []byte("}")))
}

// join adds a part; short ones are copied, so that the usual answer is one write.
func join(parts [][]byte, part []byte) [][]byte {
	last := len(parts) - 1
	if len(part) <= smallBody {
		parts[last] = append(parts[last], part...)
		return parts
	}
	return append(parts, part, make([]byte, 0, 64))
}

// fail sends an error.
func (r *reply) fail(id wire.ID, p *problem) {
	if p.retryAfter > 0 {
		r.header().Set("Retry-After", strconv.Itoa(p.retryAfter))
	}
	r.end(p.status, [][]byte{p.append(nil, id)})
}

// end sends the last message: as the body, or as the last event.
func (r *reply) end(status int, parts [][]byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done {
		return
	}
	r.done = true
	if !r.json && status == http.StatusOK {
		r.open()
	}
	if r.streaming {
		r.write([]byte(eventHead))
		for _, part := range parts {
			r.write(oneLine(part))
		}
		r.write([]byte("\n\n"))
		r.flush()
		return
	}
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	h := r.w.Header()
	h["Content-Type"], h["Cache-Control"] = jsonType, noStore
	h["Content-Length"] = []string{strconv.Itoa(size)}
	r.w.WriteHeader(status)
	for _, part := range parts {
		r.write(part)
	}
}

// accepted acknowledges a notification.
func (r *reply) accepted() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done = true
	r.w.WriteHeader(http.StatusAccepted)
}

// close ends the reply: the ResponseWriter is not touched after it.
func (r *reply) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done = true
	if r.timer != nil {
		r.timer.Stop()
	}
}

// write writes with a deadline of its own: a stream may live long, a write may not. An error is not kept: the server
// ends the request's context by it, which is what a modern call listens to and a legacy one does not.
func (r *reply) write(b []byte) {
	_ = r.rc.SetWriteDeadline(time.Now().Add(r.writeTimeout + time.Duration(len(b)>>20)*time.Second))
	_, _ = r.w.Write(b)
}

func (r *reply) flush() { _ = r.rc.Flush() }

const eventHead = "event: message\ndata: "

func event(message []byte) []byte {
	return append(append([]byte(eventHead), oneLine(message)...), "\n\n"...)
}

// oneLine replaces line ends, which JSON has between tokens only and an event only between fields.
func oneLine(b []byte) []byte {
	if !bytes.ContainsAny(b, "\r\n") {
		return b
	}
	b = bytes.Clone(b)
	for i, c := range b {
		if c == '\r' || c == '\n' {
			b[i] = ' '
		}
	}
	return b
}
