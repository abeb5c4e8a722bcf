// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mooring-dev/mooring/internal/mcp/clean"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// The bounds of an entry (CNT-04 to CNT-07). Beyond one of these its list is refused.
const (
	MaxURIRunes  = 8192 // URIs and templates
	MaxNameRunes = 256
	MaxArguments = 64

	maxLabelBytes    = 256 // titles and MIME types
	maxArgumentBytes = 4096
	maxSafeInteger   = 1<<53 - 1
)

// What a ListError says of an entry, and an ArgumentError or a ResultError of a part.
const (
	refusedEntry     = "an entry is not an object"
	refusedType      = "an identity, a name, a title, a description or a MIME type is not a string"
	refusedEmpty     = "an identity is empty"
	refusedPadded    = "an identity begins or ends with white space"
	refusedLongURI   = "a URI is longer than 8192 characters"
	refusedLongName  = "a name is longer than 256 characters"
	refusedControls  = "a text contains control characters"
	refusedLongText  = "a title, a description or a MIME type is too long"
	refusedArguments = "the arguments of a prompt are not an array of objects"
	refusedMany      = "a prompt has more than 64 arguments"
	refusedTwice     = "two arguments of a prompt have the same name"
	refusedUnsafe    = "the name of an argument is reserved"
)

// UnsafeName reports whether name is one that an object of JavaScript inherits or is made by: as a key it would change
// more than an argument (SEC-09).
func UnsafeName(name string) bool {
	return name == "__proto__" || name == "constructor" || name == "prototype"
}

// read checks an entry and returns it with the length of its normal form.
func (k Kind) read(raw json.RawMessage) (entry *Entry, size int, err error) {
	object, err := wire.ParseObject(raw)
	if err != nil { // its page was well-formed
		return nil, 0, &ListError{refusedEntry}
	}
	e, normal, refused := k.fields(object)
	if refused != "" {
		return nil, 0, &ListError{refused}
	}
	sum := sha256.Sum256(normal)
	e.Signature = hex.EncodeToString(sum[:])
	return e, len(normal), nil
}

// fields reads the members of an entry in the order of their names, which is that of the normal form.
func (k Kind) fields(object wire.Object) (e *Entry, normal json.RawMessage, refused string) {
	r := reader{object: object}
	e = &Entry{Size: -1}
	if k == Prompts {
		e.Arguments = r.arguments()
		e.Description = r.description(clean.DescriptionBytes)
		e.ID = r.identity("name", MaxNameRunes)
		e.Name = e.Shown()
		e.Title = r.label("title")
		return e, r.normal.Raw(), r.refused
	}
	e.Description = r.description(clean.DescriptionBytes)
	e.MimeType = r.label("mimeType")
	e.Name = r.name()
	if k == ResourceTemplates {
		e.Title = r.label("title")
		e.ID = r.identity("uriTemplate", MaxURIRunes)
		return e, r.normal.Raw(), r.refused
	}
	e.Size = r.size()
	e.Title = r.label("title")
	e.ID = r.identity("uri", MaxURIRunes)
	return e, r.normal.Raw(), r.refused
}

// reader reads members of an object, and copies what it has read to normal. After refused was set it only runs out.
type reader struct {
	object, normal wire.Object
	refused        string
}

func (r *reader) refuse(what string) {
	if r.refused == "" {
		r.refused = what
	}
}

func (r *reader) keep(name string, value json.RawMessage) {
	r.normal = append(r.normal, wire.Member{Name: name, Value: value})
}

// identity reads what an entry is addressed by (CNT-04). The requirements trim it, but what is sent must be what the
// server named, and a padded name invites confusion: it is refused instead (DEV-25).
func (r *reader) identity(name string, maxRunes int) string {
	id, ok := r.object.String(name)
	if !ok {
		r.refuse(refusedType)
		return ""
	}
	r.refuse(checkIdentity(id, maxRunes))
	r.keep(name, wire.Quote(id))
	return id
}

// checkIdentity says what is wrong with an identity; empty when nothing is.
func checkIdentity(id string, maxRunes int) string {
	switch {
	case trim(id) == "":
		return refusedEmpty
	case trim(id) != id:
		return refusedPadded
	case hasControls(id, ""):
		return refusedControls
	case utf8.RuneCountInString(id) <= maxRunes:
		return ""
	case maxRunes == MaxNameRunes:
		return refusedLongName
	}
	return refusedLongURI
}

