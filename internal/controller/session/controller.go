// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/controller/chunks"
	"github.com/mooring-dev/mooring/internal/controller/definition"
	"github.com/mooring-dev/mooring/internal/controller/report"
	"github.com/mooring-dev/mooring/internal/controller/wake"
	"github.com/mooring-dev/mooring/internal/mcp"
	"github.com/mooring-dev/mooring/internal/shard"
)

// Runtime is what the controller asks of the session runtime. *mcp.Runtime is one. None of its methods waits.
type Runtime interface {
	Ensure(id mcp.SessionID, desired mcp.Desired)
	Snapshot(id mcp.SessionID) (*mcp.Snapshot, bool)
	Release(id mcp.SessionID, deadline time.Time) mcp.Teardown
	Forget(id mcp.SessionID)
}

// Reconciler converges McpSessions.
type Reconciler struct {
	// Client reads from the cache and sees its own writes.
	Client client.Client
	// Live reads uncached: Secrets and CA bundles.
	Live    client.Reader
	Runtime Runtime
	Owner   shard.Owner
	Wake    *wake.Source[mcp.SessionID]
	Chunks  *chunks.Store
	// GatewayURL is where agents reach the gateway, without a trailing slash.
	GatewayURL string
	// CleanupTimeout bounds a session's cleanup; zero means 30 s.
	CleanupTimeout time.Duration
	Concurrency    int
}

// rereadInterval is how often Secrets and CA bundles are read again, give or take a tenth.
const rereadInterval = time.Minute

var _ reconcile.Reconciler = (*Reconciler)(nil)

// +kubebuilder:rbac:groups=mcp.mooring.dev,resources=mcpsessions,verbs=get;list;watch;update;patch
// +kubebuilder:rbac:groups=mcp.mooring.dev,resources=mcpsessions/status,verbs=get;update;patch
// +kubebuilder:rbac:groups=mcp.mooring.dev,resources=mcpsessions/finalizers,verbs=update
// +kubebuilder:rbac:groups=mcp.mooring.dev,resources=mcpservers,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get

// Reconcile reads, decides, acts and reports; it never dials and never waits.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	session := &v1alpha1.McpSession{}
	if err := r.Client.Get(ctx, request.NamespacedName, session); err != nil {
		if apierrors.IsNotFound(err) {
			r.releaseOthers("", request.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	id := mcp.SessionID(session.UID)
	if address, self := r.Owner.Owner(id); !self {
		return shard.Later(address), nil
	}
	r.releaseOthers(id, request.NamespacedName)
	if session.DeletionTimestamp != nil {
		return r.cleanUp(ctx, session)
	}
	if added, err := report.AddFinalizer(ctx, r.Client, session, v1alpha1.SessionFinalizer); added || err != nil {
		return ctrl.Result{}, err // the write brings us back
	}
	r.Wake.Bind(id, request.NamespacedName)
	return r.converge(ctx, session)
}

// converge brings the runtime to what the session wants, and the session's status to what the runtime is.
func (r *Reconciler) converge(ctx context.Context, session *v1alpha1.McpSession) (ctrl.Result, error) {
	s := &scope{session: session, id: mcp.SessionID(session.UID), before: session.Status.DeepCopy()}
	s.problem = definition.CheckSession(session)
	if err := r.decide(ctx, s); err != nil {
		return ctrl.Result{}, err
	}
	r.Runtime.Ensure(s.id, s.desired)
	var held bool
	if s.snapshot, held = r.Runtime.Snapshot(s.id); !held {
		// The runtime is closing, or still sees off a predecessor. Neither is anything about this session.
		return ctrl.Result{RequeueAfter: time.Second}, nil
	}
	if err := r.publish(ctx, s); err != nil {
		return ctrl.Result{}, err
	}
	s.fillStatus(r.GatewayURL)
	if _, err := report.Write(ctx, r.Client.Status(), session, s.before, &session.Status); err != nil {
		return ctrl.Result{}, err
	}
	if s.reread {
		return ctrl.Result{RequeueAfter: jitter(rereadInterval)}, nil
	}
	return ctrl.Result{}, nil
}

// scope carries one reconcile from phase to phase.
type scope struct {
	session *v1alpha1.McpSession
	before  *v1alpha1.McpSessionStatus
	id      mcp.SessionID
	problem *definition.Problem

	resolution resolution
	// invalid says, by server name, which reference leads nowhere.
	invalid map[string]string
	desired mcp.Desired
	// unread names the servers whose references could not be read now.
	unread []string
	// reread says that something that is not watched was read.
	reread bool

	snapshot   *mcp.Snapshot
	projection projection
	chunks     []v1alpha1.CatalogChunk
	// unstored says which servers' catalogs could not be stored, and why.
	unstored []string
}

// decide fills what is desired. Nothing is, unless the spec is accepted and the session runs: it never fails open.
func (r *Reconciler) decide(ctx context.Context, s *scope) error {
	s.desired = mcp.Desired{
		RevisionFloor: s.before.Catalog.Revision,
		Reconnect:     command(s.session, v1alpha1.AnnotationReconnect, s.before.LastReconnect),
		Refresh:       command(s.session, v1alpha1.AnnotationRefresh, s.before.LastRefresh),
	}
	if s.problem != nil {
		return nil
	}
	var servers v1alpha1.McpServerList
	if err := r.Client.List(ctx, &servers, client.InNamespace(s.session.Namespace)); err != nil {
		return fmt.Errorf("list servers: %w", err)
	}
	s.resolution = resolve(s.session, servers.Items)
	if s.session.Spec.Suspend == v1alpha1.SuspendOn {
		return nil
	}
	s.desired.Tools = toolFilter(s.session.Spec.Tools)
	if results := s.session.Spec.Results; results != nil {
		s.desired.InlineBytes = int(results.InlineBytes)
	}
	for _, wanted := range s.session.Spec.Subscriptions {
		s.desired.Subscriptions = append(s.desired.Subscriptions, mcp.Subscription{Server: wanted.Server, URI: wanted.URI})
	}
	refs := newReferences(r.Live, s.session.Namespace)
	s.invalid = map[string]string{}
	for i := range s.resolution.servers {
		in := &s.resolution.servers[i]
		if in.disabled {
			continue
		}
		server, err := refs.server(ctx, in)
		if errors.Is(err, errReference) {
			s.invalid[in.name] = err.Error()
			continue
		}
		if err != nil {
			// It is this server's trouble, and the API server's: what is connected stays, and the others go on.
			log.FromContext(ctx).Error(err, "Read what a server refers to", "server", in.name)
			server = mcp.Server{Name: in.name, Unresolved: true}
			s.unread = append(s.unread, in.name)
		}
		s.desired.Servers = append(s.desired.Servers, server)
	}
	s.reread = refs.used
	return nil
}

// maxCommand is how long a command's value may be for status to echo it.
const maxCommand = 64

// command reads what an annotation asks for, in the characters in which status can echo it.
func command(session *v1alpha1.McpSession, annotation, done string) mcp.Command {
	echo := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || strings.ContainsRune("&<>", r) {
			return '_'
		}
		return r
	}, session.Annotations[annotation])
	return mcp.Command{Value: echo[:min(len(echo), maxCommand)], Done: done}
}

