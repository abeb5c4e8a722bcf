// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// config is what the flags say.
type config struct {
	metricsAddress string
	healthAddress  string
	gatewayAddress string
	gatewayURL     string
	gatewayHosts   list
	gatewayOrigins list

	leaderElection          bool
	leaderElectionNamespace string
	leaseDuration           time.Duration

	concurrency        int
	allowLoopback      bool
	allowBridges       bool
	allowUnboundTokens bool
	chunkGrace         time.Duration
	artifactStore      string
	logLevel           int
}

// list is a comma-separated flag.
type list []string

func (l *list) String() string { return strings.Join(*l, ",") }

func (l *list) Set(s string) error {
	for item := range strings.SplitSeq(s, ",") {
		if item = strings.TrimSpace(item); item != "" {
			*l = append(*l, item)
		}
	}
	return nil
}

func (c *config) register(f *flag.FlagSet) {
	f.StringVar(&c.metricsAddress, "metrics-bind-address", ":8080", "address of the Prometheus metrics; 0 turns them off")
	f.StringVar(&c.healthAddress, "health-probe-bind-address", ":8081", "address of /healthz and /readyz")
	f.StringVar(&c.gatewayAddress, "gateway-bind-address", ":8090", "address of the agents' endpoint")
	f.StringVar(&c.gatewayURL, "gateway-url", "http://mooring-gateway.mooring-system.svc:8090",
		"URL at which agents reach the gateway; status.endpoint of a session begins with it")
	f.Var(&c.gatewayHosts, "gateway-allowed-hosts", "comma-separated Host names that the gateway answers to; empty: any")
	f.Var(&c.gatewayOrigins, "gateway-allowed-origins", "comma-separated Origins that the gateway accepts; empty: none")
	f.BoolVar(&c.leaderElection, "leader-elect", true, "serve only while holding the lease")
	f.StringVar(&c.leaderElectionNamespace, "leader-election-namespace", "",
		"namespace of the lease; empty: the operator's own")
	f.DurationVar(&c.leaseDuration, "lease-duration", 15*time.Second, "how long a lost leader's lease lasts (5s to 5m)")
	f.IntVar(&c.concurrency, "max-concurrent-reconciles", 8, "reconciles at a time of each kind (1 to 64)")
	f.BoolVar(&c.allowLoopback, "allow-loopback-servers", false,
		"let sessions connect to MCP servers on this host's loopback; for tests and demonstrations only")
	f.BoolVar(&c.allowBridges, "allow-bridge-addresses", false,
		"let McpServers name the address of a stdio bridge that somebody runs by hand")
	f.BoolVar(&c.allowUnboundTokens, "allow-unbound-tokens", false,
		"also take ServiceAccount tokens that are bound to no Pod for a session's own agent")
	f.DurationVar(&c.chunkGrace, "catalog-chunk-grace", 10*time.Minute,
		"how long a catalog chunk that no session names is kept (1s to 24h)")
	f.StringVar(&c.artifactStore, "artifact-store", "",
		"where large results are kept: file:///directory or s3://bucket?region=…; empty: they are cut, and binaries not kept")
	f.IntVar(&c.logLevel, "v", 0, "log verbosity: 0 for operators, 2 and 4 for more detail")
}

func (c *config) validate() error {
	var errs []error
	if u, err := url.Parse(c.gatewayURL); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		errs = append(errs, errors.New("--gateway-url must be an http or https URL"))
	}
	if c.concurrency < 1 || c.concurrency > 64 {
		errs = append(errs, fmt.Errorf("--max-concurrent-reconciles must be 1 to 64, not %d", c.concurrency))
	}
	if c.leaseDuration < 5*time.Second || c.leaseDuration > 5*time.Minute {
		errs = append(errs, fmt.Errorf("--lease-duration must be 5s to 5m, not %s", c.leaseDuration))
	}
	if c.chunkGrace < time.Second || c.chunkGrace > 24*time.Hour {
		errs = append(errs, fmt.Errorf("--catalog-chunk-grace must be 1s to 24h, not %s", c.chunkGrace))
	}
	return errors.Join(errs...)
}
