// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/controller/chunks"
	"github.com/mooring-dev/mooring/internal/mcp"
	"github.com/mooring-dev/mooring/internal/mcp/catalog"
)

// big is a catalog that fits neither into status nor into one chunk.
func big(t *testing.T) *catalog.Catalog {
	t.Helper()
	tools := make([]string, 400)
	for i := range tools {
		tools[i] = fmt.Sprintf(`{"name":"t%d","inputSchema":{"type":"object","title":%q}}`, i, strings.Repeat("x", 3<<10))
	}
	b := catalog.NewBuilder()
	if _, err := b.AddPage(json.RawMessage(`{"tools":[` + strings.Join(tools, ",") + `]}`)); err != nil {
		t.Fatal(err)
	}
	return b.Catalog()
}

// bigWorld has sessions one and two on a server with a big catalog.
func bigWorld(t *testing.T) *world {
	t.Helper()
	tools := big(t)
	f := newFakeRuntime()
	f.show = func(_ mcp.SessionID, d mcp.Desired) *mcp.Snapshot {
		return shown(d, func(s *mcp.ServerSnapshot) { connected(s, tools) })
	}
	w := newWorld(t, f, newCaller())
	w.create(httpServer("a", "https://a.example/mcp"), newSession("one", "a"), newSession("two", "a"))
	w.reconcile(w.sessions, "one")
	w.reconcile(w.sessions, "two")
	return w
}

func (w *world) configMaps() []corev1.ConfigMap {
	w.t.Helper()
	var list corev1.ConfigMapList
	err := w.api.List(w.t.Context(), &list, client.InNamespace(w.namespace), client.HasLabels{v1alpha1.LabelCatalogDigest})
	if err != nil {
		w.t.Fatal(err)
	}
	return list.Items
}

// readable returns the names of all tools that can be read from the chunks that a session names, each in full.
func (w *world) readable(s *v1alpha1.McpSession) []string {
	w.t.Helper()
	var names []string
	for _, ref := range s.Status.Catalog.Chunks {
		chunk := get(w, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: ref.ConfigMap}})
		var tools []struct {
			Name        string
			InputSchema struct {
				Properties json.RawMessage
				Title      string
			}
		}
		if err := json.Unmarshal([]byte(chunk.Data["tools.json"]), &tools); err != nil {
			w.t.Fatal(err)
		}
		for _, tool := range tools {
			if len(tool.InputSchema.Properties)+len(tool.InputSchema.Title) < 2<<10 {
				w.t.Errorf("%s of %s is not whole", tool.Name, ref.ConfigMap)
			}
			names = append(names, tool.Name)
		}
		if size := len(chunk.Data["tools.json"]); size > v1alpha1.ChunkBytes {
			w.t.Errorf("%s has %d bytes", ref.ConfigMap, size)
		}
	}
	return names
}

// Two sessions of one catalog store it once, whole, as the server's.
func TestChunksAreShared(t *testing.T) {
	w := bigWorld(t)
	_, writes := w.reconcile(w.sessions, "one")
	stored := w.configMaps()
	if len(writes) != len(stored)+1 || len(stored) < 2 {
		t.Errorf("%d chunks by %q", len(stored), writes)
	}
	_, writes = w.reconcile(w.sessions, "two")
	wrote(t, writes, "update status McpSession two")
	w.restful(w.sessions, w.session("one"))

	one, two := w.session("one"), w.session("two")
	is(t, one.Status.Conditions, "CatalogSynced=True Synced") // every name is listed
	if fmt.Sprint(one.Status.Catalog.Chunks) != fmt.Sprint(two.Status.Catalog.Chunks) || len(one.Status.Catalog.Chunks) != len(stored) {
		t.Errorf("chunks %v and %v", one.Status.Catalog.Chunks, two.Status.Catalog.Chunks)
	}
	for i := range stored {
		chunk := &stored[i]
		if !ptr.Deref(chunk.Immutable, false) {
			t.Errorf("%s can be changed", chunk.Name)
		}
		if len(chunk.OwnerReferences) != 1 || chunk.OwnerReferences[0].UID != w.server("a").UID {
			t.Errorf("%s is owned by %v, want its server alone", chunk.Name, chunk.OwnerReferences)
		}
	}
	if names := w.readable(one); len(names) != 400 || names[399] != "t399" {
		t.Errorf("the chunks hold %d tools", len(names))
	}
}

// What a chunk says of itself may have been changed: the catalog is whole all the same, and nothing breaks.
func TestChunksThatWereTamperedWith(t *testing.T) {
	for _, count := range []string{"1", "99", "many", "-3"} {
		w := bigWorld(t)
		w.reconcile(w.sessions, "one")
		want := w.session("one").Status.Catalog.Chunks
		update(w, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: want[0].ConfigMap}}, func(c *corev1.ConfigMap) {
			c.Annotations[v1alpha1.AnnotationChunkCount] = count
		})
		w.restful(w.sessions, w.session("one"))
		w.reconcile(w.sessions, "two")
		if got := w.session("two").Status.Catalog.Chunks; len(got) != len(want) {
			t.Errorf("%q: %d chunks, want %d", count, len(got), len(want))
		}
	}
}

