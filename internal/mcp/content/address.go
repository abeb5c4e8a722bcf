// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"fmt"
	"net/url"
	"strings"
)

// scheme begins every address that we make: mooring+<server>: for what servers own, mooring: for what we do.
const scheme = "mooring"

// ProjectedURI returns the URI that agents address a server's resource by: as the server named it where unique says that
// no other server of the session has it, and otherwise mooring+<server>:<escaped> (bridge row 7). server is a name of
// lower-case letters, digits and dashes. Two resources never have the same projected URI; what a server named like one of
// ours is always escaped.
//
// A URI that has the characters of RFC 3986 only is escaped to itself, so that what clients do to a URI, and what
// expanding a template gives, stays what it is. Any other one is percent-encoded, its first character always: that tells
// it from the former, which begins with a letter.
func ProjectedURI(server, uri string, unique bool) string {
	switch {
	case unique && !ours(uri):
		return uri
	case plain(uri):
		return prefix(server) + uri
	}
	return prefix(server) + escape(uri)
}

// ParseURI returns what ProjectedURI was given with a server's name; it is not ok for what a server named itself.
func ParseURI(projected string) (server, uri string, ok bool) {
	server, uri, ok = split(projected)
	if !ok || !strings.HasPrefix(uri, "%") {
		return server, uri, ok
	}
	decoded, err := url.PathUnescape(uri)
	if err != nil || plain(decoded) || escape(decoded) != uri { // one spelling only
		return "", "", false
	}
	return server, decoded, true
}

// ProjectedTemplate is ProjectedURI for a URI template: expanding it gives a URI that ParseURI reads.
func ProjectedTemplate(server, template string, unique bool) string {
	if unique && !ours(template) {
		return template
	}
	return prefix(server) + template
}

// ParseTemplate returns what ProjectedTemplate was given with a server's name.
func ParseTemplate(projected string) (server, template string, ok bool) { return split(projected) }

func prefix(server string) string { return scheme + "+" + server + ":" }

func split(projected string) (server, rest string, ok bool) {
	name, rest, found := strings.Cut(projected, ":")
	server, marked := strings.CutPrefix(name, scheme+"+")
	if !found || !marked || server == "" || rest == "" || strings.ContainsFunc(server, notInName) {
		return "", "", false
	}
	return server, rest, true
}

func notInName(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' }

// ours reports whether a URI could be taken for one that we made. Schemes have no case.
func ours(uri string) bool {
	if len(uri) <= len(scheme) || !strings.EqualFold(uri[:len(scheme)], scheme) {
		return false
	}
	return uri[len(scheme)] == '+' || uri[len(scheme)] == ':'
}

// plain reports whether a URI begins with a letter and has only characters of RFC 3986.
func plain(uri string) bool {
	for i := range len(uri) {
		if !uriByte(uri[i]) && !isTriplet(uri[i:]) {
			return false
		}
	}
	return uri != "" && isLetter(uri[0])
}

func escape(uri string) string {
	var b strings.Builder
	for i := range len(uri) {
		if i > 0 && uriByte(uri[i]) {
			b.WriteByte(uri[i])
		} else {
			fmt.Fprintf(&b, "%%%02X", uri[i])
		}
	}
	return b.String()
}

// uriByte accepts RFC 3986's unreserved and reserved characters.
func uriByte(c byte) bool {
	return isLetter(c) || (c >= '0' && c <= '9') || strings.IndexByte("-._~:/?#[]@!$&'()*+,;=", c) >= 0
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// isTriplet reports whether s begins with a percent-encoded octet.
func isTriplet(s string) bool { return len(s) > 2 && s[0] == '%' && isHex(s[1]) && isHex(s[2]) }

func isHex(c byte) bool { return (c >= '0' && c <= '9') || (c|0x20 >= 'a' && c|0x20 <= 'f') }
