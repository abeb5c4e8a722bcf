// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/egress"
	"github.com/mooring-dev/mooring/internal/mcp"
	"github.com/mooring-dev/mooring/test/servers"
)

// liveWorld is a world with the real runtime.
type liveWorld struct {
	*world
	runtime *mcp.Runtime
}

func newRuntime(t *testing.T, notify func(mcp.SessionID)) *mcp.Runtime {
	t.Helper()
	runtime := mcp.New(mcp.Options{Egress: &egress.Policy{AllowLoopback: true}, OnChange: notify})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
		defer cancel()
		if err := runtime.Close(ctx); err != nil {
			t.Errorf("close the runtime: %v", err)
		}
	})
	return runtime
}

func newLiveWorld(t *testing.T) *liveWorld {
	t.Helper()
	runtime := newRuntime(t, nil)
	return &liveWorld{world: newWorld(t, runtime, runtime), runtime: runtime}
}

// until reconciles a session until it has a condition.
func (w *liveWorld) until(name, want string) *v1alpha1.McpSession {
	w.t.Helper()
	var s *v1alpha1.McpSession
	deadline := time.Now().Add(30 * time.Second)
	for {
		w.reconcile(w.sessions, name)
		if s = w.session(name); has(s.Status.Conditions, want) {
			return s
		}
		if time.Now().After(deadline) {
			is(w.t, s.Status.Conditions, want)
			w.t.FailNow()
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// has reports whether a condition is as is wants it.
func has(conditions []metav1.Condition, want string) bool {
	for _, c := range conditions {
		if c.Type+"="+string(c.Status)+" "+c.Reason == want {
			return true
		}
	}
	return false
}

// gate passes requests on to a server, keeps their header X-Key, and can hang.
type gate struct {
	url  string
	hang atomic.Bool

	mu   sync.Mutex
	keys map[string]int
}

func newGate(t *testing.T, target string) *gate {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{keys: map[string]int{}}
	transport := &http.Transport{}
	proxy := &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: u.Scheme, Host: u.Host}) },
		// A client that went away is no news.
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	ended := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.hang.Load() {
			select {
			case <-r.Context().Done():
			case <-ended:
			}
			return
		}
		g.mu.Lock()
		g.keys[r.Header.Get("X-Key")]++
		g.mu.Unlock()
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		close(ended)
		server.CloseClientConnections()
		server.Close()
		transport.CloseIdleConnections()
	})
	g.url = server.URL + u.Path
	return g
}

func (g *gate) seen(key string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.keys[key]
}

// A Secret that changes replaces the connections that used it, and no others, when it is read again.
func TestSecretRotated(t *testing.T) {
	w := newLiveWorld(t)
	counter := servers.NewCounter()
	t.Cleanup(counter.Close)
	gate := newGate(t, counter.URL)
	keyed := httpServer("keyed", gate.url)
	keyed.Spec.Transport.StreamableHTTP.Headers = []v1alpha1.Header{
		{Name: "X-Key", SecretKeyRef: &v1alpha1.SecretKeyReference{Name: "key", Key: "k"}},
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "key"}, StringData: map[string]string{"k": "one"}}
	w.create(keyed, httpServer("plain", counter.URL), secret, newSession("s", "keyed", "plain"))
	before := w.until("s", "Ready=True Ready").Status.Servers
	if gate.seen("one") == 0 {
		t.Fatal("the Secret's value was not sent")
	}
	// Nothing happens for a value that is the same.
	update(w.world, secret, func(s *corev1.Secret) { s.Labels = map[string]string{"a": "b"} })
	w.restful(w.sessions, w.session("s"))

	update(w.world, secret, func(s *corev1.Secret) { s.Data = map[string][]byte{"k": []byte("two")} })
	eventually(t, func() bool {
		w.reconcile(w.sessions, "s")
		s := w.session("s")
		return s.Status.Servers[0].ConnectionGeneration > before[0].ConnectionGeneration && has(s.Status.Conditions, "Ready=True Ready")
	})
	if gate.seen("two") == 0 {
		t.Error("the new value was not sent")
	}
	if after := w.session("s").Status.Servers; after[1].ConnectionGeneration != before[1].ConnectionGeneration {
		t.Error("a connection that does not use the Secret was replaced")
	}

	w.delete(secret)
	w.until("s", "Ready=True Degraded")
	s := w.session("s").Status.Servers[0]
	if s.State != v1alpha1.ServerStateInvalid || s.LastError.Reason != v1alpha1.ReasonUnresolvedReference {
		t.Errorf("%+v", s)
	}
}

// Two sessions of one server have a connection each; the end of one leaves the other's alone.
func TestSessionsHaveTheirOwnConnections(t *testing.T) {
	w := newLiveWorld(t)
	counter := servers.NewCounter()
	t.Cleanup(counter.Close)
	server := httpServer("a", counter.URL)
	server.Spec.Transport.StreamableHTTP.Protocol = v1alpha1.ProtocolLegacy
	w.create(server, newSession("s", "a"), newSession("other", "a"))
	w.until("s", "Ready=True Ready")
	w.until("other", "CatalogSynced=True Synced")
	if began, ended := counter.Sessions(); began != 2 || ended != 0 {
		t.Errorf("%d sessions at the server, %d ended", began, ended)
	}
	before := w.session("other").ResourceVersion
	w.delete(w.session("s"))
	eventually(t, func() bool {
		w.reconcile(w.sessions, "s")
		return w.gone()
	})
	if began, ended := counter.Sessions(); began != 2 || ended != 1 {
		t.Errorf("%d sessions at the server, %d ended", began, ended)
	}
	_, writes := w.reconcile(w.sessions, "other")
	wrote(t, writes)
	if s := w.session("other"); s.ResourceVersion != before || !has(s.Status.Conditions, "Ready=True Ready") {
		t.Errorf("the other session's status changed: %+v", s.Status)
	}

	// Suspending ends the connection at the server; resuming makes another.
	update(w.world, w.session("other"), func(s *v1alpha1.McpSession) { s.Spec.Suspend = v1alpha1.SuspendOn })
	w.until("other", "Ready=True Suspended")
	eventually(t, func() bool { _, ended := counter.Sessions(); return ended == 2 })
	update(w.world, w.session("other"), func(s *v1alpha1.McpSession) { s.Spec.Suspend = v1alpha1.SuspendOff })
	w.until("other", "CatalogSynced=True Synced")
	if began, _ := counter.Sessions(); began != 3 {
		t.Errorf("%d sessions at the server", began)
	}
}
