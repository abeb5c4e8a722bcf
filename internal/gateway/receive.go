// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// smallBody is what a body may take without asking for memory; buffers of this size are pooled.
const smallBody = 64 << 10

var buffers = sync.Pool{New: func() any { b := make([]byte, 4<<10); return &b }} // of *[]byte

// receive reads the message. What is kept of it does not alias the buffer it was read into.
func (x *exchange) receive() *problem {
	if !isJSON(x.request.Header) {
		return refusal(http.StatusUnsupportedMediaType, ReasonMediaType, "Content-Type must be application/json.")
	}
	x.reply.json, x.reply.sse = accepts(x.request.Header["Accept"])
	if !x.reply.json && !x.reply.sse {
		x.reply.json = true
		return refusal(http.StatusNotAcceptable, ReasonNotAcceptable,
			"Accept must list application/json and text/event-stream.")
	}
	pooled := buffers.Get().(*[]byte) //nolint:forcetypeassert // nothing else is put into it
	body, p := x.read((*pooled)[:0])
	if p == nil {
		p = x.parse(body)
	}
	if cap(body) <= smallBody {
		*pooled = body[:0]
	}
	buffers.Put(pooled)
	return p
}

func (x *exchange) parse(body []byte) *problem {
	message, err := wire.Parse(body)
	if err == nil {
		x.message = message
		return nil
	}
	if !jsontext.Value(body).IsValid() {
		return invalid(http.StatusBadRequest, wire.CodeParse, "Parse error: "+err.Error())
	}
	// The envelope is wrong, but the id may be good: an answer with it is easier to place.
	if object, err := wire.ParseObject(body); err == nil {
		id := wire.Object{{Name: "jsonrpc", Value: wire.Quote("2.0")}, {Name: "method", Value: wire.Quote("x")}}
		if raw := object.Get("id"); raw != nil {
			x.message, _ = wire.Parse(id.With("id", raw).Raw())
		}
	}
	return invalid(http.StatusBadRequest, wire.CodeInvalidRequest, "Invalid request: "+err.Error())
}

// read reads the body to its end, into buf while it fits.
func (x *exchange) read(buf []byte) ([]byte, *problem) {
	if x.request.ContentLength > wire.MaxMessageBytes {
		return buf, tooLarge()
	}
	x.reply.readDeadline(time.Now().Add(x.opts.ReadTimeout))
	body := http.MaxBytesReader(x.reply.w, x.request.Body, wire.MaxMessageBytes)
	for {
		if len(buf) == cap(buf) {
			var p *problem
			if buf, p = x.grow(buf); p != nil {
				return buf, p
			}
		}
		n, err := body.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			x.reply.readDeadline(time.Time{})
			return buf, nil
		default:
			return buf, unreadable(err)
		}
	}
}

// grow makes room for more, and for all of it where its size was announced.
func (x *exchange) grow(buf []byte) ([]byte, *problem) {
	size := max(2*cap(buf), int(x.request.ContentLength)+1) // one more, to see the end without growing again
	if size > smallBody {
		more := int64(size) - x.reserved
		if !x.limits.takeBytes(x.session.ID, more) {
			return buf, later(ReasonOverloaded, "Large messages take too much memory at the moment.")
		}
		x.reserved += more
	}
	return append(make([]byte, 0, size), buf...), nil
}

func unreadable(err error) *problem {
	var tooMany *http.MaxBytesError
	switch {
	case errors.As(err, &tooMany):
		return tooLarge()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return refusal(http.StatusRequestTimeout, "RequestTimeout", "The body did not arrive in time.")
	default:
		return invalid(http.StatusBadRequest, wire.CodeParse, "The body could not be read.")
	}
}

func tooLarge() *problem {
	return refusal(http.StatusRequestEntityTooLarge, ReasonTooLarge, "The message is larger than 24 MiB.")
}

// isJSON reports whether the body is declared as plain JSON.
func isJSON(h http.Header) bool {
	types := h["Content-Type"]
	if len(types) != 1 || len(h["Content-Encoding"]) > 0 {
		return false
	}
	if types[0] == "application/json" {
		return true
	}
	mediaType, params, err := mime.ParseMediaType(types[0])
	charset, ok := params["charset"]
	return err == nil && mediaType == "application/json" && (!ok || strings.EqualFold(charset, "utf-8"))
}

// accepts reports which of the two kinds of answers the client takes. A client must list both; one that lists one gets
// that one, and one that lists none is not picky.
func accepts(values []string) (json, sse bool) {
	if len(values) == 0 {
		return true, false
	}
	for _, value := range values {
		for more := true; more; {
			var item string
			item, value, more = strings.Cut(value, ",")
			mediaType, _, _ := strings.Cut(item, ";")
			switch strings.ToLower(strings.TrimSpace(mediaType)) {
			case "application/json", "application/*":
				json = true
			case "text/event-stream", "text/*":
				sse = true
			case "*/*":
				json, sse = true, true
			}
		}
	}
	return json, sse
}
