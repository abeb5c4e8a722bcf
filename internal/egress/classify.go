// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import "net/netip"

// Why an address is refused: what DeniedError.Reason says.
const (
	ReasonLoopback    = "loopback"
	ReasonLinkLocal   = "link-local"
	ReasonMetadata    = "cloud metadata"
	ReasonUnspecified = "unspecified"
	ReasonMulticast   = "multicast"
	ReasonBroadcast   = "broadcast"
	ReasonReserved    = "reserved"
	// ReasonTranslated: an IPv6 address of a local translator, which may stand for any IPv4 address.
	ReasonTranslated = "translated"
	// ReasonSpelling: a number that is not an IP address in its usual spelling; readers differ about what it means.
	ReasonSpelling = "unusual spelling of an address"
)

// DeniedError says that an address is refused. It names the class of the address, never the address or a name.
type DeniedError struct {
	// Reason is one of the Reason constants.
	Reason string
}

// Error implements error.
func (e *DeniedError) Error() string { return "egress denied: " + e.Reason }

// EgressDenied returns the reason. It lets packages that do not import this one recognise the error.
func (e *DeniedError) EgressDenied() string { return e.Reason }

// refused are the special ranges; the first that matches names the class. Sources: the IANA special-purpose registries,
// and the metadata services of EC2 and ECS, Google, Azure, Alibaba and Oracle. 100.64.0.0/10 is not among them, for some
// clusters have their Services there.
var refused = []struct {
	reason   string
	prefixes []netip.Prefix
}{
	{ReasonMetadata, prefixes("169.254.169.254/32", "169.254.170.2/32", "169.254.170.23/32", "100.100.100.200/32",
		"192.0.0.192/32", "168.63.129.16/32", "fd00:ec2::/32", "fd20:ce::254/128")},
	{ReasonUnspecified, prefixes("0.0.0.0/8", "::/128")},
	{ReasonLoopback, prefixes("127.0.0.0/8", "::1/128")},
	{ReasonLinkLocal, prefixes("169.254.0.0/16", "fe80::/10")},
	{ReasonMulticast, prefixes("224.0.0.0/4", "ff00::/8")},
	{ReasonBroadcast, prefixes("255.255.255.255/32")},
	{ReasonReserved, prefixes("192.0.0.0/24", "198.18.0.0/15", "240.0.0.0/4", "fec0::/10")},
	{ReasonTranslated, prefixes("64:ff9b:1::/48")},
}

// carriers are the IPv6 ranges whose addresses hold an IPv4 address, at a byte offset; Teredo's is inverted.
var carriers = []struct {
	prefix netip.Prefix
	offset int
	invert byte
}{
	{netip.MustParsePrefix("::/96"), 12, 0},           // IPv4-compatible, RFC 4291
	{netip.MustParsePrefix("::ffff:0:0:0/96"), 12, 0}, // IPv4-translated, RFC 2765
	{netip.MustParsePrefix("64:ff9b::/96"), 12, 0},    // NAT64, RFC 6052
	{netip.MustParsePrefix("2002::/16"), 2, 0},        // 6to4, RFC 3056
	{netip.MustParsePrefix("2001::/32"), 4, 0},        // Teredo's server, RFC 4380
	{netip.MustParsePrefix("2001::/32"), 12, 0xff},    // Teredo's client
}

func prefixes(all ...string) []netip.Prefix {
	out := make([]netip.Prefix, 0, len(all))
	for _, s := range all {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

// classify names the class for which addr is refused, or is empty. A zone changes nothing.
func classify(addr netip.Addr) string {
	// An IPv4-mapped address is the IPv4 address: the kernel connects to that. A prefix contains no address with a zone.
	addr = addr.Unmap().WithZone("")
	if !addr.IsValid() {
		return ReasonSpelling
	}
	for i := range refused {
		for _, prefix := range refused[i].prefixes {
			if prefix.Contains(addr) {
				return refused[i].reason
			}
		}
	}
	if addr.Is4() {
		return ""
	}
	return classifyCarried(addr.As16())
}

// classifyCarried judges an IPv6 address by the IPv4 address in it: what a translator on the way would connect to.
func classifyCarried(b [16]byte) string {
	addr := netip.AddrFrom16(b)
	for _, carrier := range carriers {
		if !carrier.prefix.Contains(addr) {
			continue
		}
		if reason := classify(carried(b, carrier.offset, carrier.invert)); reason != "" {
			return reason
		}
	}
	// ISATAP, RFC 5214: any prefix, and an interface identifier that ends with the IPv4 address.
	if b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe {
		return classify(carried(b, 12, 0))
	}
	return ""
}

func carried(b [16]byte, offset int, invert byte) netip.Addr {
	var v4 [4]byte
	for i := range v4 {
		v4[i] = b[offset+i] ^ invert
	}
	return netip.AddrFrom4(v4)
}
