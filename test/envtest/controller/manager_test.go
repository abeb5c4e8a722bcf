// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/controller"
	"github.com/mooring-dev/mooring/internal/controller/task"
	"github.com/mooring-dev/mooring/internal/controller/wake"
	"github.com/mooring-dev/mooring/internal/mcp"
	"github.com/mooring-dev/mooring/internal/shard"
	"github.com/mooring-dev/mooring/test/servers"
)

// requests counts what a manager writes, as the API server sees it.
type requests struct {
	mu   sync.Mutex
	done []string
}

func (r *requests) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if request.Method != http.MethodGet {
			r.mu.Lock()
			r.done = append(r.done, request.Method+" "+request.URL.Path)
			r.mu.Unlock()
		}
		return next.RoundTrip(request)
	})
}

func (r *requests) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	done := r.done
	r.done = nil
	return done
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// manage runs all controllers over the world's namespace until stop is called, or the test ends.
func (w *world) manage() (r *requests, stop func()) {
	w.t.Helper()
	r = &requests{}
	c := rest.CopyConfig(testCluster.Config)
	c.Wrap(r.wrap)
	options := controller.CacheOptions()
	options.DefaultNamespaces = map[string]cache.Config{w.namespace: {}}
	mgr, err := ctrl.NewManager(c, ctrl.Options{
		Scheme: scheme, Cache: options, NewClient: controller.NewClient,
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: ptr.To(true)}, // several managers in one process
	})
	if err != nil {
		w.t.Fatal(err)
	}
	sessionWake, taskWake := wake.New[mcp.SessionID](), wake.New[types.UID]()
	runtime := newRuntime(w.t, sessionWake.Notify)
	err = controller.SetupWithManager(mgr, controller.Options{
		Runtime: runtime, Executor: task.NewExecutor(runtime, taskWake.Notify), Owner: shard.NewLeader(mgr.Elected()),
		SessionWake: sessionWake, TaskWake: taskWake, GatewayURL: "http://gateway.example:8090",
		ChunkGrace: chunkGrace, Concurrency: 4,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			w.t.Errorf("manager: %v", err)
		}
	})
	w.t.Cleanup(stop)
	return r, stop
}

func (w *world) awaitSession(name, want string) *v1alpha1.McpSession {
	w.t.Helper()
	eventually(w.t, func() bool { return has(w.session(name).Status.Conditions, want) })
	return w.session(name)
}

func (w *world) awaitTask(name, want string) *v1alpha1.McpTask {
	w.t.Helper()
	eventually(w.t, func() bool { return has(w.task(name).Status.Conditions, want) })
	return w.task(name)
}

func newManaged(t *testing.T) (*world, *servers.Counter) {
	t.Helper()
	counter := servers.NewCounter()
	t.Cleanup(counter.Close)
	return newWorld(t, newFakeRuntime(), newCaller()), counter // its own reconcilers are not used
}

// The task comes first, then the session, then the server; one event leads to the next. Then nothing happens.
func TestManagerConvergesAndRests(t *testing.T) {
	w, counter := newManaged(t)
	requests, stop := w.manage()
	call := newTask("first", "mcp__a__count")
	call.Spec.Arguments = `{"key":"k"}`
	w.create(call)
	w.awaitTask("first", "Ready=Unknown SessionNotFound")
	w.create(newSession("s", "a"))
	w.awaitSession("s", "Ready=False NoServers")
	w.awaitTask("first", "Ready=Unknown WaitingForSession")
	w.create(httpServer("a", counter.URL))
	w.awaitSession("s", "Ready=True Ready")
	if r := w.awaitTask("first", "Ready=True Completed").Status.Result; r == nil || r.Preview != "k: 1" {
		t.Errorf("result %+v", r)
	}
	missing := newTask("missing", "mcp__a__other")
	w.create(missing)
	w.awaitTask("missing", "Ready=False ToolNotFound")
	s := w.awaitSession("s", "CatalogSynced=True Synced")

	// Everything that is under way comes to its end; then a while without a write.
	eventually(t, func() bool {
		requests.take()
		time.Sleep(2 * time.Second)
		return len(requests.take()) == 0
	})
	time.Sleep(3 * time.Second)
	if done := requests.take(); len(done) != 0 {
		t.Errorf("at rest, and wrote %q", done)
	}

	// A successor finds everything as it is, calls nothing again, and takes nothing back.
	stop()
	successor, _ := w.manage()
	eventually(t, func() bool {
		now := w.session("s")
		return now.ResourceVersion != s.ResourceVersion && has(now.Status.Conditions, "Ready=True Ready") &&
			has(now.Status.Conditions, "CatalogSynced=True Synced")
	})
	if now := w.session("s"); now.Status.Catalog.Revision < s.Status.Catalog.Revision || now.Status.Catalog.Digest != s.Status.Catalog.Digest {
		t.Errorf("catalog %+v, and then %+v", s.Status.Catalog, now.Status.Catalog)
	}
	if n := counter.Calls("k"); n != 1 {
		t.Errorf("called %d times", n)
	}
	for _, request := range successor.take() {
		if strings.Contains(request, "/mcptasks/") {
			t.Errorf("the successor wrote %s", request)
		}
	}
}

