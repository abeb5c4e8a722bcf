// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"errors"
	"net/netip"
	"net/url"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func reasonOf(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	var denied *DeniedError
	if !errors.As(err, &denied) {
		t.Fatalf("want a *DeniedError, got %v", err)
	}
	if denied.EgressDenied() != denied.Reason || denied.Error() != "egress denied: "+denied.Reason {
		t.Errorf("the error says something else than its reason: %v", denied)
	}
	return denied.Reason
}

// addresses are literal addresses and the class for which each is refused; empty for none.
var addresses = map[string]string{
	"127.0.0.1": ReasonLoopback, "127.255.255.254": ReasonLoopback, "::1": ReasonLoopback,
	"::ffff:127.0.0.1": ReasonLoopback, "::ffff:7f00:1": ReasonLoopback, "::1%lo": ReasonLoopback,
	"0.0.0.0": ReasonUnspecified, "0.1.2.3": ReasonUnspecified, "::": ReasonUnspecified, "::ffff:0.0.0.0": ReasonUnspecified,
	"169.254.0.1": ReasonLinkLocal, "fe80::1": ReasonLinkLocal, "fe80::1%eth0": ReasonLinkLocal, "febf::1": ReasonLinkLocal,
	"169.254.169.254": ReasonMetadata, "::ffff:169.254.169.254": ReasonMetadata, "::ffff:a9fe:a9fe": ReasonMetadata,
	"169.254.170.2": ReasonMetadata, "100.100.100.200": ReasonMetadata, "192.0.0.192": ReasonMetadata,
	"168.63.129.16": ReasonMetadata, "fd00:ec2::254": ReasonMetadata, "fd00:ec2::254%eth0": ReasonMetadata,
	"fd20:ce::254": ReasonMetadata,
	"224.0.0.1":    ReasonMulticast, "239.255.255.255": ReasonMulticast, "ff02::1": ReasonMulticast, "ff0e::1": ReasonMulticast,
	"255.255.255.255": ReasonBroadcast, "::ffff:255.255.255.255": ReasonBroadcast,
	"192.0.0.1": ReasonReserved, "198.18.0.1": ReasonReserved, "240.0.0.1": ReasonReserved, "fec0::1": ReasonReserved,
	// IPv4 carried by IPv6.
	"::127.0.0.1": ReasonLoopback, "::a9fe:a9fe": ReasonMetadata, "::ffff:0:127.0.0.1": ReasonLoopback,
	"64:ff9b::127.0.0.1": ReasonLoopback, "64:ff9b::a9fe:a9fe": ReasonMetadata, "64:ff9b::255.255.255.255": ReasonBroadcast,
	"64:ff9b:1::1": ReasonTranslated, "64:ff9b:1:7f00:1::": ReasonTranslated,
	"2002:7f00:1::": ReasonLoopback, "2002:a9fe:a9fe::1": ReasonMetadata, "2002:0:0::1": ReasonUnspecified,
	"2001:0:7f00:1::":                        ReasonLoopback, // Teredo's server
	"2001:0:808:808:0:ffff:80ff:fffe":        ReasonLoopback, // Teredo's client, inverted
	"2001:0:808:808:0:ffff:5601:5601":        ReasonMetadata,
	"2a00::5efe:127.0.0.1":                   ReasonLoopback, // ISATAP
	"2a00::200:5efe:a9fe:a9fe":               ReasonMetadata,
	"2a00:1:2:3:0:5efe:8.8.8.8":              "",
	"2001:0:808:808:0:ffff:f7f7:f7f7":        "",
	"8.8.8.8":                                "",
	"10.0.0.1":                               "",
	"10.96.0.1":                              "",
	"172.16.0.1":                             "",
	"192.168.1.1":                            "",
	"100.64.0.1":                             "",
	"192.0.1.1":                              "",
	"::ffff:10.0.0.1":                        "",
	"64:ff9b::8.8.8.8":                       "",
	"2002:808:808::1":                        "",
	"fd00::1":                                "",
	"fd12:3456:789a::1":                      "",
	"2606:4700:4700::1111":                   "",
	"2001:4860:4860::8888":                   "",
	"128.0.0.1":                              "",
	"126.255.255.255":                        "",
	"223.255.255.255":                        "",
	"2001:db8:ffff:ffff:ffff:ffff:7f00:0001": "",
}

func TestClassify(t *testing.T) {
	for text, want := range addresses {
		if got := classify(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: want %q, got %q", text, want, got)
		}
	}
	if got := classify(netip.Addr{}); got == "" {
		t.Error("want no address refused")
	}
}

func TestAllowLoopback(t *testing.T) {
	p := &Policy{AllowLoopback: true}
	for text, want := range addresses {
		switch text {
		case "127.0.0.1", "127.255.255.254", "::1", "::1%lo", "::ffff:127.0.0.1", "::ffff:7f00:1":
			want = ""
		}
		if got := reasonOf(t, p.check(netip.MustParseAddr(text))); got != want {
			t.Errorf("%s: want %q, got %q", text, want, got)
		}
	}
}

