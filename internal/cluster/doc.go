// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster answers the gateway's questions from the API server: who a token's bearer is (TokenReview), what a
// caller may do (SubjectAccessReview), and which session a name means (the manager's cache).
//
// Lifetime: an Authenticator, an Authorizer and a Sessions live as long as the process and need no end; no goroutine
// outlives the time limit of one review. Locking: they are safe for concurrent use; no lock is held while the API server
// is asked. Ordering: equal questions that are asked at the same time share one review. An answer is kept for a few
// seconds, so a revocation takes that much longer to be seen.
package cluster
