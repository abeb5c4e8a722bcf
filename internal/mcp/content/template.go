// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"strings"
	"unicode/utf8"

	"github.com/yosida95/uritemplate/v3"
)

// The bounds of matching, which takes time in proportion to the product of the automaton's and the URI's sizes: about
// 40 ms for a template at worst, and 50 us usually. A template beyond them authorises no reads.
const (
	maxVariables = 64      // an automaton repeats what stands for a variable
	variableWork = 32      // what a variable adds to the bytes of its template, as a measure of the automaton
	maxWork      = 1 << 20 // for one template
	maxWorkAll   = 8 << 20 // for the templates of a catalog together
)

// Variables returns the names of a template's variables, in order, each once (CMP-03). Its error is ErrTemplate.
func Variables(template string) ([]string, error) {
	t, err := parseTemplate(template)
	if err != nil {
		return nil, err
	}
	return t.Varnames(), nil
}

// parseTemplate parses a template of RFC 6570. An expression without a variable is none there, but servers write it: it
// expands to nothing (requirements, section 24).
func parseTemplate(template string) (*uritemplate.Template, error) {
	const none = "{}"
	if utf8.RuneCountInString(template) > MaxURIRunes {
		return nil, ErrTemplate
	}
	// A dash is a literal, and no part of an expression: so none inside of another one stays an error.
	t, err := uritemplate.New(strings.ReplaceAll(template, none, "-"))
	if err == nil && strings.Contains(template, none) {
		t, err = uritemplate.New(strings.ReplaceAll(template, none, ""))
	}
	if err != nil { // it quotes the template
		return nil, ErrTemplate
	}
	return t, nil
}

// Match reports whether a URI may come of a template (bridge row 8): whether some values of its variables give that
// URI, each with the characters only that its expression lets through. It is false beyond the bounds of time.
func Match(template, uri string) bool {
	return framed(template, uri) && work(template, uri) <= maxWork && match(template, uri)
}

// MatchAny reports whether a URI may come of one of the templates of a catalog. It looks at them in order for as long as
// the bounds of time allow; those whose literal beginning or end the URI lacks cost nothing.
func MatchAny(templates *Catalog, uri string) bool {
	sum := 0
	for _, e := range templates.entries() {
		if !framed(e.ID, uri) {
			continue
		}
		one := work(e.ID, uri)
		if one > maxWork {
			continue
		}
		if sum += one; sum > maxWorkAll {
			return false
		}
		if match(e.ID, uri) {
			return true
		}
	}
	return false
}

// framed reports whether a URI begins and ends as its template does.
func framed(template, uri string) bool {
	first, last := strings.IndexByte(template, '{'), strings.LastIndexByte(template, '}')
	if first < 0 || last < first {
		return template == uri
	}
	return strings.HasPrefix(uri, template[:first]) && strings.HasSuffix(uri, template[last+1:])
}

// work measures what matching costs; beyond maxWork when the template has too many variables.
func work(template, uri string) int {
	variables := strings.Count(template, "{") + strings.Count(template, ",")
	if variables > maxVariables {
		return maxWork + 1
	}
	return (len(template) + variableWork*variables) * len(uri)
}

func match(template, uri string) bool {
	if checkIdentity(uri, MaxURIRunes) != "" {
		return false
	}
	t, err := parseTemplate(template)
	return err == nil && t.Regexp().MatchString(uri)
}
