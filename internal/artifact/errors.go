// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"context"
	"errors"
	"fmt"

	"gocloud.dev/gcerrors"
)

// Errors of this package. Their texts hold nothing of what is stored.
var (
	// ErrIdentity says that a session's identity is empty or larger than MaxIdentityBytes (RES-21).
	ErrIdentity = errors.New("artifact: the session's identity must have 1 to 4096 bytes")
	// ErrQuota says that a session has used what it may (RES-24).
	ErrQuota = errors.New("artifact: the session's quota is used up")
	// ErrUnsafe says that what is there is not ours alone: a link, another owner or mode, or a name that we do not give.
	// Nothing is written to the session until a scan finds it gone (RES-22, RES-23).
	ErrUnsafe = errors.New("artifact: the session's store holds an unsafe entry")
	// ErrTampered says that an artifact's bytes are not those of its id (RES-25).
	ErrTampered = errors.New("artifact: the stored bytes are not those of the artifact")
	// ErrNotFound says that the session has no such artifact.
	ErrNotFound = errors.New("artifact: there is no such artifact")
	// ErrRange says that an offset is negative.
	ErrRange = errors.New("artifact: the offset is negative")
	// ErrDeleted says that the session's artifacts have been deleted; it takes no more.
	ErrDeleted = errors.New("artifact: the session's artifacts have been deleted")
	// ErrLocation says that a URL names no store that can be opened.
	ErrLocation = errors.New("artifact: the location must be file:///directory or s3://bucket with its parameters")
	// ErrUnavailable says that the store did not do what it was asked.
	ErrUnavailable = errors.New("artifact: the store failed")
)

// errExists says that an object was there before.
var errExists = errors.New("artifact: it exists")

// driverError keeps the class of a store's error, and nothing that the store wrote.
func driverError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, ctx.Err())
	}
	switch code := gcerrors.Code(err); code { //nolint:exhaustive // the others are all the same to us
	case gcerrors.NotFound:
		return ErrNotFound
	case gcerrors.FailedPrecondition:
		return errExists
	default:
		return fmt.Errorf("%w (%s)", ErrUnavailable, code)
	}
}