// Chunks go when nobody has named them for the grace, and not before.
func TestChunksAreSwept(t *testing.T) {
	w := bigWorld(t)
	w.reconcile(w.sessions, "one")
	sweeper := &chunks.Sweeper{Store: w.sessions.Chunks}
	sweep := func() int {
		if err := sweeper.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		return len(w.configMaps())
	}
	all := sweep()
	w.delete(newSession("one"))
	w.reconcile(w.sessions, "one")
	if left := sweep(); left != all {
		t.Errorf("%d of %d chunks at once", left, all)
	}
	// A session that comes back in time keeps them.
	time.Sleep(chunkGrace / 2)
	sweep()
	w.reconcile(w.sessions, "two")
	time.Sleep(chunkGrace)
	if left := sweep(); left != all {
		t.Errorf("%d of %d chunks that a session names", left, all)
	}
	w.delete(newSession("two"))
	w.reconcile(w.sessions, "two")
	begin := time.Now()
	eventually(t, func() bool { return sweep() == 0 })
	if took := time.Since(begin); took < chunkGrace-time.Second {
		t.Errorf("swept after %s", took)
	}
}

// A session that begins to name an old chunk touches it first: a sweep that does not see the session yet lets it be, also
// one that looked at the chunk before.
func TestSweepMeetsASession(t *testing.T) {
	for name, stale := range map[string]bool{"sees the touch": false, "looked before": true} {
		w := bigWorld(t)
		w.reconcile(w.sessions, "one")
		all := len(w.configMaps())
		w.delete(newSession("one"))
		w.reconcile(w.sessions, "one")

		var before metav1.PartialObjectMetadataList
		store := &chunks.Store{Live: w.api, Grace: chunkGrace, Cached: interceptor.NewClient(w.api, interceptor.Funcs{
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
				seen, ok := list.(*metav1.PartialObjectMetadataList)
				if !ok || before.Items == nil || !stale {
					return c.List(ctx, list, append(opts, client.InNamespace(w.namespace))...)
				}
				before.DeepCopyInto(seen)
				return nil
			},
		})}
		sweeper := &chunks.Sweeper{Store: store}
		if err := sweeper.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(chunkGrace + time.Second)
		listed := metav1.PartialObjectMetadataList{}
		listed.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
		if err := w.api.List(t.Context(), &listed, client.InNamespace(w.namespace), client.HasLabels{v1alpha1.LabelCatalogDigest}); err != nil {
			t.Fatal(err)
		}
		before = listed
		if _, err := w.sessions.Chunks.Ensure(t.Context(), w.server("a"), big(t), nil); err != nil {
			t.Fatal(err)
		}
		if err := sweeper.Sweep(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if left := len(w.configMaps()); left != all || all == 0 {
			t.Errorf("%s: %d of %d chunks are left", name, left, all)
		}
	}
}

// A ConfigMap of somebody else's in a chunk's place is told, and nothing else is lost.
func TestForeignChunk(t *testing.T) {
	w := bigWorld(t)
	w.reconcile(w.sessions, "one")
	name := w.session("one").Status.Catalog.Chunks[0].ConfigMap
	w.delete(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}})
	w.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"tools.json": "[]"}})
	w.reconcile(w.sessions, "two")
	two := w.session("two")
	is(t, two.Status.Conditions, "Ready=True Ready", "CatalogSynced=False NotStored")
	if two.Status.Catalog.ToolCount != 400 || len(two.Status.Tools) == 0 || len(two.Status.Catalog.Chunks) != 0 {
		t.Errorf("catalog %+v", two.Status.Catalog)
	}
	result, writes := w.reconcile(w.sessions, "two")
	wrote(t, writes, "create ConfigMap "+name) // an attempt, and no status
	if result.RequeueAfter <= 0 || result.RequeueAfter > 70*time.Second {
		t.Errorf("tried again after %v", result.RequeueAfter)
	}
	w.delete(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}})
	w.reconcile(w.sessions, "two")
	two = w.session("two")
	is(t, two.Status.Conditions, "CatalogSynced=True Synced")
	if n := len(w.readable(two)); n != 400 {
		t.Errorf("%d tools in the chunks", n)
	}
}

// One of the right content that would not go with the server, or that can be changed, is none of ours.
func TestForeignChunkOfTheRightContent(t *testing.T) {
	for name, change := range map[string]func(*corev1.ConfigMap){
		"mutable":       func(c *corev1.ConfigMap) { c.Immutable = nil },
		"without owner": func(c *corev1.ConfigMap) { c.OwnerReferences = nil },
		"without label": func(c *corev1.ConfigMap) { c.Labels = nil },
		"other content": func(c *corev1.ConfigMap) { c.Data["tools.json"] += " " },
	} {
		w := bigWorld(t)
		w.reconcile(w.sessions, "one")
		chunk := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: w.session("one").Status.Catalog.Chunks[0].ConfigMap}}
		get(w, chunk)
		again := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{
				Name: chunk.Name, Labels: chunk.Labels, Annotations: chunk.Annotations, OwnerReferences: chunk.OwnerReferences,
			},
			Immutable: chunk.Immutable, Data: chunk.Data,
		}
		change(again)
		w.delete(chunk)
		w.create(again)
		w.reconcile(w.sessions, "two")
		if !has(w.session("two").Status.Conditions, "CatalogSynced=False NotStored") {
			t.Errorf("%s: it is named as a chunk", name)
		}
	}
}

// A quota that is used up costs the chunks, and no more.
func TestChunksBeyondTheQuota(t *testing.T) {
	w := bigWorld(t)
	w.sessions.Chunks.Live = interceptor.NewClient(w.api, interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			return apierrors.NewForbidden(corev1.Resource("configmaps"), "x", errors.New("exceeded quota: q, used: 5"))
		},
	})
	w.reconcile(w.sessions, "one")
	one := w.session("one")
	is(t, one.Status.Conditions, "Ready=True Ready", "CatalogSynced=False NotStored")
	for _, c := range one.Status.Conditions {
		if strings.Contains(c.Message, "used: 5") {
			t.Errorf("%s holds figures that change: %s", c.Type, c.Message)
		}
	}
	w.restful(w.sessions, one)
}