// What happens to servers reaches the sessions that use them, or would.
func TestManagerWatchesServers(t *testing.T) {
	w, counter := newManaged(t)
	w.manage()
	selecting := &v1alpha1.McpSession{ObjectMeta: metav1.ObjectMeta{Name: "selecting"}}
	selecting.Spec.Workspace = &v1alpha1.ServerSource{Selector: &v1alpha1.LabelSelector{
		MatchLabels: map[string]v1alpha1.LabelValue{"team": "blue"},
	}}
	w.create(httpServer("a", counter.URL), newSession("naming", "a"), selecting)
	w.awaitSession("naming", "Ready=True Ready")
	w.awaitSession("selecting", "Ready=False NoServers")

	update(w, w.server("a"), func(s *v1alpha1.McpServer) { s.Labels = map[string]string{"team": "blue"} })
	w.awaitSession("selecting", "Ready=True Ready")
	update(w, w.server("a"), func(s *v1alpha1.McpServer) { s.Labels = nil })
	w.awaitSession("selecting", "Ready=False NoServers")

	generation := w.session("naming").Status.Servers[0].ConnectionGeneration
	update(w, w.server("a"), func(s *v1alpha1.McpServer) { s.Spec.Transport.StreamableHTTP.Protocol = v1alpha1.ProtocolLegacy })
	eventually(t, func() bool { return w.session("naming").Status.Servers[0].ConnectionGeneration > generation })
	w.awaitSession("naming", "Ready=True Ready")

	w.delete(w.server("a"))
	w.awaitSession("naming", "Ready=False NoServers")
	w.create(httpServer("a", counter.URL))
	w.awaitSession("naming", "Ready=True Ready")

	// Cleanup runs to its end by the runtime's wake-ups.
	w.delete(newSession("naming"))
	eventually(t, func() bool {
		err := w.api.Get(t.Context(), types.NamespacedName{Namespace: w.namespace, Name: "naming"}, &v1alpha1.McpSession{})
		return err != nil
	})
}

// A real catalog of 1,000 tools is stored once, is whole, comes back when somebody deletes a part, and goes when nobody
// names it.
func TestManagerKeepsChunks(t *testing.T) {
	many := servers.NewMany(1000, 3000)
	t.Cleanup(many.Close)
	w := newWorld(t, newFakeRuntime(), newCaller())
	requests, _ := w.manage()
	w.create(httpServer("many", many.URL), newSession("s", "many"))
	s := w.awaitSession("s", "CatalogSynced=True ListedInPart")
	names := w.readable(s)
	if len(names) != 1000 || s.Status.Catalog.ToolCount != 1000 || int(s.Status.Catalog.ListedToolCount) != len(s.Status.Tools) {
		t.Errorf("%d tools in the chunks, and %+v", len(names), s.Status.Catalog)
	}
	requests.take()
	w.create(newSession("other", "many"))
	w.awaitSession("other", "CatalogSynced=True ListedInPart")
	for _, request := range requests.take() {
		// An old one is touched before it is named, so that no sweep takes it.
		if strings.HasPrefix(request, http.MethodPost) {
			t.Errorf("the second session stored the catalog again: %s", request)
		}
	}

	w.delete(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: s.Status.Catalog.Chunks[1].ConfigMap}})
	eventually(t, func() bool { return len(w.configMaps()) == len(s.Status.Catalog.Chunks) })
	if len(w.readable(w.session("s"))) != 1000 {
		t.Error("the catalog is not whole again")
	}

	w.delete(newSession("other"))
	time.Sleep(2 * chunkGrace)
	if n := len(w.configMaps()); n != len(s.Status.Catalog.Chunks) {
		t.Errorf("%d chunks are left to the session that names them", n)
	}
	w.delete(newSession("s"))
	eventually(t, func() bool { return len(w.configMaps()) == 0 })
}
