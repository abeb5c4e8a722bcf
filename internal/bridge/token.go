// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
)

// Bounds of a token, in bytes.
const (
	minToken = 32
	maxToken = 4096
)

// ErrToken says that a token is too short or too long to be one.
var ErrToken = fmt.Errorf("a bridge's token must have %d to %d bytes", minToken, maxToken)

// Token is the secret that both ends share: at least 32 random bytes. It does not show itself when it is printed.
type Token []byte

// ReadToken reads a token from a file, the only place for it: arguments and environments are seen by others. One
// newline at the end is not part of the token. The error wraps ErrToken, or is the operating system's.
func ReadToken(path string) (Token, error) {
	file, err := os.Open(path) //nolint:gosec // the path comes from who started this program
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(file, maxToken+2))
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	token := Token(bytes.TrimSuffix(b, []byte("\n")))
	return token, token.check()
}

func (t Token) check() error {
	if len(t) < minToken || len(t) > maxToken {
		return ErrToken
	}
	return nil
}

const hidden = "[token]"

// String implements fmt.Stringer without giving the token away.
func (t Token) String() string { return hidden }

// GoString implements fmt.GoStringer without giving the token away.
func (t Token) GoString() string { return hidden }

// LogValue implements slog.LogValuer without giving the token away.
func (t Token) LogValue() slog.Value { return slog.StringValue(hidden) }
