// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"github.com/mooring-dev/mooring/internal/mcp/naming"
)

// MaxClashes bounds Projection.Clashes.
const MaxClashes = 64

// Projection is the set of tools that one session offers, in a stable order: the servers' order, then each server's
// own (REG-10). It is immutable, and shared by sessions that offer the same.
type Projection struct {
	Tools []ProjectedTool
	// Digest identifies the projection: equal digests are equal projections.
	Digest string
	// Bytes sums the wire sizes of the projected tools.
	Bytes int
	// Clashes are the first MaxClashes provider names that a later tool would have had as well, in order, each as often
	// as it clashed. Such a tool is left out (CAT-05).
	Clashes []string
	// ClashCount counts them all.
	ClashCount int
	index      map[string]int
}

// ProjectedTool is one tool under the name that agents call it by.
type ProjectedTool struct {
	// Name is the provider name (CAT-01), unique in the projection, <= 64 characters.
	Name string
	// Server is the server's name within the session.
	Server string
	// Tool is shared with every session that sees the same catalog.
	Tool *Tool
}

// ServerTools is what one server of a session offers. A nil catalog is an empty one.
type ServerTools struct {
	Server  string
	Catalog *Catalog
}

// Project joins the catalogs of a session's servers. It never fails: what cannot be offered is left out. The result may
// be one that was made earlier of equal servers, catalogs and filters.
func Project(servers []ServerTools, f Filter) *Projection {
	key := inputs(servers, f)
	if key != "" {
		if p := projections.get(key); p != nil {
			return p
		}
	}
	b := projector{filter: f, allow: compile(f.Allow), deny: compile(f.Deny), p: &Projection{}}
	total := 0
	for _, s := range servers {
		total += len(s.Catalog.tools())
	}
	b.p.index = make(map[string]int, b.guess(total))
	b.p.Tools = make([]ProjectedTool, 0, b.guess(total))
	for _, s := range servers {
		b.server(s)
	}
	b.p.Digest = digest(b.p.Tools)
	if key == "" {
		return b.p
	}
	return projections.Share(key, b.p)
}

type projector struct {
	filter      Filter
	allow, deny patterns
	p           *Projection
}

// guess says how many of the tools will be offered, so that a session with three of a thousand does not pay for all.
func (b *projector) guess(total int) int {
	if b.filter.Allow != nil {
		return min(total, len(b.filter.Allow))
	}
	return total
}

func (b *projector) server(s ServerTools) {
	prefix := naming.ServerPrefix(s.Server)
	for _, tool := range s.Catalog.tools() {
		segment := tool.segment
		if segment == "" {
			segment = naming.Segment(tool.Name)
		}
		name := prefix + segment
		if b.deny.match(name) || (b.filter.Allow != nil && !b.allow.match(name)) {
			continue
		}
		if _, ok := b.p.index[name]; ok {
			b.p.ClashCount++
			if len(b.p.Clashes) < MaxClashes {
				b.p.Clashes = append(b.p.Clashes, name)
			}
			continue
		}
		b.p.index[name] = len(b.p.Tools)
		b.p.Tools = append(b.p.Tools, ProjectedTool{Name: name, Server: s.Server, Tool: tool})
		b.p.Bytes += tool.wireLen(name)
	}
}

// Lookup finds a tool by its provider name, else by its name without the prefix (server__tool), else by the server's own
// name for it where only one server has it (bridge row 6). The tool is not to be changed. A nil Projection has no tools.
func (p *Projection) Lookup(name string) (*ProjectedTool, bool) {
	if p == nil || len(p.Tools) == 0 {
		return nil, false
	}
	i, ok := p.index[name]
	if !ok {
		i, ok = p.index[naming.Prefix+name]
	}
	if !ok {
		i, ok = p.raw(name)
	}
	if !ok {
		return nil, false
	}
	return &p.Tools[i], true
}

// raw goes through all tools: it is the rare way to call one, and not worth an index in every session.
func (p *Projection) raw(name string) (at int, ok bool) {
	for i := range p.Tools {
		if p.Tools[i].Tool.Name == name {
			if ok {
				return 0, false
			}
			at, ok = i, true
		}
	}
	return at, ok
}

func digest(tools []ProjectedTool) string {
	h := sha256.New()
	var b []byte
	for i := range tools {
		t := &tools[i]
		b = appendField(appendField(appendField(b[:0], t.Server), t.Name), t.Tool.Digest)
		h.Write(b)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// inputs identifies what a projection is made of, or is empty when a catalog has no digest.
func inputs(servers []ServerTools, f Filter) string {
	b := binary.AppendUvarint(nil, uint64(len(servers)))
	for _, s := range servers {
		digest := ""
		if s.Catalog != nil {
			if digest = s.Catalog.Digest; digest == "" {
				return ""
			}
		}
		b = appendField(appendField(b, s.Server), digest)
	}
	if f.Allow != nil {
		b = append(b, 1) // an empty list is not none
	}
	b = binary.AppendUvarint(b, uint64(len(f.Allow)))
	for _, pattern := range append(f.Allow[:len(f.Allow):len(f.Allow)], f.Deny...) {
		b = appendField(b, pattern)
	}
	sum := sha256.Sum256(b)
	return string(sum[:])
}

// appendField appends s behind its length, so that fields cannot run into each other.
func appendField(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}
