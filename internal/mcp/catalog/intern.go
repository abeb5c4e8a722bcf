// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"runtime"
	"sync"
	"weak"
)

// Table shares equal immutable values for as long as somebody holds them. The zero value is empty. It is safe for
// concurrent use.
type Table[T any] struct {
	mu     sync.Mutex
	values map[string]weak.Pointer[T]
}

var (
	catalogs    = Table[Catalog]{}
	projections = Table[Projection]{}
)

// Intern returns the value that stands for all catalogs with c's digest in this process: an earlier one that is still
// held, or c. Callers keep the result and let go of c.
func Intern(c *Catalog) *Catalog {
	if c == nil || c.Digest == "" {
		return c
	}
	return catalogs.Share(c.Digest, c)
}

func (t *Table[T]) get(key string) *T {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.values[key].Value()
}

// Share returns an earlier value of the key that is still held, or value, which it then stands for.
func (t *Table[T]) Share(key string, value *T) *T {
	t.mu.Lock()
	defer t.mu.Unlock()
	if earlier := t.values[key].Value(); earlier != nil {
		return earlier
	}
	if t.values == nil {
		t.values = map[string]weak.Pointer[T]{}
	}
	t.values[key] = weak.Make(value)
	runtime.AddCleanup(value, t.forget, key)
	return value
}

// Len counts the values that are held, and those whose entries are still to be removed.
func (t *Table[T]) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.values)
}

// forget removes an entry whose value is gone, unless another value took its place.
func (t *Table[T]) forget(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.values[key].Value() == nil {
		delete(t.values, key)
	}
}
