// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	version  = "2025-11-25"
	toolName = "mcp__s__echo"

	rounds        = 50
	callsPerRound = 100
	crowd         = 64
	crowdFor      = 400 * time.Millisecond
	crowdRounds   = 9
)

// target is one process and how to call it.
type target struct {
	name, url, tool string
	pid             int
	client          *http.Client
}

func start(b *testing.B, role, upstream string) *target {
	b.Helper()
	cmd := exec.Command(os.Args[0]) //nolint:gosec,noctx // itself; it ends with its standard input
	cmd.Env = append(os.Environ(), roleVariable+"="+role, upstreamVariable+"="+upstream)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	address, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	t := &target{name: role, url: "http://" + strings.TrimSpace(address) + "/mcp", tool: "echo", pid: cmd.Process.Pid}
	t.client = &http.Client{Transport: pooled()}
	switch role {
	case "mooring":
		t.url = "http://" + strings.TrimSpace(address) + "/v1/namespaces/ns/sessions/s/mcp"
		t.tool = toolName
	case "typed":
		t.tool = toolName
	}
	return t
}

// call makes one tools/call and checks its answer.
func (t *target) call(bearer string) error {
	body := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"` + t.tool + `","arguments":{"text":"hello"}}}`
	req, err := http.NewRequest(http.MethodPost, t.url, strings.NewReader(body)) //nolint:noctx // the benchmark bounds it
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Authorization", "Bearer "+bearer)
	req.Header.Set("Mcp-Protocol-Version", version)
	res, err := t.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK || !bytes.Contains(answer, []byte("hello")) {
		return fmt.Errorf("%s: %d %s", t.name, res.StatusCode, answer)
	}
	return nil
}

// cpu is the processor time that the process has used, to the nanosecond.
func (t *target) cpu() time.Duration {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", t.pid))
	var sum int64
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		if err != nil {
			continue // the thread ended
		}
		used, _, _ := strings.Cut(string(text), " ")
		n, _ := strconv.ParseInt(used, 10, 64)
		sum += n
	}
	return time.Duration(sum)
}

// all starts every process, warm.
func all(b *testing.B) []*target {
	b.Helper()
	direct := start(b, "direct", "")
	upstream := strings.TrimSuffix(strings.TrimPrefix(direct.url, "http://"), "/mcp")
	targets := []*target{direct}
	for _, role := range []string{"mooring", "typed", "proxy"} {
		targets = append(targets, start(b, role, upstream))
	}
	for _, t := range targets {
		for range 500 {
			if err := t.call(token); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := targets[1].call("somebody else"); err == nil {
		b.Fatal("a call with another token was let through")
	}
	return targets
}

func median[T int64 | float64 | time.Duration](values []T) T {
	slices.Sort(values)
	return values[len(values)/2]
}

// BenchmarkCall measures one agent's calls, one at a time: latency against the server itself, and processor time a call
// against a reverse proxy.
func BenchmarkCall(b *testing.B) {
	targets := all(b)
	p50, cpu := map[string][]time.Duration{}, map[string]time.Duration{}
	for b.Loop() {
		for range rounds {
			for _, t := range targets {
				before := t.cpu()
				took := make([]time.Duration, callsPerRound)
				for i := range took {
					begin := time.Now()
					if err := t.call(token); err != nil {
						b.Fatal(err)
					}
					took[i] = time.Since(begin)
				}
				p50[t.name] = append(p50[t.name], median(took))
				cpu[t.name] += t.cpu() - before
			}
		}
	}
	for _, t := range targets {
		b.ReportMetric(float64(median(p50[t.name]).Microseconds()), t.name+"-p50-µs")
		b.ReportMetric(float64(median(p50[t.name]))/float64(median(p50["direct"])), t.name+"-p50/direct")
		b.ReportMetric(float64(cpu[t.name])/float64(cpu["proxy"]), t.name+"-cpu/proxy")
	}
}

// BenchmarkCrowd measures 64 callers at once: calls a second against the server itself.
func BenchmarkCrowd(b *testing.B) {
	targets := all(b)
	rate := map[string][]float64{}
	for b.Loop() {
		for range crowdRounds {
			for _, t := range targets {
				rate[t.name] = append(rate[t.name], t.crowd(b))
			}
		}
	}
	for _, t := range targets {
		b.ReportMetric(median(rate[t.name]), t.name+"-calls/s")
		b.ReportMetric(median(rate[t.name])/median(rate["direct"]), t.name+"-rate/direct")
	}
}

func (t *target) crowd(b *testing.B) float64 {
	b.Helper()
	var calls atomic.Int64
	var callers sync.WaitGroup
	begin := time.Now()
	for range crowd {
		callers.Go(func() {
			for time.Since(begin) < crowdFor {
				if err := t.call(token); err != nil {
					b.Error(err)
					return
				}
				calls.Add(1)
			}
		})
	}
	callers.Wait()
	return float64(calls.Load()) / time.Since(begin).Seconds()
}
