// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	goruntime "runtime"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	runtime "github.com/mooring-dev/mooring/internal/mcp"
	"github.com/mooring-dev/mooring/internal/mcp/catalog"
	"github.com/mooring-dev/mooring/test/servers"
)

// The runtime beside the plain library, in one process and in turns: each does to the same server what a session needs.

const (
	benchTools    = 100
	benchToolSize = 1024
	openAtOnce    = 200
)

type anywhere struct{}

func (anywhere) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, network, address)
}

// side is one way to be a session's client.
type side struct {
	name string
	// open connects and lists; call uses what it opened.
	open func(b *testing.B, id int) (call, end func() error)
}

func sides(url string) []side {
	return []side{{"mooring", openMooring(url)}, {"library", openLibrary(url)}}
}

func openMooring(url string) func(*testing.B, int) (call, end func() error) {
	return func(b *testing.B, n int) (call, end func() error) {
		b.Helper()
		r := runtime.New(runtime.Options{Egress: anywhere{}})
		id, ctx := runtime.SessionID(fmt.Sprint(n)), b.Context()
		server := runtime.Server{Name: "s", Fingerprint: url, HTTP: runtime.Endpoint{URL: url, Era: runtime.EraLegacy}}
		server.Policy.Health.Off = true
		r.Ensure(id, runtime.Desired{Servers: []runtime.Server{server}})
		if s, err := r.AwaitSync(ctx, id); err != nil || len(s.Projection.Tools) != benchTools {
			b.Fatal(s, err)
		}
		call = func() error {
			_, err := r.Call(ctx, id, runtime.CallRequest{Tool: "mcp__s__tool_0001", Arguments: []byte(`{"key":"x"}`)})
			return err
		}
		return call, func() error { return r.Close(context.WithoutCancel(ctx)) }
	}
}

func openLibrary(url string) func(*testing.B, int) (call, end func() error) {
	return func(b *testing.B, _ int) (call, end func() error) {
		b.Helper()
		ctx := b.Context()
		// As in the runtime, each session has sockets of its own.
		t, err := transport.NewStreamableHTTP(url, transport.WithHTTPBasicClient(&http.Client{Transport: pooled()}))
		if err != nil {
			b.Fatal(err)
		}
		c := client.NewClient(t, client.WithLegacyProtocolOnly()) //nolint:staticcheck // both sides speak the era of the server
		if err := c.Start(ctx); err != nil {
			b.Fatal(err)
		}
		if _, err := c.Initialize(ctx, mcp.InitializeRequest{Params: mcp.InitializeParams{
			ProtocolVersion: version, ClientInfo: mcp.Implementation{Name: "bench", Version: "0"},
		}}); err != nil {
			b.Fatal(err)
		}
		held, err := c.ListTools(ctx, mcp.ListToolsRequest{})
		if err != nil || len(held.Tools) != benchTools {
			b.Fatal(err)
		}
		call = func() error {
			request := mcp.CallToolRequest{}
			request.Params.Name, request.Params.Arguments = "tool_0001", map[string]any{"key": "x"}
			_, err := c.CallTool(ctx, request)
			return err
		}
		return call, func() error { goruntime.KeepAlive(held); return c.Close() }
	}
}

// measured runs do for every side in turns, rounds times, and reports medians, and ours against the library's.
func measured(b *testing.B, unit string, do map[string]func() float64) {
	b.Helper()
	got := map[string][]float64{}
	for b.Loop() {
		for range rounds / 5 { // ten rounds
			for _, name := range []string{"mooring", "library"} {
				got[name] = append(got[name], do[name]())
			}
		}
	}
	ours, theirs := median(got["mooring"]), median(got["library"])
	b.ReportMetric(ours, "mooring-"+unit)
	b.ReportMetric(theirs, "library-"+unit)
	b.ReportMetric(ours/theirs, "mooring/library")
}

// timed is how long one of n takes, in microseconds.
func timed(b *testing.B, n int, do func() error) func() float64 {
	b.Helper()
	return func() float64 {
		begin := time.Now()
		for range n {
			if err := do(); err != nil {
				b.Fatal(err)
			}
		}
		return float64(time.Since(begin).Microseconds()) / float64(n)
	}
}

// BenchmarkRuntimeCall measures one tools/call on an open connection.
func BenchmarkRuntimeCall(b *testing.B) {
	server := servers.NewMany(benchTools, benchToolSize)
	defer server.Close()
	do := map[string]func() float64{}
	for _, side := range sides(server.URL) {
		call, end := side.open(b, 0)
		b.Cleanup(func() { _ = end() })
		do[side.name] = timed(b, 200, call)
	}
	measured(b, "µs", do)
}

// BenchmarkRuntimeList measures what reading a list of 100 tools of 1 KiB costs beside its transport: checks and signatures of
// ours, the typed decoding of the library's.
func BenchmarkRuntimeList(b *testing.B) {
	raw := servers.ManyTools(benchTools, benchToolSize)
	measured(b, "µs", map[string]func() float64{
		"mooring": timed(b, 20, func() error {
			builder := catalog.NewBuilder()
			_, err := builder.AddPage(raw)
			goruntime.KeepAlive(builder.Catalog())
			return err
		}),
		"library": timed(b, 20, func() error { return json.Unmarshal(raw, new(mcp.ListToolsResult)) }),
	})
}

// BenchmarkRuntimeConnect measures connecting and the first list.
func BenchmarkRuntimeConnect(b *testing.B) {
	server := servers.NewMany(benchTools, benchToolSize)
	defer server.Close()
	do := map[string]func() float64{}
	for _, side := range sides(server.URL) {
		do[side.name] = timed(b, 20, func() error {
			_, end := side.open(b, 0)
			return end()
		})
	}
	measured(b, "µs", do)
}

// BenchmarkRuntimeMemory measures what an idle connection with 100 tools of 1 KiB holds, of 200 open at once to one server.
func BenchmarkRuntimeMemory(b *testing.B) {
	server := servers.NewMany(benchTools, benchToolSize)
	defer server.Close()
	do := map[string]func() float64{}
	for _, side := range sides(server.URL) {
		do[side.name] = func() float64 { return heldBy(b, side) }
	}
	got := map[string][]float64{}
	for b.Loop() {
		for range 5 {
			for name, measure := range do {
				got[name] = append(got[name], measure())
			}
		}
	}
	ours, theirs := median(got["mooring"]), median(got["library"])
	b.ReportMetric(ours, "mooring-KiB")
	b.ReportMetric(theirs, "library-KiB")
	b.ReportMetric(ours/theirs, "mooring/library")
}

// heldBy is heap and stacks a connection, in KiB.
func heldBy(b *testing.B, side side) float64 {
	b.Helper()
	before := inUse()
	ends := make([]func() error, openAtOnce)
	for i := range ends {
		_, ends[i] = side.open(b, i)
	}
	after := inUse()
	for _, end := range ends {
		if err := end(); err != nil {
			b.Fatal(err)
		}
	}
	return float64(after-before) / openAtOnce / 1024
}

func inUse() int64 {
	goruntime.GC()
	goruntime.GC()
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse) //nolint:gosec // far below
}
