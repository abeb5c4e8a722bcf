// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/go-json-experiment/json/jsontext"
)

var errNoArray = errors.New("not an array")

// elements calls each for the elements of a well-formed JSON array, in order, until one fails. They alias list. Nothing
// is allocated for those that a bound refuses.
func elements(list json.RawMessage, each func(json.RawMessage) error) error {
	dec := jsontext.NewDecoder(bytes.NewBuffer(list), jsontext.AllowDuplicateNames(true)) // was read strictly before
	if dec.PeekKind() != '[' {
		return errNoArray
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() != ']' {
		value, err := dec.ReadValue()
		if err != nil {
			return err
		}
		end := int(dec.InputOffset())
		if err := each(list[end-len(value) : end : end]); err != nil {
			return err
		}
	}
	return nil
}

func isNull(value json.RawMessage) bool { return bytes.Equal(value, []byte("null")) }
