// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// Member is one name and its value's bytes.
type Member struct {
	Name  string
	Value json.RawMessage
}

// Object is a JSON object whose members keep their order and their values' bytes. The zero value is the empty object.
type Object []Member

// decoder is a jsontext.Decoder with the reader that it reads from; it is big enough to be worth keeping.
type decoder struct {
	jsontext.Decoder
	input bytes.Reader
}

// maxPooled bounds the input after which a decoder is kept: its buffer has grown to what it read.
const maxPooled = 64 << 10

var decoders = sync.Pool{New: func() any { return new(decoder) }} // of *decoder

// ParseObject reads one JSON object, strictly (see the package comment). Errors wrap ErrMalformed.
func ParseObject(b []byte) (Object, error) {
	dec := decoders.Get().(*decoder) //nolint:forcetypeassert // nothing else is put into it
	if len(b) <= maxPooled {
		defer decoders.Put(dec)
	}
	owned := bytes.Clone(b)
	dec.input.Reset(owned)
	defer dec.input.Reset(nil)
	dec.Reset(&dec.input)
	return dec.object(owned)
}

// object reads the one object of owned. The values of the result are parts of owned.
func (dec *decoder) object(owned []byte) (Object, error) {
	if dec.PeekKind() != '{' {
		if _, err := dec.ReadValue(); err != nil {
			return nil, malformed(err)
		}
		return nil, fmt.Errorf("%w: not an object", ErrMalformed)
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, malformed(err)
	}
	var object Object
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, malformed(err)
		}
		member := Member{Name: name.String()}
		value, err := dec.ReadValue()
		if err != nil {
			return nil, malformed(err)
		}
		end := int(dec.InputOffset())
		member.Value = owned[end-len(value) : end : end]
		object = append(object, member)
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, malformed(err)
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: text after the value", ErrMalformed)
	}
	return object, nil
}

// malformed keeps the kind and the place of a syntax error, and none of the input.
func malformed(err error) error {
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return fmt.Errorf("%w: duplicate member name", ErrMalformed)
	case errors.As(err, &syntactic):
		return fmt.Errorf("%w: invalid JSON at byte %d", ErrMalformed, syntactic.ByteOffset)
	default:
		return fmt.Errorf("%w: invalid JSON", ErrMalformed)
	}
}

// Get returns the value of the member called name, or nil.
func (o Object) Get(name string) json.RawMessage {
	for i := range o {
		if o[i].Name == name {
			return o[i].Value
		}
	}
	return nil
}

// String returns the member called name when it is a string.
func (o Object) String(name string) (string, bool) {
	v := o.Get(name)
	if len(v) == 0 || v[0] != '"' {
		return "", false
	}
	var s string
	if json.Unmarshal(v, &s) != nil {
		return "", false
	}
	return s, true
}

// With returns a copy in which name has value: replaced in its place, or added at the end.
func (o Object) With(name string, value json.RawMessage) Object {
	out := make(Object, len(o), len(o)+1)
	copy(out, o)
	for i := range out {
		if out[i].Name == name {
			out[i].Value = value
			return out
		}
	}
	return append(out, Member{Name: name, Value: value})
}

// Without returns a copy that lacks the named members.
func (o Object) Without(names ...string) Object {
	out := make(Object, 0, len(o))
next:
	for _, m := range o {
		for _, name := range names {
			if m.Name == name {
				continue next
			}
		}
		out = append(out, m)
	}
	return out
}

// Append appends the object as JSON and returns the extended buffer.
func (o Object) Append(b []byte) []byte {
	b = append(b, '{')
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		b, _ = jsontext.AppendQuote(b, m.Name)
		b = append(append(b, ':'), m.Value...)
	}
	return append(b, '}')
}

// Raw returns the object as JSON.
func (o Object) Raw() json.RawMessage { return o.Append(nil) }

// Quote returns s as a JSON string. Invalid UTF-8 becomes U+FFFD.
func Quote(s string) json.RawMessage {
	b, _ := jsontext.AppendQuote(nil, s) // the error only reports invalid UTF-8, which is replaced
	return json.RawMessage(b)
}
