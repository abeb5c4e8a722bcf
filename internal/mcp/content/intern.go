// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import "github.com/mooring-dev/mooring/internal/mcp/catalog"

var catalogs catalog.Table[Catalog]

// Intern returns the value that stands for all catalogs with c's digest in this process: an earlier one that is still
// held, or c. Callers keep the result and let go of c.
func Intern(c *Catalog) *Catalog {
	if c == nil || c.Digest == "" {
		return c
	}
	return catalogs.Share(c.Digest, c)
}
