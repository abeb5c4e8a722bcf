// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package completion

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mooring-dev/mooring/internal/mcp/content"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// The bounds of a request (CMP-04 to CMP-06).
const (
	MaxNameBytes      = 256 // of a prompt, an argument or a context entry
	MaxTemplateBytes  = 8192
	MaxValueBytes     = 16384
	MaxContextEntries = 32
	MaxContextBytes   = 65536 // names and values together
)

// Reason says why a request is not sent. Values are stable: they are told to agents.
type Reason string

// The reasons. Those of CMP-02 to CMP-06 are looked for in that order.
const (
	TooManyRequests  Reason = "TooManyRequests"  // 4 are in flight on the connection
	UnknownPrompt    Reason = "UnknownPrompt"    // the server lists no such prompt
	UnknownTemplate  Reason = "UnknownTemplate"  // the server lists no such template
	InvalidTemplate  Reason = "InvalidTemplate"  // it lists the template, which is none of RFC 6570
	InvalidReference Reason = "InvalidReference" // it is of another type
	UndeclaredName   Reason = "UndeclaredName"   // the prompt or template has no such argument
	InvalidName      Reason = "InvalidName"      // a name is empty, too long, reserved, or has characters that are not kept
	InvalidValue     Reason = "InvalidValue"     // a value is too long or has control characters
	InvalidContext   Reason = "InvalidContext"   // an entry is undeclared or named twice
	ContextTooLarge  Reason = "ContextTooLarge"  // there are too many entries, or too many bytes in them
	MalformedRequest Reason = "MalformedRequest" // ParseRequest: it is no request
)

// RefusedError says why a request is not sent, without foreign text.
type RefusedError struct{ Reason Reason }

// Error implements error.
func (e *RefusedError) Error() string { return "the completion was refused: " + string(e.Reason) }

// RefType is the type of a reference, as on the wire.
type RefType string

// The types of references.
const (
	PromptRef   RefType = "ref/prompt"
	ResourceRef RefType = "ref/resource"
)

// Ref says whose argument is to be completed.
type Ref struct {
	Type RefType
	// Name is the prompt's name or the text of the URI template, exactly as the server lists it.
	Name string
}

// Argument is a name with a value.
type Argument struct{ Name, Value string }

// Request is one request for completion.
type Request struct {
	Ref      Ref
	Argument Argument
	// Context holds what is known of other arguments, in the order in which it is sent.
	Context []Argument
}

// Check says whether a request may be sent to the server with these catalogs of prompts and templates (CMP-02 to
// CMP-06, SEC-09). Its error is a *RefusedError: the first that is found, in the order of the requirements.
func Check(req Request, prompts, templates *content.Catalog) error {
	declared, reason := req.declared(prompts, templates)
	if reason == "" && !slices.Contains(declared, req.Argument.Name) {
		reason = UndeclaredName
	}
	for _, check := range []func() Reason{
		req.checkNames, req.checkValues, func() Reason { return req.checkContext(declared) },
	} {
		if reason == "" {
			reason = check()
		}
	}
	if reason != "" {
		return &RefusedError{reason}
	}
	return nil
}

// declared returns the names of the reference's arguments (CMP-02, CMP-03).
func (req *Request) declared(prompts, templates *content.Catalog) ([]string, Reason) {
	switch req.Ref.Type {
	case PromptRef:
		prompt, ok := prompts.Lookup(req.Ref.Name)
		if !ok {
			return nil, UnknownPrompt
		}
		names := make([]string, 0, len(prompt.Arguments))
		for _, a := range prompt.Arguments {
			names = append(names, a.ID)
		}
		return names, ""
	case ResourceRef:
		if _, ok := templates.Lookup(req.Ref.Name); !ok {
			return nil, UnknownTemplate
		}
		names, err := content.Variables(req.Ref.Name)
		if err != nil {
			return nil, InvalidTemplate
		}
		return names, ""
	}
	return nil, InvalidReference
}

// checkNames applies CMP-04.
func (req *Request) checkNames() Reason {
	maxRef := MaxNameBytes
	if req.Ref.Type == ResourceRef {
		maxRef = MaxTemplateBytes
	}
	ok := goodName(req.Ref.Name, maxRef) && goodName(req.Argument.Name, MaxNameBytes)
	for _, a := range req.Context {
		ok = ok && goodName(a.Name, MaxNameBytes)
	}
	if !ok {
		return InvalidName
	}
	return ""
}

