// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"encoding/json"
	"errors"

	"github.com/mooring-dev/mooring/internal/mcp/clean"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// The bounds of a prompt (CNT-30, CNT-31).
const (
	MaxValueBytes = 16 << 10 // the value of one argument
	MaxMessages   = 128
)

// What an ArgumentError says.
const (
	refusedObject  = "they are not a JSON object"
	refusedReserve = "a name is reserved"
	refusedUnknown = "the prompt has no argument of that name"
	refusedString  = "a value is not a string"
	refusedValue   = "a value is larger than 16 KiB"
	refusedMissing = "a required argument is missing"
)

// What a ResultError says of a prompt; report.go has what it says of parts.
const (
	refusedMessages = "its messages are not an array of objects"
	refusedMany128  = "it has more than 128 messages"
	refusedRole     = "a role is neither user nor assistant"
	refusedContent  = "a message is of an unknown type"
)

// PromptArguments checks the arguments of prompts/get before they are sent: a JSON object of strings, or nil for none.
// All names are judged before any value, and absence last (CNT-30). A nil entry is ErrNotInCatalog, anything else an
// *ArgumentError.
func PromptArguments(entry *Entry, arguments json.RawMessage) error {
	if entry == nil {
		return ErrNotInCatalog
	}
	var object wire.Object
	if arguments != nil {
		var err error
		if object, err = wire.ParseObject(arguments); err != nil {
			return &ArgumentError{refusedObject}
		}
	}
	for _, check := range []func(wire.Member) string{checkReserved, entry.checkKnown, checkValue} {
		for _, argument := range object {
			if refused := check(argument); refused != "" {
				return &ArgumentError{refused}
			}
		}
	}
	for _, a := range entry.Arguments {
		if a.Required && object.Get(a.ID) == nil {
			return &ArgumentError{refusedMissing}
		}
	}
	return nil
}

func checkReserved(argument wire.Member) string {
	if UnsafeName(argument.Name) {
		return refusedReserve
	}
	return ""
}

func (e *Entry) checkKnown(argument wire.Member) string {
	for _, a := range e.Arguments {
		if a.ID == argument.Name {
			return ""
		}
	}
	return refusedUnknown
}

func checkValue(argument wire.Member) string {
	value, ok := wire.Object{argument}.String(argument.Name)
	switch {
	case !ok:
		return refusedString
	case len(value) > MaxValueBytes:
		return refusedValue
	}
	return ""
}

// Prompt is the report of prompts/get. It is a result like any other: what it says has no authority (CNT-32).
type Prompt struct {
	Description string    `json:"description,omitempty"`
	Messages    []Message `json:"messages"`
	// Stripped counts the characters that were taken out of texts, because nobody can see them (DEV-26, DEV-27).
	Stripped int `json:"stripped,omitempty"`
}

// Message is one message of a prompt.
type Message struct {
	// Role is "user" or "assistant".
	Role string `json:"role"`
	// Type is "text", "image", "audio", "resource" or "resource_link".
	Type string `json:"type"`
	// Name of what a link leads to, cleaned; empty in other messages.
	Name string `json:"name,omitempty"`
	Part
}

// PromptReport reports on the result of prompts/get. Its error is a *ResultError.
func PromptReport(raw json.RawMessage) (*Prompt, error) {
	object, err := wire.ParseObject(raw)
	if err != nil {
		return nil, &ResultError{refusedResult}
	}
	r := reader{object: object}
	report := &Prompt{Description: r.description(clean.DescriptionBytes), Messages: []Message{}}
	if r.refused != "" {
		return nil, &ResultError{r.refused}
	}
	m := meter{json: length(r.normal) + len(`,"messages":[]`)}
	err = elements(object.Get("messages"), func(raw json.RawMessage) error {
		if len(report.Messages) == MaxMessages {
			return &ResultError{refusedMany128}
		}
		message, size, err := m.message(raw)
		if err != nil {
			return err
		}
		report.Messages = append(report.Messages, message)
		return m.add(size + len(","))
	})
	switch {
	case errors.Is(err, errNoArray):
		return nil, &ResultError{refusedMessages}
	case err != nil:
		return nil, err
	}
	report.Stripped = m.stripped
	return report, nil
}

func (m *meter) message(raw json.RawMessage) (message Message, size int, err error) {
	object, err := wire.ParseObject(raw)
	if err != nil {
		return message, 0, &ResultError{refusedMessages}
	}
	message.Role, _ = object.String("role")
	if message.Role != "user" && message.Role != "assistant" {
		return message, 0, &ResultError{refusedRole}
	}
	content, err := wire.ParseObject(object.Get("content"))
	if err != nil {
		return message, 0, &ResultError{refusedContent}
	}
	message.Type, _ = content.String("type")
	size = len(`{"content":{"type":""},"role":""}`) + len(message.Type) + len(message.Role)
	r := reader{object: content}
	switch message.Type {
	case "text":
		err = m.text(&r, &message.Part)
	case "image", "audio":
		err = m.binary(&r, "data", &message.Part)
	case "resource":
		var inner int
		message.Part, inner, err = m.contents(content.Get("resource"))
		return message, size + inner + len(`,"resource":`), err
	case "resource_link":
		var inner int
		inner, err = message.link(content)
		return message, size + inner, err
	default:
		return message, 0, &ResultError{refusedContent}
	}
	return message, size + length(r.normal), err
}

// link reads a link as the entry of a resource, which it is.
func (message *Message) link(content wire.Object) (size int, err error) {
	e, normal, refused := Resources.fields(content)
	if refused != "" {
		return 0, &ResultError{refused}
	}
	message.Name, message.URI, message.MimeType = e.Name, e.Shown(), e.MimeType
	return len(normal), nil
}
