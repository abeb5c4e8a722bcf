// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import "strings"

// Filter chooses tools by provider name with globs, in which * stands for any characters and ? for one. Deny wins
// (REG-30).
type Filter struct {
	// Allow is nil for every tool, and empty for none.
	Allow []string
	Deny  []string
}

// patterns holds one list of globs. Names without wildcards, the usual ones, cost one look-up however many there are.
type patterns struct {
	exact map[string]bool
	globs []string
}

func compile(list []string) patterns {
	p := patterns{exact: map[string]bool{}}
	for _, pattern := range list {
		if strings.ContainsAny(pattern, "*?") {
			p.globs = append(p.globs, pattern)
		} else {
			p.exact[pattern] = true
		}
	}
	return p
}

func (p *patterns) match(name string) bool {
	if p.exact[name] {
		return true
	}
	for _, pattern := range p.globs {
		if glob(pattern, name) {
			return true
		}
	}
	return false
}

// glob goes back to the last * only: what an earlier one took can stay. Never worse than the product of both lengths.
func glob(pattern, name string) bool {
	i, star, taken := 0, -1, 0
	for j := 0; j < len(name); {
		switch {
		case i < len(pattern) && pattern[i] == '*':
			star, taken = i, j
			i++
		case i < len(pattern) && (pattern[i] == '?' || pattern[i] == name[j]):
			i++
			j++
		case star >= 0:
			taken++
			i, j = star+1, taken
		default:
			return false
		}
	}
	return strings.Trim(pattern[i:], "*") == ""
}