// goodName wants a name of which all is seen: what looks like another one may not be sent.
func goodName(name string, maxBytes int) bool {
	return name != "" && len(name) <= maxBytes && !content.UnsafeName(name) && sanitize(name) == name
}

// checkValues applies CMP-05.
func (req *Request) checkValues() Reason {
	for _, a := range append([]Argument{req.Argument}, req.Context...) {
		if len(a.Value) > MaxValueBytes || !utf8.ValidString(a.Value) || strings.ContainsFunc(a.Value, isControl) {
			return InvalidValue
		}
	}
	return ""
}

// checkContext applies CMP-06.
func (req *Request) checkContext(declared []string) Reason {
	if len(req.Context) > MaxContextEntries {
		return ContextTooLarge
	}
	seen, size := map[string]bool{}, 0
	for _, a := range req.Context {
		if seen[a.Name] || !slices.Contains(declared, a.Name) {
			return InvalidContext
		}
		seen[a.Name] = true
		size += len(a.Name) + len(a.Value)
	}
	if size > MaxContextBytes {
		return ContextTooLarge
	}
	return ""
}

// Params returns the params of completion/complete for a request that Check lets through. An empty context is left out
// (CMP-06).
func Params(req Request) wire.Object {
	name := "name"
	if req.Ref.Type == ResourceRef {
		name = "uri"
	}
	params := wire.Object{
		{Name: "ref", Value: wire.Object{
			{Name: "type", Value: wire.Quote(string(req.Ref.Type))},
			{Name: name, Value: wire.Quote(req.Ref.Name)},
		}.Raw()},
		{Name: "argument", Value: wire.Object{
			{Name: "name", Value: wire.Quote(req.Argument.Name)},
			{Name: "value", Value: wire.Quote(req.Argument.Value)},
		}.Raw()},
	}
	if len(req.Context) == 0 {
		return params
	}
	var arguments wire.Object
	for _, a := range req.Context {
		arguments = append(arguments, wire.Member{Name: a.Name, Value: wire.Quote(a.Value)})
	}
	return params.With("context", wire.Object{{Name: "arguments", Value: arguments.Raw()}}.Raw())
}

// ParseRequest reads the params of completion/complete, as an agent sends them. What a Request has no place for, such as
// _meta or the title of a reference, is left. Its error is a *RefusedError.
func ParseRequest(params json.RawMessage) (Request, error) {
	req, err := parseRequest(params)
	if err != nil {
		return Request{}, &RefusedError{MalformedRequest}
	}
	return req, nil
}

var errType = errors.New("a member is of another type")

func parseRequest(params json.RawMessage) (req Request, err error) {
	object, err := wire.ParseObject(params)
	if err != nil {
		return req, err
	}
	ref, err := wire.ParseObject(object.Get("ref"))
	if err != nil {
		return req, err
	}
	kind, _ := ref.String("type")
	req.Ref.Type = RefType(kind)
	name := "name"
	if req.Ref.Type == ResourceRef {
		name = "uri"
	}
	argument, err := wire.ParseObject(object.Get("argument"))
	if err != nil {
		return req, err
	}
	var ok [3]bool
	req.Ref.Name, ok[0] = ref.String(name)
	req.Argument.Name, ok[1] = argument.String("name")
	req.Argument.Value, ok[2] = argument.String("value")
	if ok != [3]bool{true, true, true} {
		return req, fmt.Errorf("ref or argument: %w", errType)
	}
	req.Context, err = parseContext(object.Get("context"))
	return req, err
}

func parseContext(raw json.RawMessage) ([]Argument, error) {
	if raw == nil {
		return nil, nil
	}
	object, err := wire.ParseObject(raw)
	if err != nil || object.Get("arguments") == nil {
		return nil, err
	}
	arguments, err := wire.ParseObject(object.Get("arguments"))
	if err != nil {
		return nil, err
	}
	var context []Argument
	for _, a := range arguments {
		value, ok := arguments.String(a.Name)
		if !ok {
			return nil, fmt.Errorf("context: %w", errType)
		}
		context = append(context, Argument{Name: a.Name, Value: value})
	}
	return context, nil
}
