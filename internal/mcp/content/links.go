// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"bytes"
	"container/list"
	"crypto/sha256"
	"encoding/json"
	"sync"

	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// MaxLinks is how many URIs a LinkRing remembers (bridge row 8).
const MaxLinks = 10000

// LinkRing remembers the last MaxLinks different URIs that results of one server linked to. It keeps digests, so that its
// size, about 2 MB at most, is no matter of the server's. The zero value is empty. It is safe for concurrent use.
type LinkRing struct {
	mu    sync.Mutex
	links map[linkKey]*list.Element // of linkKey
	order list.List                 // the oldest in front
}

// linkKey is the beginning of a SHA-256. A server that finds two URIs with the same only deceives itself.
type linkKey [16]byte

func keyOf(uri string) linkKey {
	sum := sha256.Sum256([]byte(uri))
	return linkKey(sum[:16])
}

// Add remembers a link as the latest. What is no identity of a resource (CNT-04) is passed over.
func (l *LinkRing) Add(uri string) {
	if checkIdentity(uri, MaxURIRunes) != "" {
		return
	}
	key := keyOf(uri)
	l.mu.Lock()
	defer l.mu.Unlock()
	if link, ok := l.links[key]; ok {
		l.order.MoveToBack(link)
		return
	}
	if l.links == nil {
		l.links = map[linkKey]*list.Element{}
	}
	l.links[key] = l.order.PushBack(key)
	if len(l.links) > MaxLinks {
		oldest := l.order.Front()
		l.order.Remove(oldest)
		delete(l.links, oldest.Value.(linkKey)) //nolint:forcetypeassert // nothing else is put into it
	}
}

// Has reports whether a link is remembered. A nil LinkRing has none.
func (l *LinkRing) Has(uri string) bool {
	if l == nil {
		return false
	}
	key := keyOf(uri)
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.links[key]
	return ok
}

// Readable returns nil for a URI that may be read: it is listed, or comes of a template, or was linked to by a result of
// the server (bridge row 8), and otherwise ErrNotInCatalog (CNT-20).
func Readable(resources, templates *Catalog, links *LinkRing, uri string) error {
	if _, listed := resources.Lookup(uri); listed || links.Has(uri) || MatchAny(templates, uri) {
		return nil
	}
	return ErrNotInCatalog
}

// Links returns the URIs that a result of tools/call or prompts/get links to, in order, at most MaxLinks. What is
// malformed has none.
func Links(result json.RawMessage) []string {
	if !bytes.Contains(result, []byte(`"resource_link"`)) { // the usual result is not parsed
		return nil
	}
	object, err := wire.ParseObject(result)
	if err != nil {
		return nil
	}
	var uris []string
	_ = elements(object.Get("content"), func(part json.RawMessage) error { // no array has no links
		uris = appendLink(uris, part)
		return nil
	})
	_ = elements(object.Get("messages"), func(raw json.RawMessage) error {
		if message, err := wire.ParseObject(raw); err == nil {
			uris = appendLink(uris, message.Get("content"))
		}
		return nil
	})
	return uris
}

func appendLink(uris []string, part json.RawMessage) []string {
	link, err := wire.ParseObject(part)
	if err != nil || len(uris) == MaxLinks {
		return uris
	}
	kind, _ := link.String("type")
	if uri, ok := link.String("uri"); ok && kind == "resource_link" {
		return append(uris, uri)
	}
	return uris
}
