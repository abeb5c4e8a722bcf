// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mooring-dev/mooring/internal/mcp/clean"
)

// The bounds of a list. Beyond one of these it is refused whole.
const (
	MaxPages = 100     // CAT-10
	MaxTools = 1000    // CAT-11; tools that are left out count
	MaxBytes = 4 << 20 // CAT-17: names, descriptions and compact schemas together
	// MaxRawBytes bounds the tools as sent: output schemas, annotations, icons and _meta are not in MaxBytes.
	MaxRawBytes = 16 << 20
)

// ListError says why a list was refused. What is a constant of this package, without foreign text.
type ListError struct{ What string }

// Error implements error.
func (e *ListError) Error() string { return "the tool list was refused: " + e.What }

// What a ListError says.
const (
	refusedJSON    = "a page is not well-formed JSON"
	refusedObject  = "a page is not an object"
	refusedTools   = "tools is not an array"
	refusedCursor  = "nextCursor is not a string"
	refusedRepeat  = "a cursor was repeated"
	refusedPages   = "it has more than 100 pages"
	refusedCount   = "it has more tools than are allowed (1000, or the definition's own bound)"
	refusedBytes   = "its names, descriptions and schemas are larger than is allowed (4 MiB, or the definition's own bound)"
	refusedRaw     = "its tools are larger than 16 MiB"
	refusedDoubles = "two tools have the same name"
)

// Builder reads one list, page by page. Use NewBuilder.
type Builder struct {
	// LenientHeaders keeps a tool with an invalid x-mcp-header annotation, without HeaderParams. The specification
	// lets clients of other transports than HTTP do so. By default the tool is left out: whatever its own server
	// speaks, it is offered over HTTP to agents, which must not accept it. Set it before the first page.
	LenientHeaders bool
	// MaxTools and MaxBytes lower the bounds of the list. Set them before the first page.
	MaxTools, MaxBytes int

	err     *ListError
	catalog Catalog
	digest  hash.Hash
	pages   int
	offered int
	bytes   int
	cursors map[[sha256.Size]byte]struct{}
	names   map[string]struct{}
	scratch []byte
}

// NewBuilder returns a Builder for an empty list.
func NewBuilder() *Builder {
	return &Builder{
		MaxTools: MaxTools, MaxBytes: MaxBytes,
		digest:  sha256.New(),
		cursors: map[[sha256.Size]byte]struct{}{},
		names:   map[string]struct{}{},
	}
}

// AddPage reads the result of one tools/list request and returns the cursor of the next page; empty after the last one.
// Its error is a *ListError: the list is refused whole, and so is every page after it (CAT-10 to CAT-14, CAT-17).
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
	if b.LenientHeaders {
		b.digest.Write([]byte("lenient")) // the same list reads differently
	}
	c.Digest = hex.EncodeToString(b.digest.Sum(nil))
	return &c
}

func (b *Builder) page(result json.RawMessage) (string, *ListError) {
	if b.pages++; b.pages > MaxPages {
		return "", &ListError{refusedPages}
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(result))
	if dec.PeekKind() != '{' {
		return "", &ListError{refusedObject}
	}
	cursor, found, err := b.members(dec)
	var list *ListError
	switch {
	case errors.As(err, &list):
		return "", list
	case err != nil:
		return "", &ListError{refusedJSON}
	case !found:
		return "", &ListError{refusedTools}
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

// members reads a result object. The decoder refuses repeated names, at any depth, and invalid UTF-8.
func (b *Builder) members(dec *jsontext.Decoder) (cursor string, tools bool, err error) {
	if _, err := dec.ReadToken(); err != nil {
		return "", false, err
	}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return "", false, err
		}
		switch name.String() {
		case "tools":
			tools, err = true, b.tools(dec)
		case "nextCursor":
			cursor, err = readCursor(dec)
		default:
			err = dec.SkipValue()
		}
		if err != nil {
			return "", false, err
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return "", false, err
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return "", false, &ListError{refusedJSON}
	}
	return cursor, tools, nil
}

// readCursor takes null for none: some servers write out what they have not.
func readCursor(dec *jsontext.Decoder) (string, error) {
	value, err := dec.ReadValue()
	if err != nil || value.Kind() == 'n' {
		return "", err
	}
	cursor, ok := unquote(value)
	if !ok {
		return "", &ListError{refusedCursor}
	}
	return cursor, nil
}

func (b *Builder) tools(dec *jsontext.Decoder) error {
	if dec.PeekKind() != '[' {
		if _, err := dec.ReadValue(); err != nil {
			return err
		}
		return &ListError{refusedTools}
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() != ']' {
		raw, err := dec.ReadValue()
		if err != nil {
			return err
		}
		if err := b.add(raw); err != nil {
			return err
		}
	}
	_, err := dec.ReadToken()
	return err
}

// add takes a tool into the list, or names it among the dropped ones.
func (b *Builder) add(raw jsontext.Value) error {
	if b.offered++; b.offered > b.MaxTools {
		return &ListError{refusedCount}
	}
	var length [8]byte
	binary.BigEndian.PutUint64(length[:], uint64(len(raw)))
	b.digest.Write(length[:])
	b.digest.Write(raw)

	f := scan(raw)
	name, _ := unquote(f.name.of(raw))
	// Names are compared as the server might have meant them, also those of tools that are left out: with two of a
	// name nobody can say which one a call would reach (CAT-14).
	if key := trim(name); key != "" && utf16Len(key) <= maxNameUnits {
		if _, ok := b.names[key]; ok {
			return &ListError{refusedDoubles}
		}
		b.names[key] = struct{}{}
	}
	tool, cost, reason := b.read(raw, f)
	if reason != "" {
		b.catalog.Dropped = append(b.catalog.Dropped, DroppedTool{Name: b.label(name), Reason: reason})
		return nil
	}
	if b.bytes += cost; b.bytes > b.MaxBytes {
		return &ListError{refusedBytes}
	}
	if b.catalog.Bytes += len(raw); b.catalog.Bytes > MaxRawBytes {
		return &ListError{refusedRaw}
	}
	b.catalog.Tools = append(b.catalog.Tools, tool)
	return nil
}

const labelRunes = 64

// label names a dropped tool for people.
func (b *Builder) label(name string) string {
	label := strings.TrimSpace(clean.Text(name, utf8.UTFMax*labelRunes))
	if runes := []rune(label); len(runes) > labelRunes {
		label = string(runes[:labelRunes])
	}
	if label == "" {
		return "#" + strconv.Itoa(b.offered)
	}
	return label
}

// trim takes off what the source's language calls white space.
func trim(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' })
}

// utf16Len counts characters as the bounds of the requirements do.
func utf16Len(s string) int {
	n := 0
	for _, r := range s {
		if n++; r > 0xFFFF {
			n++
		}
	}
	return n
}
