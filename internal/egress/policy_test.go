// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// resolver answers every name with the same addresses.
type resolver struct {
	addrs []string
	err   error
	asked []string
}

func (r *resolver) LookupNetIP(_ context.Context, network, host string) ([]netip.Addr, error) {
	r.asked = append(r.asked, network+" "+host)
	out := make([]netip.Addr, 0, len(r.addrs))
	for _, s := range r.addrs {
		out = append(out, netip.MustParseAddr(s))
	}
	return out, r.err
}

func TestTargets(t *testing.T) {
	many := make([]string, 0, 1000)
	for i := range cap(many) {
		many = append(many, netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)}).String())
	}
	for name, c := range map[string]struct {
		network string
		address string
		addrs   []string
		want    []string
		denied  string
		asked   bool
	}{
		"a name":             {address: "a.example:443", addrs: []string{"10.0.0.1"}, want: []string{"10.0.0.1:443"}, asked: true},
		"a literal":          {address: "[fd00::1]:80", want: []string{"[fd00::1]:80"}},
		"some are refused":   {address: "a.example:1", addrs: []string{"127.0.0.1", "10.0.0.1", "169.254.169.254"}, want: []string{"10.0.0.1:1"}, asked: true},
		"all are refused":    {address: "a.example:1", addrs: []string{"::1", "169.254.169.254"}, denied: ReasonLoopback, asked: true},
		"mapped is unmapped": {address: "a.example:1", addrs: []string{"::ffff:10.0.0.1"}, want: []string{"10.0.0.1:1"}, asked: true},
		"families alternate": {
			address: "a.example:1", addrs: []string{"fd00::1", "fd00::2", "10.0.0.1", "fd00::3"},
			want: []string{"[fd00::1]:1", "10.0.0.1:1", "[fd00::2]:1", "[fd00::3]:1"}, asked: true,
		},
		"number":         {address: "2130706433:80", denied: ReasonLoopback},
		"odd number":     {address: "010.0.0.1:80", denied: ReasonSpelling},
		"localhost":      {address: "localhost:80", denied: ReasonLoopback},
		"metadata":       {address: "169.254.169.254:80", denied: ReasonMetadata},
		"metadata, name": {address: "metadata.google.internal:80", denied: ReasonMetadata},
	} {
		t.Run(name, func(t *testing.T) {
			r := &resolver{addrs: c.addrs}
			targets, err := (&Policy{Resolver: r}).targets(t.Context(), "tcp", c.address)
			if got := reasonOf(t, err); got != c.denied {
				t.Errorf("want %q, got %q", c.denied, got)
			}
			var got []string
			for _, target := range targets {
				got = append(got, target.String())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("targets (-want +got):\n%s", diff)
			}
			if (len(r.asked) > 0) != c.asked {
				t.Errorf("asked %v", r.asked)
			}
		})
	}
	targets, err := (&Policy{Resolver: &resolver{addrs: many}}).targets(t.Context(), "tcp", "a.example:1")
	if err != nil || len(targets) != maxAddresses {
		t.Errorf("want %d targets, got %d, %v", maxAddresses, len(targets), err)
	}
}

func TestBadAddresses(t *testing.T) {
	r := &resolver{}
	p := &Policy{Resolver: r}
	for _, c := range [][2]string{
		{"udp", "a.example:1"},
		{"unix", "/run/socket"},
		{"tcp", "a.example"},
		{"tcp", "a.example:0"},
		{"tcp", "a.example:65536"},
		{"tcp", "a.example:http"},
		{"tcp", ""},
	} {
		if conn, err := p.DialContext(t.Context(), c[0], c[1]); err == nil {
			_ = conn.Close()
			t.Errorf("%v: want an error", c)
		}
	}
	if len(r.asked) > 0 {
		t.Errorf("want nothing resolved, got %v", r.asked)
	}
	var dns *net.DNSError
	if _, err := p.DialContext(t.Context(), "tcp4", "a.example:1"); !errors.As(err, &dns) || !dns.IsNotFound {
		t.Errorf("no address: want a DNS error, got %v", err)
	}
	r.err = &net.DNSError{IsTemporary: true}
	if _, err := p.DialContext(t.Context(), "tcp6", "a.example:1"); !errors.As(err, &dns) || !dns.IsTemporary {
		t.Errorf("want the resolver's error, got %v", err)
	}
	if diff := cmp.Diff([]string{"ip4 a.example", "ip6 a.example"}, r.asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

// listen returns the port of a server on loopback that counts its connections.
func listen(t *testing.T) (port string, count *atomic.Int32) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	count = &atomic.Int32{}
	var served sync.WaitGroup
	served.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			count.Add(1)
			_ = conn.Close()
		}
	})
	t.Cleanup(func() { _ = listener.Close(); served.Wait() })
	return strconv.Itoa(listener.Addr().(*net.TCPAddr).Port), count
}

