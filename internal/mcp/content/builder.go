// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash"

	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// The bounds of a list (CNT-03). Beyond one of these it is refused whole.
const (
	MaxPages   = 100
	MaxEntries = 1000
	MaxBytes   = 4 << 20 // the entries in normal form, as compact JSON

	// rawFactor bounds the entries as sent by a multiple of Limits.MaxBytes: annotations, icons and _meta, which the
	// normal form lacks, are kept too.
	rawFactor = 4
)

// Limits bound one list. What is not in 1 to the maximum is the maximum.
type Limits struct {
	// MaxEntries at most, MaxEntries by default.
	MaxEntries int
	// MaxBytes at most, of compact JSON in normal form, and four times that as sent; MaxBytes by default.
	MaxBytes int
}

func (l Limits) orDefault() Limits {
	if l.MaxEntries <= 0 || l.MaxEntries > MaxEntries {
		l.MaxEntries = MaxEntries
	}
	if l.MaxBytes <= 0 || l.MaxBytes > MaxBytes {
		l.MaxBytes = MaxBytes
	}
	return l
}

// What a ListError says of a list; entry.go has what it says of an entry.
const (
	refusedJSON    = "a page is not a well-formed JSON object"
	refusedList    = "a page has no array of entries"
	refusedCursor  = "nextCursor is not a string"
	refusedRepeat  = "a cursor was repeated"
	refusedPages   = "it has more than 100 pages"
	refusedCount   = "it has too many entries"
	refusedBytes   = "its entries are too large together"
	refusedDoubles = "two entries have the same identity"
)

// Builder reads one list, page by page. Use NewBuilder.
type Builder struct {
	kind    Kind
	limits  Limits
	err     error
	catalog Catalog
	digest  hash.Hash
	pages   int
	bytes   int
	cursors map[[sha256.Size]byte]struct{}
}

// NewBuilder returns a Builder for an empty list.
func NewBuilder(kind Kind, limits Limits) *Builder {
	b := &Builder{
		kind:    kind,
		limits:  limits.orDefault(),
		digest:  sha256.New(),
		cursors: map[[sha256.Size]byte]struct{}{},
		bytes:   len("[]"),
	}
	b.catalog.index = map[string]int{}
	b.digest.Write([]byte(kind))
	return b
}

// AddPage reads the result of one request for the list and returns the cursor of the next page; empty after the last
// one. Its error is a *ListError: the list is refused whole, and so is every page after it (CNT-03 to CNT-07).
func (b *Builder) AddPage(result json.RawMessage) (nextCursor string, err error) {
	if b.err == nil {
		nextCursor, b.err = b.page(result)
	}
	if b.err != nil {
		return "", b.err
	}
	return nextCursor, nil
}

// Catalog returns what was read, and nil when the list was refused. The Builder is of no use afterwards.
func (b *Builder) Catalog() *Catalog {
	if b.err != nil {
		return nil
	}
	c := b.catalog
	c.Digest = hex.EncodeToString(b.digest.Sum(nil))
	return &c
}

func (b *Builder) page(result json.RawMessage) (string, error) {
	if b.pages++; b.pages > MaxPages {
		return "", &ListError{refusedPages}
	}
	object, err := wire.ParseObject(result)
	if err != nil {
		return "", &ListError{refusedJSON}
	}
	err = elements(object.Get(string(b.kind)), b.add)
	switch {
	case errors.Is(err, errNoArray):
		return "", &ListError{refusedList}
	case err != nil:
		return "", err
	}
	return b.cursor(object)
}

// cursor reads nextCursor, and takes null for none: some servers write out what they have not.
func (b *Builder) cursor(object wire.Object) (string, error) {
	value := object.Get("nextCursor")
	if value == nil || isNull(value) {
		return "", nil
	}
	cursor, ok := object.String("nextCursor")
	switch {
	case !ok:
		return "", &ListError{refusedCursor}
	case cursor == "":
		return "", nil
	case b.pages == MaxPages:
		return "", &ListError{refusedPages}
	}
	key := sha256.Sum256([]byte(cursor)) // a cursor may be large
	if _, ok := b.cursors[key]; ok {
		return "", &ListError{refusedRepeat}
	}
	b.cursors[key] = struct{}{}
	return cursor, nil
}

func (b *Builder) add(raw json.RawMessage) error {
	if len(b.catalog.Entries) == b.limits.MaxEntries {
		return &ListError{refusedCount}
	}
	if b.catalog.Bytes += len(raw); b.catalog.Bytes > rawFactor*b.limits.MaxBytes {
		return &ListError{refusedBytes}
	}
	entry, size, err := b.kind.read(raw)
	if err != nil {
		return err
	}
	if len(b.catalog.Entries) > 0 {
		size += len(",")
	}
	if b.bytes += size; b.bytes > b.limits.MaxBytes {
		return &ListError{refusedBytes}
	}
	if _, ok := b.catalog.index[entry.ID]; ok {
		return &ListError{refusedDoubles}
	}
	entry.Raw = bytes.Clone(raw) // an entry outlives its page
	b.catalog.index[entry.ID] = len(b.catalog.Entries)
	b.catalog.Entries = append(b.catalog.Entries, entry)
	var length [8]byte
	binary.BigEndian.PutUint64(length[:], uint64(len(raw)))
	b.digest.Write(length[:])
	b.digest.Write(raw)
	return nil
}
