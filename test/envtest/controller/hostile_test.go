// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/mcp"
)

// Whatever a server says of itself, and however long it is away, its session's status can be written.
func TestStatusTakesWhatServersSay(t *testing.T) {
	many := make([]string, 0, 70)
	for i := range 70 {
		many = append(many, fmt.Sprintf("c%d", i))
	}
	for name, say := range map[string]func(*mcp.ServerSnapshot){
		"a space": func(s *mcp.ServerSnapshot) { s.Capabilities = []string{"my ext", "tools"} },
		"nothing": func(s *mcp.ServerSnapshot) { s.Capabilities = []string{"", "tools"} },
		"many":    func(s *mcp.ServerSnapshot) { s.Capabilities = many },
		"long": func(s *mcp.ServerSnapshot) {
			s.Capabilities = []string{strings.Repeat("x", 64), strings.Repeat("y", 65)}
		},
		"anonymous":     func(s *mcp.ServerSnapshot) { s.ServerInfo = mcp.ServerInfo{} },
		"the last bits": func(s *mcp.ServerSnapshot) { s.ServerInfo.Name = strings.Repeat("你", 85) },
		"away for long": func(s *mcp.ServerSnapshot) {
			*s = mcp.ServerSnapshot{Name: s.Name, State: mcp.StateConnecting, Generation: 1 << 40, Attempt: 100}
			s.LastError = &mcp.Failure{Reason: mcp.FailureUnreachable, Message: strings.Repeat("m", 512), Time: at}
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeRuntime()
			f.show = func(_ mcp.SessionID, d mcp.Desired) *mcp.Snapshot {
				return shown(d, func(s *mcp.ServerSnapshot) {
					connected(s, echo)
					say(s)
				})
			}
			w := newWorld(t, f, newCaller())
			w.create(httpServer("a", "https://a.example/mcp"), newSession("s", "a"))
			w.reconcile(w.sessions, "s")
			w.writesOnce(w.sessions, newSession("s"))
		})
	}
}

// A chunk that lost its annotations is still in use, and can be touched.
func TestChunkWithoutAnnotations(t *testing.T) {
	w := bigWorld(t)
	w.reconcile(w.sessions, "one")
	for _, chunk := range w.configMaps() {
		chunk.Annotations = nil
		if err := w.api.Update(t.Context(), &chunk); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(chunkGrace/2 + 2*time.Second)
	w.reconcile(w.sessions, "two")
	is(t, w.session("two").Status.Conditions, "Ready=True Ready")
}

// A task that is gone when its record is due is not called.
func TestTaskGoneBeforeItsRecord(t *testing.T) {
	w, c := taskWorld(t, asIs)
	w.tasks.Client = interceptor.NewClient(w.api, interceptor.Funcs{
		SubResourceUpdate: func(ctx context.Context, api client.Client, sub string, o client.Object,
			opts ...client.SubResourceUpdateOption,
		) error {
			if err := api.Delete(ctx, &v1alpha1.McpTask{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "o"}}); err != nil {
				return err
			}
			return api.SubResource(sub).Update(ctx, o, opts...)
		},
	})
	w.reconcile(w.tasks, "o")
	time.Sleep(200 * time.Millisecond)
	if n := c.count(); n != 0 {
		t.Errorf("%d calls of a task that was gone", n)
	}
}

// A task that is cancelled between its record and its call is not called.
func TestTaskCancelledBeforeItsCall(t *testing.T) {
	w, c := taskWorld(t, asIs)
	w.writes.after = func(string) error { return errors.New("the answer was lost") }
	if _, _, err := w.try(w.tasks, "o"); err == nil {
		t.Fatal("the write's answer was not lost")
	}
	w.writes.after = nil
	update(w, w.task("o"), func(o *v1alpha1.McpTask) { o.Spec.Cancel = v1alpha1.CancelRequested })
	w.reconcile(w.tasks, "o")
	is(t, w.task("o").Status.Conditions, "Failed=True CancelRequested")
	time.Sleep(200 * time.Millisecond)
	if n := c.count(); n != 0 {
		t.Errorf("%d calls after the cancellation", n)
	}
}

// A Secret that cannot be read holds up neither the session nor what is connected already.
func TestUnreadableSecret(t *testing.T) {
	f := newFakeRuntime()
	w := newWorld(t, f, newCaller())
	secretive := httpServer("b", "https://b.example/mcp")
	secretive.Spec.Transport.StreamableHTTP.Headers = []v1alpha1.Header{{
		Name: "X-A", SecretKeyRef: &v1alpha1.SecretKeyReference{Name: "s", Key: "k"},
	}}
	w.create(httpServer("a", "https://a.example/mcp"), secretive, newSession("s", "a", "b"))
	w.sessions.Live = interceptor.NewClient(w.api, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if _, ok := o.(*corev1.Secret); ok {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, key.Name, errors.New("no"))
			}
			return c.Get(ctx, key, o, opts...)
		},
	})
	f.show = func(_ mcp.SessionID, d mcp.Desired) *mcp.Snapshot { // as the runtime: what is not resolved does not begin
		resolved := mcp.Desired{}
		for _, s := range d.Servers {
			if !s.Unresolved {
				resolved.Servers = append(resolved.Servers, s)
			}
		}
		return allConnected("", resolved)
	}
	w.reconcile(w.sessions, "s")
	result, _ := w.reconcile(w.sessions, "s")
	s := w.session("s")
	is(t, s.Status.Conditions, "Ready=True Degraded")
	if len(s.Status.Tools) != 1 || result.RequeueAfter == 0 {
		t.Errorf("tools %v, again after %s", s.Status.Tools, result.RequeueAfter)
	}
	w.restful(w.sessions, newSession("s"))
}
