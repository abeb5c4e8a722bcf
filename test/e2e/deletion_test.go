// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/test/servers"
)

// namespaceLimit is what the deletion of a namespace may take, whatever its servers do.
const namespaceLimit = time.Minute

// hanging is a server that can stop answering.
type hanging struct {
	*servers.Counter
	URL   string
	front *httptest.Server
	hangs atomic.Bool
}

func newHanging(t *testing.T) *hanging {
	h := &hanging{Counter: servers.NewCounter()}
	end := make(chan struct{})
	proxy := forward(h.Counter.URL)
	h.front = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h.hangs.Load() {
			select {
			case <-end:
			case <-r.Context().Done():
			}
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	h.URL = h.front.URL + "/mcp"
	t.Cleanup(func() {
		close(end)
		h.front.CloseClientConnections()
		h.front.Close()
		h.Close()
	})
	return h
}

// TestNamespaceDeletion deletes namespaces whose servers are well, gone, or hang.
func TestNamespaceDeletion(t *testing.T) {
	for _, how := range []string{"well", "gone", "hangs"} {
		t.Run(how, func(t *testing.T) {
			h := newHanging(t)
			ns := populated(t, h.URL, 3)
			switch how {
			case "gone":
				h.front.CloseClientConnections()
				h.front.Close()
			case "hangs":
				h.hangs.Store(true)
				h.front.CloseClientConnections()
			}
			t.Logf("namespace with a server that is %s: gone in %s", how, deleteNamespace(t, ns, namespaceLimit))
		})
	}
}

// populated makes a namespace with sessions, a Secret that they need, and a task under way.
func populated(t *testing.T, url string, sessions int) string {
	t.Helper()
	ns := namespace(t, "deleted")
	create(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "key"}, Data: map[string][]byte{"key": []byte("x")}})
	s := legacy(ns, "server", url)
	s.Spec.Transport.StreamableHTTP.Headers = []v1alpha1.Header{{
		Name: "X-Key", SecretKeyRef: &v1alpha1.SecretKeyReference{Name: "key", Key: "key"},
	}}
	create(t, s)
	for i := range sessions {
		session(t, ns, fmt.Sprintf("s%d", i), "server")
	}
	for i := range sessions {
		awaitSession(t, ns, fmt.Sprintf("s%d", i), 30*time.Second, ready)
	}
	task(t, ns, "running", "s0", "mcp__server__slow", `{"key":"`+ns+`","milliseconds":60000}`)
	return ns
}

// TestDeletionOrders deletes what a session needs before it, under each propagation policy.
func TestDeletionOrders(t *testing.T) {
	first := map[string]client.Object{
		"server": &v1alpha1.McpServer{ObjectMeta: metav1.ObjectMeta{Name: "server"}},
		"secret": &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "key"}},
		"agent":  &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "agent"}},
	}
	for name, object := range first {
		for _, policy := range []metav1.DeletionPropagation{
			metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan,
		} {
			t.Run(fmt.Sprintf("%s first, %s", name, policy), func(t *testing.T) {
				h := newHanging(t)
				ns := populated(t, h.URL, 1)
				object := object.DeepCopyObject().(client.Object)
				object.SetNamespace(ns)
				gone(t, object, policy, 20*time.Second)
				gone(t, &v1alpha1.McpSession{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "s0"}}, policy, 20*time.Second)
				deleteNamespace(t, ns, namespaceLimit)
			})
		}
	}
}

// gone deletes an object and waits for its end.
func gone(t *testing.T, object client.Object, policy metav1.DeletionPropagation, within time.Duration) {
	t.Helper()
	if err := client.IgnoreNotFound(k8s.Delete(t.Context(), object, client.PropagationPolicy(policy))); err != nil {
		t.Fatal(err)
	}
	eventually(t, within, func() string {
		if apierrors.IsNotFound(k8s.Get(t.Context(), client.ObjectKeyFromObject(object), object)) {
			return ""
		}
		return fmt.Sprintf("%T %s is there, with finalizers %v", object, object.GetName(), object.GetFinalizers())
	})
}

// TestKillDuringCleanup kills the manager at each step of a session's cleanup.
func TestKillDuringCleanup(t *testing.T) {
	for _, point := range []string{"cleanup/terminating", "cleanup/released", "cleanup/finalizer"} {
		for _, hangs := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, hanging %t", point, hangs), func(t *testing.T) {
				h := newHanging(t)
				restart(t, "MOORING_FAILPOINT="+point)
				ns := populated(t, h.URL, 1)
				if hangs {
					h.hangs.Store(true)
					h.front.CloseClientConnections()
				}
				begin := time.Now()
				if err := k8s.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}); err != nil {
					t.Fatal(err)
				}
				select {
				case <-manager.Done():
				case <-time.After(40 * time.Second):
					t.Fatalf("%s was not reached", point)
				}
				restart(t)
				deleteNamespace(t, ns, namespaceLimit-time.Since(begin))
			})
		}
	}
}
