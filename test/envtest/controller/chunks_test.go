// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
	read := 0
	for _, chunk := range stored {
		var tools []json.RawMessage
		if err := json.Unmarshal([]byte(chunk.Data["tools.json"]), &tools); err != nil {
			t.Fatal(err)
		}
		read += len(tools)
		if owner := metav1.GetControllerOf(&chunk); owner != nil || len(chunk.OwnerReferences) != 1 || !*chunk.Immutable {
			t.Errorf("%s: owners %v, immutable %v", chunk.Name, chunk.OwnerReferences, chunk.Immutable)
		}
	}
	if read != 400 {
		t.Errorf("the chunks hold %d tools", read)
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
	begin := time.Now()
	eventually(t, func() bool { return sweep() == 0 })
	if took := time.Since(begin); took < chunkGrace-time.Second {
		t.Errorf("swept after %s", took)
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
	if two.Status.Catalog.ToolCount != 400 || len(two.Status.Tools) == 0 {
		t.Errorf("catalog %+v", two.Status.Catalog)
	}
}
