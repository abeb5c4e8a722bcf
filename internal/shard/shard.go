// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/mooring-dev/mooring/internal/mcp"
)

// Owner says which replica serves a session. A task follows its session.
type Owner interface {
	// Owner returns self=true when this replica owns the session; otherwise the owner's address, or "" when the owner is
	// not known.
	Owner(id mcp.SessionID) (address string, self bool)
}

// Leader owns every session while this replica leads.
type Leader struct {
	elected <-chan struct{}
}

// NewLeader returns an Owner that owns every session once elected is closed. A replica that loses its lease exits, so
// ownership is never given back within a process.
func NewLeader(elected <-chan struct{}) *Leader { return &Leader{elected: elected} }

// Owner implements Owner.
func (l *Leader) Owner(mcp.SessionID) (string, bool) {
	select {
	case <-l.elected:
		return "", true
	default:
		return "", false
	}
}

// lookAgain is how soon a replica asks again who owns a session when nobody is known to.
const lookAgain = time.Second

// Later says when to ask again about a session that this replica does not own. Ownership is told to nobody: at the start
// a reconcile may be a moment earlier than the news of the election.
func Later(owner string) ctrl.Result {
	if owner == "" {
		return ctrl.Result{RequeueAfter: lookAgain}
	}
	return ctrl.Result{}
}
