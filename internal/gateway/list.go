// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/mooring-dev/mooring/internal/mcp"
	"github.com/mooring-dev/mooring/internal/mcp/catalog"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// pageBytes bounds the tools of one answer to tools/list: 1,000 tools of 3 KiB are one page.
const pageBytes = 8 << 20

// toolsList answers with the projected tools in the projection's order, each as its server described it.
func (x *exchange) toolsList() *problem {
	cursor, p := x.cursor()
	if p != nil {
		return p
	}
	ctx, cancel := context.WithTimeout(x.request.Context(), x.opts.SyncWait)
	defer cancel()
	snapshot, err := x.opts.Runtime.AwaitSync(ctx, x.session.ID)
	if errors.Is(err, mcp.ErrSessionNotFound) || snapshot == nil {
		return later(ReasonNotReady, "The session is not ready yet.")
	}
	if snapshot.Projection == nil {
		snapshot = &mcp.Snapshot{Projection: &catalog.Projection{}}
	}
	start, ok := cursor.offset(snapshot.Projection)
	if !ok {
		return invalid(http.StatusOK, wire.CodeInvalidParams, "The cursor is not valid any more: list again from the start.")
	}
	x.reply.result(x.message.ID, x.page(snapshot.Projection, start))
	return nil
}

// page writes the result that begins with tool start: as many tools as fit, and at least one.
func (x *exchange) page(projection *catalog.Projection, start int) []byte {
	b := append(make([]byte, 0, min(projection.Bytes, pageBytes)+4096), `{"tools":[`...)
	i := start
	for ; i < len(projection.Tools); i++ {
		tool := projection.Tools[i].Tool.WireAs(projection.Tools[i].Name)
		if i > start {
			if len(b)+len(tool) > pageBytes {
				break
			}
			b = append(b, ',')
		}
		b = append(b, tool...)
	}
	b = append(b, ']')
	if i < len(projection.Tools) {
		b = append(append(b, `,"nextCursor":`...), wire.Quote(string(newCursor(projection, i)))...)
	}
	if x.modern {
		b = append(b, `,"resultType":"complete","ttlMs":0,"cacheScope":"private","_meta":`...)
		b = append(b, x.identity.meta...)
	}
	return append(b, '}')
}

// cursor says where a page begins, and in which projection. The empty one is the start of any.
type cursor string

func newCursor(p *catalog.Projection, offset int) cursor {
	return cursor(base64.RawURLEncoding.EncodeToString([]byte(strconv.Itoa(offset) + "." + p.Digest)))
}

func (x *exchange) cursor() (cursor, *problem) {
	raw := x.params.Get("cursor")
	if raw == nil || string(raw) == "null" {
		return "", nil
	}
	value, ok := x.params.String("cursor")
	if !ok || value == "" {
		return "", invalid(http.StatusOK, wire.CodeInvalidParams, "cursor must be a string that an earlier tools/list gave.")
	}
	return cursor(value), nil
}

func (c cursor) offset(p *catalog.Projection) (int, bool) {
	if c == "" {
		return 0, true
	}
	decoded, err := base64.RawURLEncoding.DecodeString(string(c))
	if err != nil {
		return 0, false
	}
	place, digest, _ := strings.Cut(string(decoded), ".")
	offset, err := strconv.Atoi(place)
	return offset, err == nil && digest == p.Digest && offset > 0 && offset < len(p.Tools)
}