// hosts are hosts of URLs that can be judged, or not, without resolving them.
var hosts = map[string]string{
	"localhost": ReasonLoopback, "LOCALHOST": ReasonLoopback, "localhost.": ReasonLoopback, "a.localhost": ReasonLoopback,
	"metadata.google.internal": ReasonMetadata, "METADATA.google.internal.": ReasonMetadata, "metadata": ReasonMetadata,
	"metadata.goog": ReasonMetadata,
	// Spellings of 127.0.0.1, 169.254.169.254 and others that inet_aton reads.
	"127.1": ReasonLoopback, "127.0.1": ReasonLoopback, "2130706433": ReasonLoopback, "0x7f000001": ReasonLoopback,
	"0X7F000001": ReasonLoopback, "0x7f.0.0.1": ReasonLoopback, "0x7f.1": ReasonLoopback, "0177.0.0.1": ReasonLoopback,
	"017700000001": ReasonLoopback, "127.0.0.1.": ReasonLoopback, "127.0.0.01": ReasonLoopback, "127.0.0x0.1": ReasonLoopback,
	"2852039166": ReasonMetadata, "0xa9fea9fe": ReasonMetadata, "0xa9.0xfe.0xa9.0xfe": ReasonMetadata,
	"0251.0376.0251.0376": ReasonMetadata, "169.254.43518": ReasonMetadata, "169.16689662": ReasonMetadata,
	"0": ReasonUnspecified, "0x0": ReasonUnspecified, "00.0.0.0": ReasonUnspecified, "4294967295": ReasonBroadcast,
	"%e2%91%a0%e2%91%a1%e2%91%a6.0.0.1": ReasonLoopback, // circled digits
	"%ef%bc%91%ef%bc%92%ef%bc%97.1":     ReasonLoopback, // full-width digits
	"127%e3%80%820.0.1":                 ReasonLoopback, // ideographic full stop
	"08.8.8.8":                          ReasonSpelling, "8.8.8.8.": ReasonSpelling, "010.0.0.1": ReasonSpelling, "0x8.8.8.8": ReasonSpelling,
	"8.8": ReasonSpelling, "134744072": ReasonSpelling, "256.0.0.1": ReasonSpelling, "1.2.3.4.5": ReasonSpelling,
	"4294967296": ReasonSpelling, "0x": ReasonSpelling, "a.0x": ReasonSpelling, "example.1": ReasonSpelling,
	"99999999999999999999": ReasonSpelling,
	"[::1]":                ReasonLoopback, "[::ffff:7f00:1]": ReasonLoopback, "[fe80::1%25eth0]": ReasonLinkLocal,
	"[0:0:0:0:0:ffff:169.254.169.254]": ReasonMetadata,
	"8.8.8.8":                          "", "10.1.2.3": "", "[fd00::1]": "", "example.com": "", "server.tools.svc.cluster.local": "",
	"notlocalhost": "", "localhost.example.com": "", "0x7f.example": "", "1.example": "", "my_svc": "", "metadata.example.com": "",
	"0xg": "", "127.0.0.1.nip.io": "", "xn--bcher-kva.example": "", "b%c3%bccher.example": "",
}

func TestCheckURL(t *testing.T) {
	for host, want := range hosts {
		u, err := url.Parse("https://" + host + ":8443/mcp")
		if err != nil {
			t.Errorf("%s: %v", host, err)
			continue
		}
		if got := reasonOf(t, (&Policy{}).CheckURL(u)); got != want {
			t.Errorf("%s: want %q, got %q", host, want, got)
		}
		if want == ReasonLoopback && (host == "localhost" || host == "[::1]") {
			want = ""
			if got := reasonOf(t, (&Policy{AllowLoopback: true}).CheckURL(u)); got != want {
				t.Errorf("%s with AllowLoopback: want %q, got %q", host, want, got)
			}
		}
	}
	// A name of a resolver is not judged, an unusual spelling is not made usual.
	if got := reasonOf(t, (&Policy{AllowLoopback: true}).CheckURL(&url.URL{Host: "127.1"})); got == "" {
		t.Error("127.1 with AllowLoopback: want it refused")
	}
}

func FuzzCheckHost(f *testing.F) {
	for host := range hosts {
		f.Add(host)
	}
	for address := range addresses {
		f.Add(address)
	}
	f.Fuzz(func(t *testing.T, host string) {
		p := &Policy{}
		addr, literal, err := p.checkHost(host)
		switch {
		case literal && (classify(addr) != "") != (err != nil):
			t.Errorf("%q: an address that is %q, and the error %v", host, classify(addr), err)
		case err != nil:
			reasonOf(t, err)
		case !literal:
			if number, ok := parseNumbers(host); ok {
				t.Errorf("%q: taken for a name, and C reads %v", host, number)
			}
		}
		_ = p.CheckURL(&url.URL{Host: host})
	})
}

// FuzzClassify holds every IPv6 form that carries an IPv4 address to that address's class.
func FuzzClassify(f *testing.F) {
	f.Add(byte(127), byte(0), byte(0), byte(1))
	f.Add(byte(169), byte(254), byte(169), byte(254))
	f.Add(byte(10), byte(0), byte(0), byte(1))
	f.Fuzz(func(t *testing.T, a, b, c, d byte) {
		v4 := [4]byte{a, b, c, d}
		want := classify(netip.AddrFrom4(v4))
		forms := map[string][16]byte{
			"mapped":     {10: 0xff, 11: 0xff, 12: a, 13: b, 14: c, 15: d},
			"translated": {8: 0xff, 9: 0xff, 12: a, 13: b, 14: c, 15: d},
			"NAT64":      {1: 0x64, 2: 0xff, 3: 0x9b, 12: a, 13: b, 14: c, 15: d},
			"6to4":       {0: 0x20, 1: 2, 2: a, 3: b, 4: c, 5: d, 15: 1},
			"Teredo":     {0: 0x20, 1: 1, 4: 8, 5: 8, 6: 8, 7: 8, 12: ^a, 13: ^b, 14: ^c, 15: ^d},
			"ISATAP":     {0: 0x2a, 10: 0x5e, 11: 0xfe, 12: a, 13: b, 14: c, 15: d},
		}
		for name, form := range forms {
			if got := classify(netip.AddrFrom16(form)); got != want {
				t.Errorf("%s of %v: want %q, got %q", name, v4, want, got)
			}
		}
	})
}
