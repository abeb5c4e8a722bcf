// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"bytes"
	"compress/gzip"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Answers that a server should not give.

const (
	// huge is what a hostile body holds, announced or not.
	huge = 200 << 20
	// dripPause is between two bytes of a slow answer.
	dripPause = time.Second
)

// filler is what floods are made of: one buffer for all of them.
var filler = strings.Repeat("x", 32<<10)

// flood writes filler until there are size bytes or the client has left.
func (x *exchange) flood(size int) {
	for ; size > 0; size -= len(filler) {
		if x.write(filler[:min(size, len(filler))]) != nil {
			return
		}
	}
}

// take takes the connection over.
func (x *exchange) take() (*peer, error) {
	conn, _, err := http.NewResponseController(x.w).Hijack()
	if err != nil {
		return nil, err
	}
	p, ok := conn.(*peer)
	if !ok {
		return nil, errNotTCP
	}
	return p, nil
}

// hang never answers.
func hang(x *exchange) { <-x.r.Context().Done() }

// dripHeaders sends its headers a byte a second.
func dripHeaders(x *exchange) {
	p, err := x.take()
	if err != nil {
		return
	}
	defer func() { _ = p.Close() }()
	drip(p, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Slow: "+filler)
}

// drip writes a byte a second until the client leaves.
func drip(p net.Conn, text string) {
	left := make(chan struct{})
	go func() {
		defer close(left)
		_, _ = p.Read(make([]byte, 1)) // the client says no more
	}()
	tick := time.NewTicker(dripPause)
	defer tick.Stop()
	for i := range len(text) {
		if _, err := p.Write([]byte{text[i]}); err != nil {
			break
		}
		select {
		case <-tick.C:
			continue
		case <-left:
		}
		break
	}
	_ = p.Close()
	<-left
}

// dripBody sends its body a byte a second.
func dripBody(x *exchange) {
	x.head(mediaJSON)
	body := x.response(x.id(), callResult)
	tick := time.NewTicker(dripPause)
	defer tick.Stop()
	for i := range len(body) {
		_ = x.write(body[i : i+1])
		x.flush()
		select {
		case <-tick.C:
		case <-x.r.Context().Done():
			return
		}
	}
}

// reset breaks off within the body.
func reset(x *exchange) {
	p, err := x.take()
	if err != nil {
		return
	}
	_, _ = p.Write([]byte("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{\"jsonrpc\":"))
	p.reset()
}

// body answers with a text; ID in it becomes the request's id.
func body(mediaType, text string) answer {
	return func(x *exchange) {
		x.head(mediaType)
		_ = x.write(strings.ReplaceAll(text, "ID", x.id()))
	}
}

// hugeBody sends a message of 200 MiB, and says so, or not.
func hugeBody(announced bool) answer {
	return func(x *exchange) {
		x.head(mediaJSON)
		begin, end := `{"jsonrpc":"2.0","id":`+x.id()+`,"result":{"x":"`, `"}}`
		if announced {
			x.w.Header().Set("Content-Length", strconv.Itoa(len(begin)+huge+len(end)))
		}
		_ = x.write(begin)
		x.flood(huge)
		_ = x.write(end)
	}
}

// bomb makes a gzip member that expands to 10 MiB.
func bomb() []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	zeros := make([]byte, 1<<20)
	for range 10 {
		_, _ = w.Write(zeros)
	}
	_ = w.Close()
	return out.Bytes()
}

// gzipBomb is compressed, though nobody asked, and expands to 200 MiB.
func gzipBomb() answer {
	member := bomb()
	return func(x *exchange) {
		x.head(mediaJSON)
		x.w.Header().Set("Content-Encoding", "gzip")
		for range huge / (10 << 20) {
			if _, err := x.w.Write(member); err != nil {
				return
			}
		}
	}
}

// endlessLine is one line of an event stream without end.
func endlessLine(x *exchange) {
	x.head(mediaStream)
	_ = x.write("data: ")
	for x.r.Context().Err() == nil {
		x.flood(1 << 20)
	}
}

// endlessEvent is one event of many lines without end.
func endlessEvent(x *exchange) {
	x.head(mediaStream)
	for x.r.Context().Err() == nil && x.write("data: "+filler[:16<<10]+"\n") == nil {
		continue
	}
}

// endlessEvents is a stream that always goes on and never answers.
func endlessEvents(x *exchange) {
	x.head(mediaStream)
	event := `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"none","progress":1,"message":"` +
		filler[:4<<10] + `"}}`
	for x.r.Context().Err() == nil && x.event(event) == nil {
		continue
	}
}

// bigHeaders sends 1 MiB of headers.
func bigHeaders(x *exchange) {
	for i := range 32 {
		x.w.Header().Set("X-Big-"+strconv.Itoa(i), filler)
	}
	x.result(callResult)
}

// foreignIDs answers requests that nobody made.
func foreignIDs(x *exchange) {
	x.head(mediaJSON)
	_ = x.write(x.response("987654321", callResult))
}

// status answers with a status and headers.
func status(code int, header ...string) answer {
	return func(x *exchange) {
		for h := header; len(h) > 1; h = h[2:] {
			x.w.Header().Set(h[0], h[1])
		}
		x.w.WriteHeader(code)
	}
}
