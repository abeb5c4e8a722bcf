// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package naming

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"golang.org/x/text/unicode/norm"
)

const (
	// Prefix begins every provider name.
	Prefix = "mcp__"
	// MaxBytes bounds a provider name: the prefix, two segments, and what separates them (CAT-03).
	MaxBytes = len(Prefix) + 2*maxSegment + len(separator)

	separator  = "__"
	maxSegment = 24
	// keptPrefix characters and digestDigits of SHA-256 make a segment that could not be kept.
	keptPrefix   = 13
	digestDigits = 10
)

// Provider returns the name of a server's tool that is unique in a session: mcp__server__tool (CAT-01). It matches
// ^mcp__[A-Za-z0-9_-]+__[A-Za-z0-9_-]+$ and is at most MaxBytes long.
func Provider(server, tool string) string { return ServerPrefix(server) + Segment(tool) }

// ServerPrefix returns what the provider names of a server's tools begin with, and no other server's.
func ServerPrefix(server string) string { return Prefix + Segment(server) + separator }

// Server returns the name for agents that add a prefix of their own: server__tool (bridge row 6). It is the provider
// name without Prefix.
func Server(server, tool string) string { return Provider(server, tool)[len(Prefix):] }

// Segment returns v as one part of a provider name: v itself, in NFKC, where that is possible, and otherwise a readable
// beginning with a digest of it (CAT-02). A part that could be mistaken for a separator's neighbour takes the digest, so
// that a name is made in one way only (DEV-11). The result is 1 to 24 characters of [A-Za-z0-9_-].
func Segment(v string) string {
	normal := norm.NFKC.String(v)
	safe := safeForm(normal)
	if safe == normal && plain(safe) {
		return safe
	}
	if safe == "" {
		safe = "unnamed"
	}
	sum := sha256.Sum256([]byte(normal))
	return safe[:min(len(safe), keptPrefix)] + "_" + hex.EncodeToString(sum[:digestDigits/2])
}

func plain(s string) bool {
	return s != "" && len(s) <= maxSegment && !strings.Contains(s, separator) && s[0] != '_' && s[len(s)-1] != '_'
}

// safeForm replaces every UTF-16 unit outside [A-Za-z0-9_-]: the names were first made by a program that counts in these.
func safeForm(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range s {
		switch {
		case r > 0xFFFF:
			b.WriteString("__")
		case isSafe(r):
			b.WriteRune(r)
		default:
			b.WriteByte('_')
		}
	}
	return b.String()
}

func isSafe(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-'
}
