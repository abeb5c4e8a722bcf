// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"syscall"
	"time"
)

const (
	// maxAddresses bounds the attempts of one dial; a name may resolve to thousands.
	maxAddresses = 16
	// attemptDelay is how long an attempt is waited for before the next begins beside it (RFC 8305 §5).
	attemptDelay = 250 * time.Millisecond
)

// Resolver finds the addresses of a name, the preferred first; a *net.Resolver is one. The network is ip, ip4 or ip6.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Policy says where sockets may lead. The zero value refuses loopback.
type Policy struct {
	// AllowLoopback lets sockets lead to this host: 127.0.0.0/8, ::1 and localhost, for tests and demonstrations. Forms
	// that carry a loopback address through a translator stay refused.
	AllowLoopback bool
	// Resolver replaces net.DefaultResolver.
	Resolver Resolver
}

// DialContext connects to host:port on the network tcp, tcp4 or tcp6. Of the addresses that the host resolves to, those
// that are refused are left out; a *DeniedError says that none remains. At most 16 are tried, each beside the last after
// 250 ms. Other errors are those of net: *net.DNSError and *net.OpError. ctx bounds the whole.
func (p *Policy) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	targets, err := p.targets(ctx, network, address)
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{ControlContext: p.control}
	return race(ctx, targets, func(ctx context.Context, target netip.AddrPort) (net.Conn, error) {
		return dialer.DialContext(ctx, network, target.String())
	})
}

// control judges the address that a socket is about to connect to, whatever was resolved before.
func (p *Policy) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	target, err := netip.ParseAddrPort(address)
	if err != nil {
		return &DeniedError{Reason: ReasonSpelling}
	}
	return p.check(target.Addr())
}

// check refuses an address, by a *DeniedError.
func (p *Policy) check(addr netip.Addr) error {
	reason := classify(addr)
	if reason == "" || p.AllowLoopback && addr.Unmap().IsLoopback() {
		return nil
	}
	return &DeniedError{Reason: reason}
}

// targets resolves an address to what may be dialled, the preferred first.
func (p *Policy) targets(ctx context.Context, network, address string) ([]netip.AddrPort, error) {
	lookup, ok := map[string]string{"tcp": "ip", "tcp4": "ip4", "tcp6": "ip6"}[network]
	if !ok {
		return nil, net.UnknownNetworkError(network)
	}
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(service, 10, 16)
	if err != nil || port == 0 {
		return nil, &net.AddrError{Err: "invalid port", Addr: address}
	}
	addr, literal, err := p.checkHost(host)
	if err != nil {
		return nil, err
	}
	addrs := []netip.Addr{addr}
	if !literal {
		if addrs, err = p.resolver().LookupNetIP(ctx, lookup, host); err != nil {
			return nil, err
		}
	}
	return p.allowed(addrs, uint16(port), host)
}

func (p *Policy) resolver() Resolver {
	if p.Resolver != nil {
		return p.Resolver
	}
	return net.DefaultResolver
}

// allowed leaves out what is refused. An error is about the first address.
func (p *Policy) allowed(addrs []netip.Addr, port uint16, host string) ([]netip.AddrPort, error) {
	if len(addrs) == 0 {
		return nil, &net.DNSError{Err: "no addresses", Name: host, IsNotFound: true}
	}
	var first error
	out := make([]netip.AddrPort, 0, min(len(addrs), maxAddresses))
	for _, addr := range addrs {
		if err := p.check(addr); err != nil {
			if first == nil {
				first = err
			}
			continue
		}
		if len(out) < maxAddresses {
			out = append(out, netip.AddrPortFrom(addr.Unmap(), port))
		}
	}
	if len(out) == 0 {
		return nil, first
	}
	return interleave(out), nil
}

// interleave alternates the address families and begins with that of the first, so that a family that leads nowhere costs
// one attempt's delay and not one for each of its addresses (RFC 8305 §4).
func interleave(in []netip.AddrPort) []netip.AddrPort {
	var families [2][]netip.AddrPort
	for _, target := range in {
		i := 0
		if target.Addr().Is4() != in[0].Addr().Is4() {
			i = 1
		}
		families[i] = append(families[i], target)
	}
	out := make([]netip.AddrPort, 0, len(in))
	for i := range in {
		for _, family := range families {
			if i < len(family) {
				out = append(out, family[i])
			}
		}
	}
	return out
}

type attempt struct {
	conn net.Conn
	err  error
}

// race dials the targets one after the other, without waiting longer than attemptDelay for any, and returns the first
// connection, or the first error when all have failed.
func race(ctx context.Context, targets []netip.AddrPort,
	dial func(context.Context, netip.AddrPort) (net.Conn, error),
) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	results := make(chan attempt)
	var attempts sync.WaitGroup
	defer attempts.Wait() // after cancel, so that no attempt outlives the dial
	defer cancel()
	begin := func(target netip.AddrPort) {
		conn, err := dial(ctx, target)
		select {
		case results <- attempt{conn, err}:
		case <-ctx.Done():
			if conn != nil {
				_ = conn.Close() // another attempt won
			}
		}
	}
	var first error
	for begun, ended := 0, 0; ended < len(targets); {
		if begun < len(targets) {
			target := targets[begun]
			attempts.Go(func() { begin(target) })
			begun++
		}
		var later <-chan time.Time
		if begun < len(targets) {
			later = time.After(attemptDelay)
		}
		select {
		case <-later:
		case result := <-results:
			if result.err == nil {
				return result.conn, nil
			}
			ended++
			first = cmp.Or(first, result.err)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return nil, first
}
