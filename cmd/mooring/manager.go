// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/artifact"
	"github.com/mooring-dev/mooring/internal/cluster"
	"github.com/mooring-dev/mooring/internal/controller"
	"github.com/mooring-dev/mooring/internal/controller/task"
	"github.com/mooring-dev/mooring/internal/controller/wake"
	"github.com/mooring-dev/mooring/internal/egress"
	"github.com/mooring-dev/mooring/internal/gateway"
	"github.com/mooring-dev/mooring/internal/mcp"
	"github.com/mooring-dev/mooring/internal/shard"
)

// version is stamped by the build.
var version = "dev"

const (
	leaseName = "mooring"
	// drainTimeout bounds what calls in flight get on the way out, and then what connections get.
	drainTimeout = 10 * time.Second
)

// run wires the manager and serves until ctx ends.
func run(ctx context.Context, c *config) error {
	mgr, err := newManager(c)
	if err != nil {
		return err
	}
	sessionWake, taskWake := wake.New[mcp.SessionID](), wake.New[types.UID]()
	policy := &egress.Policy{AllowLoopback: c.allowLoopback}
	options := mcp.Options{
		ClientName: "mooring", ClientVersion: version, Egress: policy, OnChange: sessionWake.Notify,
	}
	if c.allowBridges {
		options.Stdio = bridges{policy}.open
	}
	if c.artifactStore != "" {
		store, err := artifact.Open(ctx, c.artifactStore)
		if err != nil {
			return fmt.Errorf("--artifact-store: %w", err)
		}
		defer func() { _ = store.Close() }()
		options.Artifacts = newArtifacts(store)
	}
	sessions := mcp.New(options)
	owner := shard.NewLeader(mgr.Elected())
	err = controller.SetupWithManager(mgr, controller.Options{
		Runtime: sessions, Executor: task.NewExecutor(sessions, taskWake.Notify), Owner: owner,
		SessionWake: sessionWake, TaskWake: taskWake,
		GatewayURL: strings.TrimSuffix(c.gatewayURL, "/"), ChunkGrace: c.chunkGrace, Concurrency: c.concurrency,
	})
	if err != nil {
		return err
	}
	registerMetrics(sessions)
	if err := mgr.Add(&endpoint{config: c, manager: mgr, owner: owner, sessions: sessions}); err != nil {
		return err
	}
	if err := addProbes(mgr); err != nil {
		return err
	}
	err = mgr.Start(ctx)
	// Not before the controllers have ended: they would take a closing runtime for what the sessions have come to.
	closing, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	return errors.Join(err, sessions.Close(closing))
}

func newManager(c *config) (ctrl.Manager, error) {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	rest, err := ctrl.GetConfig()
	if err != nil {
		return nil, err
	}
	renew, retry, drain := c.leaseDuration*2/3, c.leaseDuration*2/15, 2*drainTimeout
	return ctrl.NewManager(rest, ctrl.Options{
		Scheme:                        scheme,
		Cache:                         controller.CacheOptions(),
		NewClient:                     controller.NewClient,
		Metrics:                       metricsserver.Options{BindAddress: c.metricsAddress},
		HealthProbeBindAddress:        c.healthAddress,
		LeaderElection:                c.leaderElection,
		LeaderElectionID:              leaseName,
		LeaderElectionNamespace:       c.leaderElectionNamespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &c.leaseDuration,
		RenewDeadline:                 &renew,
		RetryPeriod:                   &retry,
		GracefulShutdownTimeout:       &drain,
	})
}

// addProbes says that the process is alive as long as it answers, and ready once it leads: only the owner of sessions may
// be behind the Service.
func addProbes(mgr ctrl.Manager) error {
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	return mgr.AddReadyzCheck("leading", func(*http.Request) error {
		select {
		case <-mgr.Elected():
			return nil
		default:
			return errors.New("not the leader")
		}
	})
}

// endpoint serves agents and, on the way out, lets their calls end.
type endpoint struct {
	config   *config
	manager  ctrl.Manager
	owner    shard.Owner
	sessions *mcp.Runtime
}

// NeedLeaderElection says that every replica listens; the readiness probe decides who is asked.
func (e *endpoint) NeedLeaderElection() bool { return false }

// Start serves until ctx ends, and then drains.
func (e *endpoint) Start(ctx context.Context) error {
	handler, err := gateway.NewHandler(gateway.Options{
		Authenticator: cluster.NewAuthenticator(e.manager.GetClient()),
		Authorizer:    cluster.NewAuthorizer(e.manager.GetClient()),
		Sessions:      cluster.NewSessions(e.manager.GetClient()),
		Owner:         e.owner, Runtime: e.sessions, Version: version,
		AllowedHosts: e.config.gatewayHosts, AllowedOrigins: e.config.gatewayOrigins,
		AllowUnboundTokens: e.config.allowUnboundTokens,
	})
	if err != nil {
		return err
	}
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", e.config.gatewayAddress)
	if err != nil {
		return fmt.Errorf("listen for agents: %w", err)
	}
	server := gateway.NewServer(handler, handler)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err = <-served:
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	_ = server.Shutdown(drain) // what was cut off has been told so
	return err
}
