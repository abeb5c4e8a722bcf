// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package wake

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Wake-ups of one object: a burst passes at once, and then one a second (design, "internal/controller").
const (
	burst    = 8
	interval = time.Second
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// Source knows which object a live thing belongs to. K identifies the live thing, not the name of its object: a
// re-created object is another one.
type Source[K comparable] struct {
	mu    sync.Mutex
	queue queue
	bound map[K]*binding
}

type binding struct {
	key     client.ObjectKey
	limiter *rate.Limiter
}

// New returns a Source with nothing bound.
func New[K comparable]() *Source[K] {
	return &Source[K]{bound: map[K]*binding{}}
}

// Watch returns the source to give to a controller.
func (s *Source[K]) Watch() source.Source {
	return source.Func(func(_ context.Context, q queue) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.queue = q
		return nil
	})
}

// Bind says that wake-ups of id concern the object at key. It is idempotent.
func (s *Source[K]) Bind(id K, key client.ObjectKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.bound[id]; b != nil {
		return
	}
	s.bound[id] = &binding{key: key, limiter: rate.NewLimiter(rate.Every(interval), burst)}
}

// Unbind forgets id. It is idempotent.
func (s *Source[K]) Unbind(id K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.bound, id)
}

// Others returns the ids bound to key that are not id: what an object of the same name left behind.
func (s *Source[K]) Others(id K, key client.ObjectKey) []K {
	s.mu.Lock()
	defer s.mu.Unlock()
	var others []K
	for other, b := range s.bound {
		if b.key == key && other != id {
			others = append(others, other)
		}
	}
	return others
}

// Notify enqueues the object that id is bound to.
func (s *Source[K]) Notify(id K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.bound[id]
	if b == nil || s.queue == nil {
		return
	}
	request := reconcile.Request{NamespacedName: b.key}
	reservation := b.limiter.Reserve()
	delay := reservation.Delay()
	if delay > interval {
		// One wake-up is waiting already, and it will see whatever this one would.
		reservation.Cancel()
		return
	}
	if delay == 0 {
		s.queue.Add(request)
		return
	}
	s.queue.AddAfter(request, delay)
}
