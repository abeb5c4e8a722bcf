// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxMessageBytes bounds one JSON-RPC message in either direction (bridge row 1, DEV-29): 24 MiB.
const MaxMessageBytes = 24 << 20

// MaxMetaBytes bounds the _meta object that is carried across the gateway (bridge row 3): 64 KiB.
const MaxMetaBytes = 64 << 10

// ErrMalformed says that bytes are not one well-formed JSON-RPC 2.0 message. Errors of Parse wrap it.
var ErrMalformed = errors.New("malformed JSON-RPC message")

// ID is a request id with the bytes it was sent in: a JSON string or an integer. The zero value is "no id".
type ID struct{ raw string }

// NumberID returns the id n.
func NumberID(n int64) ID { return ID{raw: strconv.FormatInt(n, 10)} }

// StringID returns the id s.
func StringID(s string) ID {
	b, _ := json.Marshal(s) // a string always marshals
	return ID{raw: string(b)}
}

// IsZero reports whether there is no id.
func (id ID) IsZero() bool { return id.raw == "" }

// Raw returns the id as JSON, or nil when there is none.
func (id ID) Raw() json.RawMessage {
	if id.raw == "" {
		return nil
	}
	return json.RawMessage(id.raw)
}

// String returns the id as JSON text.
func (id ID) String() string { return id.raw }

// Message is one JSON-RPC 2.0 message. Exactly one of these holds:
//   - request: Method and ID are set;
//   - notification: Method is set, ID is not;
//   - response: Method is empty, and exactly one of Result and Error is set.
type Message struct {
	ID     ID
	Method string
	// Params is an object, or nil when the message had none.
	Params json.RawMessage
	// Result is any JSON value; nil unless the message is a successful response.
	Result json.RawMessage
	Error  *Error
}

// IsRequest reports whether the message asks for an answer.
func (m *Message) IsRequest() bool { return m.Method != "" && !m.ID.IsZero() }

// IsNotification reports whether the message asks for none.
func (m *Message) IsNotification() bool { return m.Method != "" && m.ID.IsZero() }

// IsResponse reports whether the message answers a request.
func (m *Message) IsResponse() bool { return m.Method == "" }

// Parse reads one message. Every error wraps ErrMalformed and names what is wrong without quoting the input.
// A batch (JSON array) is refused: no supported protocol version has one.
func Parse(b []byte) (*Message, error) {
	if len(b) > MaxMessageBytes {
		return nil, fmt.Errorf("%w: larger than %d bytes", ErrMalformed, MaxMessageBytes)
	}
	object, err := ParseObject(b)
	if err != nil {
		return nil, err
	}
	m := &Message{}
	version := ""
	for _, member := range object {
		if err := m.take(member, &version); err != nil {
			return nil, err
		}
	}
	if version != "2.0" {
		return nil, fmt.Errorf("%w: jsonrpc must be \"2.0\"", ErrMalformed)
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	return m, nil
}

func (m *Message) take(member Member, version *string) error {
	switch member.Name {
	case "jsonrpc":
		if json.Unmarshal(member.Value, version) != nil {
			return fmt.Errorf("%w: jsonrpc must be a string", ErrMalformed)
		}
	case "id":
		return m.takeID(member.Value)
	case "method":
		return m.takeMethod(member.Value)
	case "params":
		if member.Value[0] != '{' {
			return fmt.Errorf("%w: params must be an object", ErrMalformed)
		}
		m.Params = member.Value
	case "result":
		m.Result = member.Value
	case "error":
		e, err := parseError(member.Value)
		if err != nil {
			return err
		}
		m.Error = e
	}
	return nil
}

func (m *Message) takeMethod(v json.RawMessage) error {
	if v[0] != '"' || json.Unmarshal(v, &m.Method) != nil || m.Method == "" {
		return fmt.Errorf("%w: method must be a non-empty string", ErrMalformed)
	}
	return nil
}

func (m *Message) takeID(v json.RawMessage) error {
	switch {
	case v[0] == '"':
	case bytes.Equal(v, []byte("null")):
		return nil // an error response to a request whose id could not be read
	case v[0] == '-' || (v[0] >= '0' && v[0] <= '9'):
		if bytes.ContainsAny(v, ".eE") {
			return fmt.Errorf("%w: id must be a string or an integer", ErrMalformed)
		}
	default:
		return fmt.Errorf("%w: id must be a string or an integer", ErrMalformed)
	}
	if len(v) > maxIDBytes {
		return fmt.Errorf("%w: id longer than %d bytes", ErrMalformed, maxIDBytes)
	}
	m.ID = ID{raw: string(v)}
	return nil
}

const maxIDBytes = 1024

func (m *Message) check() error {
	if m.Method != "" {
		if m.Result != nil || m.Error != nil {
			return fmt.Errorf("%w: both a method and an answer", ErrMalformed)
		}
		return nil
	}
	if (m.Result == nil) == (m.Error == nil) {
		return fmt.Errorf("%w: an answer needs exactly one of result and error", ErrMalformed)
	}
	if m.ID.IsZero() && m.Error == nil {
		return fmt.Errorf("%w: a result needs an id", ErrMalformed)
	}
	return nil
}

// Append appends the message as compact JSON and returns the extended buffer. Raw parts are written as they are.
func (m *Message) Append(b []byte) []byte {
	b = append(b, `{"jsonrpc":"2.0"`...)
	switch {
	case !m.ID.IsZero():
		b = append(append(b, `,"id":`...), m.ID.raw...)
	case m.Method == "":
		b = append(b, `,"id":null`...)
	}
	if m.Method != "" {
		b, _ = jsontext.AppendQuote(append(b, `,"method":`...), m.Method)
	}
	if m.Params != nil {
		b = append(append(b, `,"params":`...), m.Params...)
	}
	if m.Error != nil {
		b = m.Error.append(append(b, `,"error":`...))
	} else if m.Method == "" {
		b = append(append(b, `,"result":`...), m.Result...)
	}
	return append(b, '}')
}