func toolFilter(tools *v1alpha1.SessionTools) mcp.ToolFilter {
	if tools == nil {
		return mcp.ToolFilter{}
	}
	return mcp.ToolFilter{Allow: tools.Allow, Deny: tools.Deny}
}

// publish decides what of the tools status holds, and stores the rest where every session of a server shares it.
func (r *Reconciler) publish(ctx context.Context, s *scope) error {
	if s.snapshot.Projection == nil {
		return nil
	}
	if s.projection = project(s.snapshot.Projection); s.projection.whole {
		return nil
	}
	named := map[string]bool{}
	for _, chunk := range s.before.Catalog.Chunks {
		named[chunk.ConfigMap] = true
	}
	for i := range s.snapshot.Servers {
		server := &s.snapshot.Servers[i]
		if server.Tools == nil || len(server.Tools.Tools) == 0 {
			continue
		}
		if definition := s.definition(server.Name); definition != nil {
			if err := r.store(ctx, s, definition, server, named); err != nil {
				return fmt.Errorf("store the catalog of %s: %w", definition.Name, err)
			}
		}
	}
	return nil
}

// store stores one server's catalog and names its chunks, or says why not: the tools are offered all the same.
func (r *Reconciler) store(ctx context.Context, s *scope, definition *v1alpha1.McpServer, server *mcp.ServerSnapshot,
	named map[string]bool,
) error {
	stored, err := r.Chunks.Ensure(ctx, definition, server.Tools, named)
	switch {
	case errors.Is(err, chunks.ErrForeign), errors.Is(err, chunks.ErrRefused):
		s.unstored = append(s.unstored, fmt.Sprintf("%s (%v)", server.Name, err))
		s.reread = true // nothing wakes us when the obstacle is gone
	case err != nil:
		return err
	case len(s.chunks)+len(stored) > v1alpha1.MaxCatalogChunks:
		s.unstored = append(s.unstored, server.Name+" (the session names too many ConfigMaps)")
	default:
		s.chunks = append(s.chunks, stored...)
	}
	return nil
}

func (s *scope) definition(name string) *v1alpha1.McpServer {
	for i := range s.resolution.servers {
		if s.resolution.servers[i].name == name {
			return s.resolution.servers[i].server
		}
	}
	return nil
}

// releaseOthers ends what a session of the same name left in the runtime: its object is gone without having been seen
// off, for somebody took its finalizer away.
func (r *Reconciler) releaseOthers(id mcp.SessionID, key client.ObjectKey) {
	for _, other := range r.Wake.Others(id, key) {
		if r.Runtime.Release(other, time.Now().Add(r.cleanupTimeout())).Done {
			r.Runtime.Forget(other)
			r.Wake.Unbind(other)
		}
	}
}

func (r *Reconciler) cleanupTimeout() time.Duration {
	if r.CleanupTimeout > 0 {
		return r.CleanupTimeout
	}
	return 30 * time.Second
}

// jitter spreads d by a tenth, so that what started together does not stay together.
func jitter(d time.Duration) time.Duration {
	return d - d/10 + rand.N(d/5) //nolint:gosec // spreading load needs no secrecy
}
