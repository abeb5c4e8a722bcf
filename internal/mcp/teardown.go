// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

// TeardownStep is how far the teardown of a session has come.
type TeardownStep string

// The steps of a teardown, in their order: the runtime's part of the cleanup order of a session.
const (
	// TeardownIntakeClosed: no new call is accepted.
	TeardownIntakeClosed TeardownStep = "IntakeClosed"
	// TeardownCallsCancelled: calls in flight have ended and their servers were told.
	TeardownCallsCancelled TeardownStep = "CallsCancelled"
	// TeardownProjectionWithdrawn: nothing is listened to and no tool is offered.
	TeardownProjectionWithdrawn TeardownStep = "ProjectionWithdrawn"
	// TeardownSessionsEnded: sessions are ended at their servers and sockets are closed.
	TeardownSessionsEnded TeardownStep = "SessionsEnded"
	// TeardownArtifactsDeleted: what results left is deleted.
	TeardownArtifactsDeleted TeardownStep = "ArtifactsDeleted"
	// TeardownDone: nothing is left.
	TeardownDone TeardownStep = "Done"
)

// Teardown is where the teardown of a session stands.
type Teardown struct {
	// Step is the last one that was completed.
	Step TeardownStep
	Done bool
	// Held says that this runtime had the session: a predecessor's connections are not its to confirm.
	Held bool
	// Unconfirmed names the servers that did not confirm the end of their session, sorted.
	Unconfirmed []string
}

// Stats counts what a Runtime holds.
type Stats struct {
	// Sessions counts those held, without the ones being released, which Releasing counts.
	Sessions, Releasing int
	// Connections counts the connections of the sessions by state.
	Connections   map[State]int
	CallsInFlight int
}
