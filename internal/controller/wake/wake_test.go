// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package wake

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"k8s.io/client-go/util/workqueue"
)

// recorder is a queue that keeps what was added, and when it is due.
type recorder struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]

	added []time.Time
	last  reconcile.Request
}

func (r *recorder) Add(request reconcile.Request) { r.AddAfter(request, 0) }

func (r *recorder) AddAfter(request reconcile.Request, d time.Duration) {
	r.last = request
	r.added = append(r.added, time.Now().Add(d))
}

func started(t *testing.T) (*Source[string], *recorder) {
	t.Helper()
	s, q := New[string](), &recorder{}
	if err := s.Watch().Start(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	return s, q
}

var key = client.ObjectKey{Namespace: "ns", Name: "s"}

func TestNotifyEnqueuesTheObject(t *testing.T) {
	s, q := started(t)
	s.Notify("uid")
	if len(q.added) != 0 {
		t.Error("an id that is not bound was enqueued")
	}
	s.Bind("uid", key)
	s.Notify("uid")
	if len(q.added) != 1 || q.last.NamespacedName != key {
		t.Errorf("added %d times, %v", len(q.added), q.last)
	}
	s.Unbind("uid")
	s.Unbind("uid")
	s.Notify("uid")
	if len(q.added) != 1 {
		t.Error("an id that is no longer bound was enqueued")
	}
}

func TestNotifyBeforeTheControllerStarts(t *testing.T) {
	s := New[string]()
	s.Bind("uid", key)
	s.Notify("uid") // neither blocks nor panics
	q := &recorder{}
	if err := s.Watch().Start(context.WithoutCancel(t.Context()), q); err != nil {
		t.Fatal(err)
	}
	s.Notify("uid")
	if len(q.added) != 1 {
		t.Errorf("added %d times", len(q.added))
	}
}

// A thing that changes a hundred times a second costs a burst and then one entry a second, and the last change is seen.
func TestNotifyCoalesces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, q := started(t)
		s.Bind("busy", key)
		s.Bind("quiet", client.ObjectKey{Namespace: "ns", Name: "other"})
		for range 1000 {
			s.Notify("busy")
			time.Sleep(10 * time.Millisecond)
		}
		end := time.Now()
		if n := len(q.added); n < burst+9 || n > burst+11 {
			t.Errorf("%d entries in 10 s, want about %d", n, burst+10)
		}
		if last := slices.MaxFunc(q.added, time.Time.Compare); last.Before(end.Add(-10 * time.Millisecond)) {
			t.Errorf("nobody looks after the last change: %v before the end", end.Sub(last))
		}
		for i, at := range q.added[burst:] {
			if i > 0 && at.Sub(q.added[burst+i-1]) < interval-50*time.Millisecond {
				t.Errorf("entries %v apart", at.Sub(q.added[burst+i-1]))
			}
		}
		n := len(q.added)
		if s.Notify("quiet"); len(q.added) != n+1 || q.added[n].After(time.Now()) {
			t.Error("a quiet one pays for a busy one")
		}
	})
}

func TestOthers(t *testing.T) {
	s := New[string]()
	s.Bind("old", key)
	s.Bind("new", key)
	s.Bind("elsewhere", client.ObjectKey{Namespace: "ns2", Name: key.Name})
	for id, want := range map[string][]string{"new": {"old"}, "": {"new", "old"}, "old": {"new"}} {
		got := s.Others(id, key)
		slices.Sort(got)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("others than %q: %v, want %v", id, got, want)
		}
	}
	s.Unbind("old")
	if got := s.Others("new", key); len(got) != 0 {
		t.Errorf("others: %v", got)
	}
}
