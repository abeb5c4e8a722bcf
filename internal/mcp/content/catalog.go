// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"encoding/json"
	"iter"
	"slices"

	"github.com/mooring-dev/mooring/internal/mcp/catalog"
	"github.com/mooring-dev/mooring/internal/mcp/clean"
)

// Kind is what a list holds: the name of the member that holds it in the server's answer.
type Kind string

// The kinds of lists.
const (
	Resources         Kind = "resources"
	ResourceTemplates Kind = "resourceTemplates"
	Prompts           Kind = "prompts"
)

// Entry is one resource, template or prompt as its server described it. It is immutable and shared between sessions.
type Entry struct {
	// ID is the URI, the URI template or the prompt's name: what goes on the wire (CNT-04). It may hold hidden characters.
	ID string
	// Raw is the whole entry as sent: annotations, icons, _meta and unknown fields included.
	Raw json.RawMessage
	// Name, Title and MimeType are cleaned, one line each, Description many (CNT-05, DEV-26). Empty is none.
	Name, Title, Description, MimeType string
	// Size of a resource in bytes; -1 when the server gave none that is a safe integer (CNT-06).
	Size int64
	// Arguments of a prompt, at most MaxArguments (CNT-07).
	Arguments []Argument
	// Signature is the SHA-256 of the entry in normal form, hex: two that differ describe different things (CNT-10).
	Signature string
}

// Argument is one argument of a prompt.
type Argument struct {
	// ID is the name that goes on the wire. It may hold hidden characters.
	ID string
	// Name is ID, cleaned; Description is cleaned, many lines, <= 4096 bytes.
	Name, Description string
	Required          bool
}

// Shown returns ID cleaned for people and models, on one line (DEV-26).
func (e *Entry) Shown() string { return clean.Text(e.ID, len(e.ID)) }

// Catalog is one server's valid list of one kind. It is immutable. nil stands for the empty one.
type Catalog struct {
	Entries []*Entry
	// Digest identifies the kind and the raw list: SHA-256 over the raw entries in order, each behind its length, hex.
	Digest string
	// Bytes sums the sizes of Raw.
	Bytes int

	index map[string]int
}

// Lookup finds an entry by the exact URI, template or prompt name. The entry is not to be changed.
func (c *Catalog) Lookup(id string) (*Entry, bool) {
	if c == nil {
		return nil, false
	}
	if c.index == nil { // a catalog that no Builder made
		i := slices.IndexFunc(c.Entries, func(e *Entry) bool { return e.ID == id })
		if i < 0 {
			return nil, false
		}
		return c.Entries[i], true
	}
	i, ok := c.index[id]
	if !ok {
		return nil, false
	}
	return c.Entries[i], true
}

func (c *Catalog) entries() []*Entry {
	if c == nil {
		return nil
	}
	return c.Entries
}

// Diff compares two catalogs of one kind by their entries' signatures: IDs, sorted (CNT-10).
func Diff(before, after *Catalog) catalog.Delta {
	if before == after {
		return catalog.Delta{}
	}
	return catalog.Compare(before.signatures(), after.signatures())
}

func (c *Catalog) signatures() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, e := range c.entries() {
			if !yield(e.ID, e.Signature) {
				return
			}
		}
	}
}
