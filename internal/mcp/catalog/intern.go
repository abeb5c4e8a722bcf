// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"runtime"
	"sync"
	"weak"
)

// table shares equal immutable values for as long as somebody holds them.
type table[T any] struct {
	mu     sync.Mutex
	values map[string]weak.Pointer[T]
}

var (
	catalogs    = table[Catalog]{values: map[string]weak.Pointer[Catalog]{}}
	projections = table[Projection]{values: map[string]weak.Pointer[Projection]{}}
)

// Intern returns the value that stands for all catalogs with c's digest in this process: an earlier one that is still
// held, or c. Callers keep the result and let go of c.
func Intern(c *Catalog) *Catalog {
	if c == nil || c.Digest == "" {
		return c
	}
	return catalogs.share(c.Digest, c)
}

func (t *table[T]) get(key string) *T {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.values[key].Value()
}

func (t *table[T]) share(key string, value *T) *T {
	t.mu.Lock()
	defer t.mu.Unlock()
	if earlier := t.values[key].Value(); earlier != nil {
		return earlier
	}
	t.values[key] = weak.Make(value)
	runtime.AddCleanup(value, t.forget, key)
	return value
}

// forget removes an entry whose value is gone, unless another value took its place.
func (t *table[T]) forget(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.values[key].Value() == nil {
		delete(t.values, key)
	}
}