func TestDialContext(t *testing.T) {
	port, _ := listen(t)
	p := &Policy{AllowLoopback: true, Resolver: &resolver{addrs: []string{"169.254.169.254", "127.0.0.1"}}}
	conn, err := p.DialContext(t.Context(), "tcp", "a.example:"+port)
	if err != nil {
		t.Fatal(err)
	}
	if got := conn.RemoteAddr().String(); got != "127.0.0.1:"+port {
		t.Errorf("connected to %s", got)
	}
	_ = conn.Close()

	closed, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := closed.Addr().String()
	_ = closed.Close()
	if _, err := p.DialContext(t.Context(), "tcp", address); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("want the refusal, got %v", err)
	}
}

// TestNoConnection shows that no spelling of this host reaches a server on it.
func TestNoConnection(t *testing.T) {
	port, count := listen(t)
	p := &Policy{}
	for host, reason := range hosts {
		if reason == "" || reason == ReasonSpelling {
			continue
		}
		if conn, err := p.DialContext(t.Context(), "tcp", host+":"+port); err == nil {
			_ = conn.Close()
			t.Errorf("%s: want an error", host)
		}
	}
	if count.Load() != 0 {
		t.Errorf("%d connections were made", count.Load())
	}
}

// TestControl shows that the socket's own address decides, whatever was judged before: a dialer that is given an address
// that nobody judged does not connect.
func TestControl(t *testing.T) {
	port, count := listen(t)
	dialer := &net.Dialer{ControlContext: (&Policy{}).control}
	for _, host := range []string{"127.0.0.1", "localhost"} {
		conn, err := dialer.DialContext(t.Context(), "tcp", net.JoinHostPort(host, port))
		if err == nil {
			_ = conn.Close()
		}
		if got := reasonOf(t, err); got != ReasonLoopback {
			t.Errorf("%s: want it refused, got %q", host, got)
		}
	}
	if count.Load() != 0 {
		t.Errorf("%d connections were made", count.Load())
	}
}

// script is what dialling each target does: after a while, connect or fail.
type script struct {
	after time.Duration
	err   error
}

func TestRace(t *testing.T) {
	errFirst, errSecond := errors.New("first"), errors.New("second")
	const never = time.Hour
	for name, c := range map[string]struct {
		scripts []script
		want    int // the target that wins, or -1
		err     error
		took    time.Duration
	}{
		"the first answers":                       {scripts: []script{{after: 100 * time.Millisecond}, {}}, want: 0, took: 100 * time.Millisecond},
		"the first is silent":                     {scripts: []script{{after: never}, {}}, want: 1, took: attemptDelay},
		"a failure does not wait":                 {scripts: []script{{err: errFirst}, {after: time.Millisecond}}, want: 1, took: time.Millisecond},
		"a late first wins":                       {scripts: []script{{after: 300 * time.Millisecond}, {after: never}}, want: 0, took: 300 * time.Millisecond},
		"all fail":                                {scripts: []script{{err: errFirst}, {after: time.Second, err: errSecond}}, want: -1, err: errFirst, took: time.Second},
		"the time is up":                          {scripts: []script{{after: never}, {after: never}}, want: -1, err: context.DeadlineExceeded, took: 10 * time.Second},
		"the first error is that which was first": {scripts: []script{{after: time.Second, err: errFirst}, {err: errSecond}}, want: -1, err: errSecond, took: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				var open atomic.Int32
				targets := make([]netip.AddrPort, len(c.scripts))
				for i := range targets {
					targets[i] = netip.AddrPortFrom(netip.MustParseAddr("10.0.0.1"), uint16(i))
				}
				start := time.Now()
				conn, err := race(ctx, targets, func(ctx context.Context, target netip.AddrPort) (net.Conn, error) {
					s := c.scripts[target.Port()]
					select {
					case <-time.After(s.after):
					case <-ctx.Done():
						return nil, ctx.Err()
					}
					if s.err != nil {
						return nil, s.err
					}
					open.Add(1)
					return &fakeConn{target: int(target.Port()), open: &open}, nil
				})
				if took := time.Since(start); took != c.took {
					t.Errorf("want %s, took %s", c.took, took)
				}
				if c.want < 0 {
					if conn != nil || !errors.Is(err, c.err) || open.Load() != 0 {
						t.Errorf("want %v, got %v, %v, %d open", c.err, conn, err, open.Load())
					}
					return
				}
				if err != nil || conn.(*fakeConn).target != c.want || open.Load() != 1 {
					t.Errorf("want target %d, got %v, %v, %d open", c.want, conn, err, open.Load())
				}
			})
		})
	}
}

// TestRaceClosesLosers lets two attempts succeed at the same moment.
func TestRaceClosesLosers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var open atomic.Int32
		targets := make([]netip.AddrPort, maxAddresses)
		release := make(chan struct{})
		go func() { time.Sleep(maxAddresses * attemptDelay); close(release) }()
		conn, err := race(t.Context(), targets, func(context.Context, netip.AddrPort) (net.Conn, error) {
			<-release
			open.Add(1)
			return &fakeConn{open: &open}, nil
		})
		if err != nil || conn == nil || open.Load() != 1 {
			t.Errorf("want one connection, got %v, %v, %d open", conn, err, open.Load())
		}
	})
}

type fakeConn struct {
	net.Conn
	target int
	open   *atomic.Int32
}

func (c *fakeConn) Close() error { c.open.Add(-1); return nil }
