// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// metadataNames resolve to metadata services; they are refused early, so that a spec can say so.
var metadataNames = map[string]bool{"metadata": true, "metadata.google.internal": true, "metadata.goog": true}

// CheckURL refuses a URL whose host can be judged without resolving it: an IP address in whatever spelling, or a name that
// always means this host or a metadata service. It returns nil or a *DeniedError. That it returns nil promises nothing:
// DialContext judges what a name resolves to.
func (p *Policy) CheckURL(u *url.URL) error {
	host := u.Hostname()
	// The HTTP client maps a host like this before it dials, and full-width digits become digits.
	if ascii, err := idna.Lookup.ToASCII(host); err == nil {
		host = ascii
	}
	_, _, err := p.checkHost(host)
	return err
}

// checkHost judges what can be judged of a host before it is resolved. It returns the address when the host is one.
func (p *Policy) checkHost(host string) (addr netip.Addr, literal bool, err error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr, true, p.check(addr)
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	switch {
	case metadataNames[name]:
		return netip.Addr{}, false, &DeniedError{Reason: ReasonMetadata}
	case name == "localhost" || strings.HasSuffix(name, ".localhost"):
		// RFC 6761: these names are loopback whatever a resolver says.
		if !p.AllowLoopback {
			return netip.Addr{}, false, &DeniedError{Reason: ReasonLoopback}
		}
	case numeric(name):
		return netip.Addr{}, false, deniedNumber(name)
	}
	return netip.Addr{}, false, nil
}

// numeric reports whether a host is an IPv4 address to somebody: its last label is a number (WHATWG URL, "ends in a
// number"). No such top-level domain exists. A colon is an IPv6 address that does not parse.
func numeric(name string) bool {
	label := name[strings.LastIndexByte(name, '.')+1:]
	if strings.HasPrefix(label, "0x") {
		return strings.Trim(label[2:], "0123456789abcdef") == ""
	}
	return label != "" && strings.Trim(label, "0123456789") == "" || strings.ContainsRune(name, ':')
}

// deniedNumber refuses an address in a spelling that resolvers of C libraries read and others do not. It names the class
// of what they read, if that is refused itself.
func deniedNumber(name string) error {
	if addr, ok := parseNumbers(name); ok {
		if reason := classify(addr); reason != "" {
			return &DeniedError{Reason: reason}
		}
	}
	return &DeniedError{Reason: ReasonSpelling}
}

// parseNumbers reads an IPv4 address as inet_aton does: one to four numbers, decimal, octal or hexadecimal, the last of
// which fills what remains.
func parseNumbers(name string) (netip.Addr, bool) {
	labels := strings.Split(name, ".")
	if len(labels) > 4 {
		return netip.Addr{}, false
	}
	var value uint64
	for i, label := range labels {
		limit := uint64(1) << 8
		if i == len(labels)-1 {
			limit = 1 << (8 * (5 - len(labels)))
		}
		number, err := parseNumber(label)
		if err != nil || number >= limit {
			return netip.Addr{}, false
		}
		value = value*limit + number
	}
	return netip.AddrFrom4([4]byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)}), true
}

// parseNumber reads a number as C does, without a sign.
func parseNumber(label string) (uint64, error) {
	switch {
	case strings.HasPrefix(label, "0x"):
		return strconv.ParseUint(label[2:], 16, 64)
	case len(label) > 1 && label[0] == '0':
		return strconv.ParseUint(label[1:], 8, 64)
	}
	return strconv.ParseUint(label, 10, 64)
}
