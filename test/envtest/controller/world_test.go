// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/controller/chunks"
	"github.com/mooring-dev/mooring/internal/controller/server"
	"github.com/mooring-dev/mooring/internal/controller/session"
	"github.com/mooring-dev/mooring/internal/controller/task"
	"github.com/mooring-dev/mooring/internal/controller/wake"
	"github.com/mooring-dev/mooring/internal/mcp"
)

var scheme = newScheme()

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(v1alpha1.AddToScheme(s))
	return s
}

// world is one namespace with reconcilers of its own, whose writes are counted.
type world struct {
	t         *testing.T
	namespace string
	// api is the test's client; what the reconcilers write through theirs stands in writes.
	api    client.WithWatch
	writes *writes
	owner  owner

	servers  *server.Reconciler
	sessions *session.Reconciler
	tasks    *task.Reconciler
}

// owner is a shard.Owner that a test can change.
type owner struct{ other *bool }

func (o owner) Owner(mcp.SessionID) (string, bool) { return "", !*o.other }

func newWorld(t *testing.T, sessions session.Runtime, caller task.Caller) *world {
	t.Helper()
	api, err := client.NewWithWatch(testCluster.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, api: api, writes: &writes{}, owner: owner{other: new(bool)}}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "c-"}}
	if err := api.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	w.namespace = namespace.Name
	counted := w.writes.intercept(api)
	sessionWake, taskWake := wake.New[mcp.SessionID](), wake.New[types.UID]()
	w.servers = &server.Reconciler{Client: counted}
	w.sessions = &session.Reconciler{
		Client: counted, Live: counted, Runtime: sessions, Owner: w.owner, Wake: sessionWake,
		Chunks: &chunks.Store{Cached: counted, Live: counted, Grace: chunkGrace}, GatewayURL: "http://gateway.example:8090",
	}
	w.tasks = &task.Reconciler{Client: counted, Sessions: sessions, Owner: w.owner, Wake: taskWake}
	w.restart(caller)
	return w
}

// restart gives the tasks' reconciler the memory of a new process: none.
func (w *world) restart(caller task.Caller) {
	w.t.Helper()
	executor := task.NewExecutor(caller, func(types.UID) {})
	w.tasks.Executor = executor
	w.tasks.Wake = wake.New[types.UID]()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- executor.Start(ctx) }()
	w.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			w.t.Error(err)
		}
	})
}

func (w *world) create(objects ...client.Object) {
	w.t.Helper()
	for _, o := range objects {
		o.SetNamespace(w.namespace)
		if err := w.api.Create(w.t.Context(), o); err != nil {
			w.t.Fatal(err)
		}
	}
}

// get reads an object anew, and fails the test when there is none.
func get[T client.Object](w *world, o T) T {
	w.t.Helper()
	key := types.NamespacedName{Namespace: w.namespace, Name: o.GetName()}
	if err := w.api.Get(w.t.Context(), key, o); err != nil {
		w.t.Fatal(err)
	}
	return o
}

func (w *world) session(name string) *v1alpha1.McpSession {
	w.t.Helper()
	return get(w, &v1alpha1.McpSession{ObjectMeta: metav1.ObjectMeta{Name: name}})
}

func (w *world) server(name string) *v1alpha1.McpServer {
	w.t.Helper()
	return get(w, &v1alpha1.McpServer{ObjectMeta: metav1.ObjectMeta{Name: name}})
}

func (w *world) task(name string) *v1alpha1.McpTask {
	w.t.Helper()
	return get(w, &v1alpha1.McpTask{ObjectMeta: metav1.ObjectMeta{Name: name}})
}

// update changes an object's spec or metadata, as a person would.
func update[T client.Object](w *world, o T, change func(T)) {
	w.t.Helper()
	base := get(w, o).DeepCopyObject().(T)
	change(o)
	if err := w.api.Patch(w.t.Context(), o, client.MergeFrom(base)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) delete(o client.Object) {
	w.t.Helper()
	o.SetNamespace(w.namespace)
	if err := w.api.Delete(w.t.Context(), o); err != nil {
		w.t.Fatal(err)
	}
}

// reconcile calls Reconcile once and returns what it wrote.
func (w *world) reconcile(r reconcile.Reconciler, name string) (ctrl.Result, []string) {
	w.t.Helper()
	result, wrote, err := w.try(r, name)
	if err != nil {
		w.t.Fatal(err)
	}
	return result, wrote
}

func (w *world) try(r reconcile.Reconciler, name string) (ctrl.Result, []string, error) {
	w.writes.take()
	result, err := r.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: w.namespace, Name: name}})
	return result, w.writes.take(), err
}

// writes records what a client writes: "update status McpSession s".
type writes struct {
	mu   sync.Mutex
	done []string
	// after, where it is set, is asked for the answer to a write that has landed.
	after func(write string) error
}

func (l *writes) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	done := l.done
	l.done = nil
	return done
}

func (l *writes) add(verb string, o client.Object, err error) error {
	kind := strings.TrimPrefix(fmt.Sprintf("%T", o), "*v1alpha1.")
	write := fmt.Sprintf("%s %s %s", verb, strings.TrimPrefix(kind, "*v1."), o.GetName())
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done = append(l.done, write)
	if err == nil && l.after != nil {
		err = l.after(write)
	}
	return err
}

func (l *writes) intercept(api client.WithWatch) client.WithWatch {
	return interceptor.NewClient(api, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return l.add("create", o, c.Create(ctx, o, opts...))
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			return l.add("update", o, c.Update(ctx, o, opts...))
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			return l.add("patch", o, c.Patch(ctx, o, p, opts...))
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return l.add("delete", o, c.Delete(ctx, o, opts...))
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
			return l.add("update "+sub, o, c.SubResource(sub).Update(ctx, o, opts...))
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch,
			opts ...client.SubResourcePatchOption,
		) error {
			return l.add("patch "+sub, o, c.SubResource(sub).Patch(ctx, o, p, opts...))
		},
	})
}

// wrote checks what a reconcile wrote.
func wrote(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("wrote %q, want %q", got, want)
	}
}

// is checks a condition: "Ready=True Suspended". An absent one is "Ready=".
func is(t *testing.T, conditions []metav1.Condition, want ...string) {
	t.Helper()
	for _, w := range want {
		name, _, _ := strings.Cut(w, "=")
		got := name + "="
		if c := meta.FindStatusCondition(conditions, name); c != nil {
			got = fmt.Sprintf("%s=%s %s", name, c.Status, c.Reason)
		}
		if got != w {
			all, err := json.Marshal(conditions)
			t.Errorf("%s, want %s, in %s%v", got, w, all, err)
		}
	}
}
