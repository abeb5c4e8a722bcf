// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"iter"
	"maps"
	"slices"
)

// Delta is how one catalog differs from another: raw names, sorted (CAT-20). A nil list is empty.
type Delta struct{ Added, Removed, Updated []string }

// Empty reports whether nothing changed that a model or a policy would notice.
func (d Delta) Empty() bool { return len(d.Added)+len(d.Removed)+len(d.Updated) == 0 }

// Diff compares two catalogs by their tools' signatures (CAT-19, CAT-20). nil stands for the empty catalog.
func Diff(before, after *Catalog) Delta {
	if before == after {
		return Delta{}
	}
	return Compare(before.signatures(), after.signatures())
}

func (c *Catalog) signatures() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, tool := range c.tools() {
			if !yield(tool.Name, tool.Signature) {
				return
			}
		}
	}
}

// Compare compares two lists of names and signatures. A name stands once in a list.
func Compare(before, after iter.Seq2[string, string]) Delta {
	var d Delta
	old := maps.Collect(before)
	for name, now := range after {
		signature, ok := old[name]
		switch {
		case !ok:
			d.Added = append(d.Added, name)
		case signature != now:
			d.Updated = append(d.Updated, name)
		}
		delete(old, name)
	}
	for name := range old {
		d.Removed = append(d.Removed, name)
	}
	slices.Sort(d.Added)
	slices.Sort(d.Removed)
	slices.Sort(d.Updated)
	return d
}

func (c *Catalog) tools() []*Tool {
	if c == nil {
		return nil
	}
	return c.Tools
}

// Chunks cuts a catalog into JSON arrays of raw tools, in order, each at most maxBytes long; the empty catalog is one
// empty array. A tool alone is never cut: maxBytes is at least MaxToolBytes + 2.
func Chunks(c *Catalog, maxBytes int) [][]byte {
	var chunks [][]byte
	tools := c.tools()
	for first := true; first || len(tools) > 0; first = false {
		size, n := len("[]"), 0
		for n < len(tools) && (n == 0 || size+len(tools[n].Raw)+len(",") <= maxBytes) {
			size += len(tools[n].Raw)
			if n++; n > 1 {
				size += len(",")
			}
		}
		chunk := append(make([]byte, 0, size), '[')
		for i, tool := range tools[:n] {
			if i > 0 {
				chunk = append(chunk, ',')
			}
			chunk = append(chunk, tool.Raw...)
		}
		chunks, tools = append(chunks, append(chunk, ']')), tools[n:]
	}
	return chunks
}