// name reads the name of a resource or a template, which is shown and addresses nothing: it may be empty, not absent.
func (r *reader) name() string {
	name, ok := r.object.String("name")
	switch {
	case !ok:
		r.refuse(refusedType)
	case hasControls(name, ""):
		r.refuse(refusedControls)
	case utf8.RuneCountInString(name) > MaxNameRunes:
		r.refuse(refusedLongName)
	}
	r.keep("name", wire.Quote(name))
	return clean.Text(name, len(name))
}

// label reads a title or a MIME type (CNT-05).
func (r *reader) label(name string) string {
	return clean.Text(r.text(name, maxLabelBytes, ""), maxLabelBytes)
}

// description reads a description (CNT-05).
func (r *reader) description(maxBytes int) string {
	return clean.Multiline(r.text("description", maxBytes, "\t\r\n"), maxBytes)
}

// text reads an optional text. A null is refused as every other type: agents are sent the same bytes, and would refuse
// the lists of all servers for it.
func (r *reader) text(name string, maxBytes int, allowed string) string {
	if r.object.Get(name) == nil {
		return ""
	}
	text, ok := r.object.String(name)
	switch {
	case !ok:
		r.refuse(refusedType)
	case len(text) > maxBytes:
		r.refuse(refusedLongText)
	case hasControls(text, allowed):
		r.refuse(refusedControls)
	case text != "":
		r.keep(name, wire.Quote(text))
	}
	return text
}

// size reads the size of a resource (CNT-06).
func (r *reader) size() int64 {
	size := safeInteger(r.object.Get("size"))
	if size >= 0 {
		r.keep("size", json.RawMessage(strconv.FormatInt(size, 10)))
	}
	return size
}

// safeInteger returns a number that is an integer of 0 to 2^53-1, in whatever notation, and otherwise -1.
func safeInteger(value json.RawMessage) int64 {
	n, err := strconv.ParseFloat(string(value), 64)
	if err != nil || n != math.Trunc(n) || n < 0 || n > maxSafeInteger {
		return -1
	}
	return int64(n)
}

// arguments reads the arguments of a prompt (CNT-07).
func (r *reader) arguments() []Argument {
	list := r.object.Get("arguments")
	if list == nil {
		return nil
	}
	var arguments []Argument
	normal, seen := []byte{'['}, map[string]bool{}
	err := elements(list, func(raw json.RawMessage) error {
		if len(arguments) == MaxArguments {
			return &ListError{refusedMany}
		}
		a, one, refused := readArgument(raw)
		switch {
		case refused != "":
			return &ListError{refused}
		case seen[a.ID]:
			return &ListError{refusedTwice}
		}
		if seen[a.ID] = true; len(arguments) > 0 {
			normal = append(normal, ',')
		}
		arguments, normal = append(arguments, a), append(normal, one...)
		return nil
	})
	var refused *ListError
	switch {
	case errors.As(err, &refused):
		r.refuse(refused.What)
	case err != nil:
		r.refuse(refusedArguments)
	}
	if len(arguments) > 0 {
		r.keep("arguments", append(normal, ']'))
	}
	return arguments
}

func readArgument(raw json.RawMessage) (a Argument, normal json.RawMessage, refused string) {
	object, err := wire.ParseObject(raw)
	if err != nil {
		return a, nil, refusedArguments
	}
	r := reader{object: object}
	a.Description = r.description(maxArgumentBytes)
	a.ID = r.identity("name", MaxNameRunes)
	a.Name = clean.Text(a.ID, len(a.ID))
	if UnsafeName(a.ID) {
		r.refuse(refusedUnsafe)
	}
	if a.Required = string(object.Get("required")) == "true"; a.Required {
		r.keep("required", object.Get("required"))
	}
	return a, r.normal.Raw(), r.refused
}

func hasControls(s, allowed string) bool {
	return strings.ContainsFunc(s, func(c rune) bool {
		return (c < ' ' || c == 0x7f) && !strings.ContainsRune(allowed, c)
	})
}

// trim takes off white space and byte order marks, as the catalog of tools does.
func trim(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' })
}
