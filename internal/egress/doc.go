// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

// Package egress decides where sockets may lead. An address is judged by what it is, after names are resolved and again
// when the socket is about to connect, so that a name that resolves differently a moment later (DNS rebinding) leads
// nowhere. Loopback, link-local, metadata and other special addresses are refused in every spelling and in every IPv6
// form that carries one; private ranges are not, for the Services of a cluster live there.
//
// Lifetime: a Policy is configuration and holds nothing. Locking: none; a Policy is not changed once it is in use and is
// safe for concurrent use. Ordering: DialContext returns after every attempt that it began has ended.
package egress
