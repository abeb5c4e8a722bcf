// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"errors"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp"
)

var (
	// ErrUnauthenticated says that a token is not valid for an audience, for whatever reason. An Authenticator's other
	// errors mean that it could not tell.
	ErrUnauthenticated = errors.New("token refused")
	// ErrSessionNotFound says that there is no session of that name, or that it is being deleted.
	ErrSessionNotFound = errors.New("no such session")
)

// Principal is an authenticated caller. It is an immutable value that owns its memory.
type Principal struct {
	Username string
	UID      string
	Groups   []string
	Extra    map[string][]string
	// IssuedAt is when the token was issued; zero when the token does not say.
	IssuedAt time.Time
	// PodUID is the Pod that the token is bound to, or empty.
	PodUID string
}

// key tells callers apart: agents of one ServiceAccount in two Pods are two callers.
func (p *Principal) key() string { return p.Username + "\x00" + p.UID + "\x00" + p.PodUID }

// Session is what the gateway knows of an McpSession.
type Session struct {
	ID        mcp.SessionID
	Namespace string
	Name      string
	// ServiceAccountName is the agent's identity; empty means that only an authorised caller may connect.
	ServiceAccountName string
	CreatedAt          time.Time
	// Resolved says that the session's servers are known, so that the Runtime holds it.
	Resolved bool
}

// Authenticator turns a bearer token into a Principal. It refuses a token that was not issued for the audience with an
// error that wraps ErrUnauthenticated. It is called concurrently and bounds its own time.
type Authenticator interface {
	Authenticate(ctx context.Context, token, audience string) (Principal, error)
}

// Sessions finds a session by name. It is called for every request and answers from memory. A missing session, and one
// that is being deleted, is an error that wraps ErrSessionNotFound.
type Sessions interface {
	Lookup(ctx context.Context, namespace, name string) (Session, error)
}

// Authorizer says whether a caller that is not the session's own ServiceAccount may connect to it: verb create on
// mcpsessions/connect. It is asked about sessions that do not exist, too, so that the answer takes as long.
type Authorizer interface {
	MayConnect(ctx context.Context, p Principal, namespace, name string) (bool, error)
}

// Owner says which replica serves a session; shard.Owner implements it. It never blocks.
type Owner interface {
	Owner(id mcp.SessionID) (address string, self bool)
}

// Runtime is what the gateway needs of *mcp.Runtime.
type Runtime interface {
	Snapshot(id mcp.SessionID) (*mcp.Snapshot, bool)
	AwaitSync(ctx context.Context, id mcp.SessionID) (*mcp.Snapshot, error)
	Call(ctx context.Context, id mcp.SessionID, req mcp.CallRequest) (*mcp.CallResult, error)
	Artifact(ctx context.Context, id mcp.SessionID, artifact string, offset, limit int64) (*mcp.Artifact, error)
}
