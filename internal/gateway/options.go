// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"cmp"
	"errors"
	"time"
)

// Options configure a Handler. The ports are required; zero values of the rest take the defaults named here.
type Options struct {
	Authenticator Authenticator
	Sessions      Sessions
	Authorizer    Authorizer
	Owner         Owner
	Runtime       Runtime

	// Version is told to agents in serverInfo; "0".
	Version string
	// AllowedOrigins are the values of the Origin header that are accepted, as scheme://host[:port]. Empty: a request
	// with an Origin, which only browsers send, is refused.
	AllowedOrigins []string
	// AllowedHosts are the values of the Host header that are accepted, each with or without a port. Empty: any.
	AllowedHosts []string
	// AllowUnboundTokens also takes ServiceAccount tokens that are not bound to a Pod for the session's own, such as
	// those of `kubectl create token`. They stay valid until they expire, whatever happens to the agent.
	AllowUnboundTokens bool

	// MaxRequests bounds the requests that are in flight over all sessions, and MaxRequestsPerSession those of one; 4096
	// and 256.
	MaxRequests, MaxRequestsPerSession int
	// MaxCallsPerSession bounds the calls that are in flight for one session; 64.
	MaxCallsPerSession int
	// MaxBodyBytes and MaxBodyBytesPerSession bound the memory that bodies beyond 64 KiB take at one moment; 512 MiB
	// and 96 MiB.
	MaxBodyBytes, MaxBodyBytesPerSession int64

	// SyncWait is how long tools/list waits for lists that are outstanding; 4 s.
	SyncWait time.Duration
	// StreamAfter is when a call without an answer becomes an event stream, so that nothing between takes it for dead;
	// 10 s.
	StreamAfter time.Duration
	// KeepAlive is the pause between comments on an event stream; 15 s.
	KeepAlive time.Duration
	// ReadTimeout bounds the reading of a body and WriteTimeout each write, with a second more for each MiB; 30 s.
	ReadTimeout, WriteTimeout time.Duration
}

func (o Options) withDefaults() Options {
	o.Version = cmp.Or(o.Version, "0")
	o.MaxRequests = cmp.Or(o.MaxRequests, 4096)
	o.MaxRequestsPerSession = cmp.Or(o.MaxRequestsPerSession, 256)
	o.MaxCallsPerSession = cmp.Or(o.MaxCallsPerSession, 64)
	o.MaxBodyBytes = cmp.Or(o.MaxBodyBytes, 512<<20)
	o.MaxBodyBytesPerSession = cmp.Or(o.MaxBodyBytesPerSession, 96<<20)
	o.SyncWait = cmp.Or(o.SyncWait, 4*time.Second)
	o.StreamAfter = cmp.Or(o.StreamAfter, 10*time.Second)
	o.KeepAlive = cmp.Or(o.KeepAlive, 15*time.Second)
	o.ReadTimeout = cmp.Or(o.ReadTimeout, 30*time.Second)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, 30*time.Second)
	return o
}

// check refuses a Handler that would leave a check out because nobody was there to make it.
func (o Options) check() error {
	if o.Authenticator == nil || o.Sessions == nil || o.Authorizer == nil || o.Owner == nil || o.Runtime == nil {
		return errors.New("gateway: every port must be set")
	}
	return nil
}
