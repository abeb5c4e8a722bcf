// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/controller/chunks"
	"github.com/mooring-dev/mooring/internal/controller/server"
	"github.com/mooring-dev/mooring/internal/controller/session"
	"github.com/mooring-dev/mooring/internal/controller/task"
	"github.com/mooring-dev/mooring/internal/controller/wake"
	"github.com/mooring-dev/mooring/internal/mcp"
	"github.com/mooring-dev/mooring/internal/shard"
)

// FieldOwner names this operator in managed fields.
const FieldOwner = "mooring"

// Runtime is what the controllers ask of the sessions' runtime. *mcp.Runtime is one.
type Runtime interface {
	session.Runtime
}

// Options wire the controllers.
type Options struct {
	Runtime  Runtime
	Executor *task.Executor
	Owner    shard.Owner
	// SessionWake and TaskWake are told by the runtime and by the executor.
	SessionWake *wake.Source[mcp.SessionID]
	TaskWake    *wake.Source[types.UID]
	// GatewayURL is where agents reach the gateway, without a trailing slash.
	GatewayURL string
	// ChunkGrace is how long a catalog chunk that nobody names is kept.
	ChunkGrace time.Duration
	// Concurrency is the number of reconciles at a time, for each kind.
	Concurrency int
}

// CacheOptions keep the cache to what is used: of ConfigMaps only the metadata of catalog chunks, and of everything only
// what is read, not who wrote it.
func CacheOptions() cache.Options {
	chunk, err := labels.NewRequirement(v1alpha1.LabelCatalogDigest, selection.Exists, nil)
	if err != nil {
		panic(err) // a constant of ours is not a label
	}
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	return cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject:         map[client.Object]cache.ByObject{metadata: {Label: labels.NewSelector().Add(*chunk)}},
	}
}

// NewClient is the one constructor of the controllers' client: it reads from the cache and sees its own writes. Kinds
// that must not be cached (Secrets, ConfigMaps) are for another client: to write them through this one would start an
// informer for all of them.
func NewClient(config *rest.Config, options client.Options) (client.Client, error) {
	yes := true
	options.Cache.EnableReadYourWritesConsistency = &yes
	options.FieldOwner = FieldOwner
	return client.New(config, options)
}

// SetupWithManager registers all controllers.
func SetupWithManager(mgr ctrl.Manager, o Options) error {
	live, err := client.New(mgr.GetConfig(), client.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), FieldOwner: FieldOwner,
	})
	if err != nil {
		return fmt.Errorf("uncached client: %w", err)
	}
	store := &chunks.Store{Cached: mgr.GetCache(), Live: live, Grace: o.ChunkGrace}
	if err := mgr.Add(&chunks.Sweeper{Store: store}); err != nil {
		return err
	}
	servers := &server.Reconciler{Client: mgr.GetClient(), Concurrency: o.Concurrency}
	sessions := &session.Reconciler{
		Client: mgr.GetClient(), Live: live, Runtime: o.Runtime, Owner: o.Owner, Wake: o.SessionWake, Chunks: store,
		GatewayURL: o.GatewayURL, Concurrency: o.Concurrency,
	}
	tasks := &task.Reconciler{
		Client: mgr.GetClient(), Sessions: o.Runtime, Executor: o.Executor, Owner: o.Owner, Wake: o.TaskWake,
		Concurrency: o.Concurrency,
	}
	for _, setup := range []func(ctrl.Manager) error{servers.SetupWithManager, sessions.SetupWithManager, tasks.SetupWithManager} {
		if err := setup(mgr); err != nil {
			return err
		}
	}
	return nil
}
