// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"runtime"
	"sync"
	"weak"
)

// table shares equal catalogs for as long as somebody holds them.
type table struct {
	mu     sync.Mutex
	values map[string]weak.Pointer[Catalog]
}

var catalogs = table{values: map[string]weak.Pointer[Catalog]{}}

// Intern returns the value that stands for all catalogs with c's digest in this process: an earlier one that is still
// held, or c. Callers keep the result and let go of c.
func Intern(c *Catalog) *Catalog {
	if c == nil || c.Digest == "" {
		return c
	}
	return catalogs.share(c)
}

func (t *table) share(c *Catalog) *Catalog {
	t.mu.Lock()
	defer t.mu.Unlock()
	if earlier := t.values[c.Digest].Value(); earlier != nil {
		return earlier
	}
	t.values[c.Digest] = weak.Make(c)
	runtime.AddCleanup(c, t.forget, c.Digest)
	return c
}

// forget removes an entry whose value is gone, unless another value took its place.
func (t *table) forget(digest string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.values[digest].Value() == nil {
		delete(t.values, digest)
	}
}
