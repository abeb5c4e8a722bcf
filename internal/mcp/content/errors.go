// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import "errors"

// ErrNotInCatalog says that a URI or a prompt is not offered by the server (CNT-20, CNT-30, SUB-02, bridge row 8).
var ErrNotInCatalog = errors.New("it is not in the server's catalog")

// ErrTemplate says that a text is no URI template that can be used (CMP-02).
var ErrTemplate = errors.New("it is no valid URI template")

// ListError says why a list was refused. What is a constant of this package, without foreign text.
type ListError struct{ What string }

// Error implements error.
func (e *ListError) Error() string { return "the list was refused: " + e.What }

// ArgumentError says why the arguments of a prompt are not sent (CNT-30). What is a constant of this package.
type ArgumentError struct{ What string }

// Error implements error.
func (e *ArgumentError) Error() string { return "the prompt's arguments were refused: " + e.What }

// ResultError says why there is no report of a result (CNT-21 to CNT-25, CNT-31). What is a constant of this package.
type ResultError struct{ What string }

// Error implements error.
func (e *ResultError) Error() string { return "the result was refused: " + e.What }
