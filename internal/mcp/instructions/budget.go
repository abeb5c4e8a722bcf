// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package instructions

// Budget shares SessionBytes among the connected servers of one session (INS-05). The zero value is ready for use. It is
// not safe for concurrent use.
type Budget struct {
	used  map[string]int
	total int
}

// Take fits a newly connected server's text into what the others leave, and remembers what it uses. The result holds for
// the generation of the connection; a second Take replaces the first.
func (b *Budget) Take(server string, t Text) Text {
	b.Release(server)
	t = Fit(t, SessionBytes-b.total)
	if b.used == nil {
		b.used = map[string]int{}
	}
	b.used[server] = t.ProjectedBytes
	b.total += t.ProjectedBytes
	return t
}

// Release gives back what a lost server used. The texts of the others stay as they are.
func (b *Budget) Release(server string) {
	b.total -= b.used[server]
	delete(b.used, server)
}
