// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import "errors"

// ErrMalformed says that a result is not an object with a content array (RES-01).
var ErrMalformed = errors.New("the result is not an object with a content array")

// LimitError says which hard limit a result breaks, so that there is no report of it (RES-10). What is a constant of this
// package, without foreign text. It never fails the call (bridge row 2).
type LimitError struct{ What string }

// Error implements error.
func (e *LimitError) Error() string { return "the result cannot be reported: " + e.What }

// What a LimitError says.
const (
	tooManyParts    = "it has more than 64 parts"
	badPart         = "a part is not an object of a known type"
	badText         = "a text is not a string"
	longText        = "a text is larger than 1 MiB"
	longTexts       = "its texts are larger than 4 MiB"
	badBinary       = "a binary is not standard base64"
	longBinary      = "a binary is larger than 8 MiB"
	longBinaries    = "its binaries are larger than 16 MiB"
	badIdentity     = "a URI, a name or a MIME type is missing, empty or too long"
	longDescription = "a description is larger than 16 KiB"
	badStructured   = "its structured content is not an object"
	longStructured  = "its structured content is larger than 4 MiB"
	longReport      = "its report is larger than 4 MiB"
)
