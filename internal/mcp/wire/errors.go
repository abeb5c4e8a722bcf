// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// JSON-RPC 2.0 and MCP error codes (2026-07-28 basic, "Error Codes").
const (
	CodeParse              = -32700
	CodeInvalidRequest     = -32600
	CodeMethodNotFound     = -32601
	CodeInvalidParams      = -32602
	CodeInternal           = -32603
	CodeHeaderMismatch     = -32020 // modern only
	CodeMissingCapability  = -32021 // modern only
	CodeUnsupportedVersion = -32022 // modern only
	CodeResourceNotFound   = -32002 // legacy only
	CodeURLElicitation     = -32042 // 2025-11-25 only
)

// Error is a JSON-RPC error as the peer sent it, code and data included. It is an error value. Its message is foreign
// text: clean and cut it before it reaches a status, a log or a person.
type Error struct {
	Code    int64
	Message string
	// Data is any JSON value, or nil.
	Data json.RawMessage
}

// Error implements error. It shows the code only: the message is foreign text.
func (e *Error) Error() string { return fmt.Sprintf("JSON-RPC error %d", e.Code) }

func (e *Error) append(b []byte) []byte {
	b = strconv.AppendInt(append(b, `{"code":`...), e.Code, 10)
	b, _ = jsontext.AppendQuote(append(b, `,"message":`...), e.Message)
	if e.Data != nil {
		b = append(append(b, `,"data":`...), e.Data...)
	}
	return append(b, '}')
}

func parseError(v json.RawMessage) (*Error, error) {
	object, err := ParseObject(v)
	if err != nil {
		return nil, fmt.Errorf("error member: %w", err)
	}
	e := &Error{Data: object.Get("data")}
	code := object.Get("code")
	if e.Code, err = strconv.ParseInt(string(code), 10, 64); err != nil {
		return nil, fmt.Errorf("%w: error.code must be an integer", ErrMalformed)
	}
	message, ok := object.String("message")
	if !ok && object.Get("message") != nil {
		return nil, fmt.Errorf("%w: error.message must be a string", ErrMalformed)
	}
	e.Message = message
	return e, nil
}
