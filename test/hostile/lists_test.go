// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mooring-dev/mooring/internal/mcp"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// endlessPages answers each page with an entry and another cursor.
func endlessPages(list, entry string) answer {
	var page atomic.Int64
	return func(x *exchange) {
		n := strconv.FormatInt(page.Add(1), 10)
		x.result(`"` + list + `":[` + strings.ReplaceAll(entry, "N", n) + `],"nextCursor":"c` + n + `"`)
	}
}

// samePage answers each page with the same cursor.
func samePage(list string) answer {
	return func(x *exchange) { x.result(`"` + list + `":[],"nextCursor":"c"`) }
}

// TestEndlessPagesOfTools: beyond 100 pages the list is refused (CAT-10), as it is for a cursor that comes twice (CAT-12).
// Without tools there is no connection (CON-11), and what served before goes on serving (CAT-33).
func TestEndlessPagesOfTools(t *testing.T) {
	pages := map[string]struct {
		answer answer
		most   int
	}{
		"CAT-10 endless":  {endlessPages("tools", `{"name":"tN","inputSchema":{"type":"object"}}`), 100},
		"CAT-12 repeated": {samePage("tools"), 2},
	}
	for name, p := range pages {
		t.Run(name, func(t *testing.T) {
			eras(t, func(t *testing.T, modern bool) {
				s := begin(t, play{modern: modern, policy: quick(), before: func(foe *server) {
					foe.turn(wire.MethodToolsList, p.answer)
				}})
				got := s.awaits(theirs, "the refusal", failed(mcp.StateConnecting, mcp.FailureCatalog))
				if n := s.foe.times(wire.MethodToolsList); n > p.most*int(got.Generation) {
					t.Errorf("%d pages in %d attempts", n, got.Generation)
				}
				revision := s.recovers().CatalogRevision
				s.foe.turn(wire.MethodToolsList, p.answer)
				if s.refresh() == nil {
					t.Error("the refresh succeeded")
				}
				got = s.awaits(theirs, "the refusal of a refresh", failed(mcp.StateConnected, mcp.FailureCatalog))
				if got.Tools == nil || got.CatalogRevision != revision {
					t.Errorf("the last list is gone: %s", show(&got))
				}
				s.foe.behave()
				if err := s.refresh(); err != nil {
					t.Errorf("a refresh: %v", err)
				}
				s.recovers()
			})
		})
	}
}

// TestBadContentLists: lists other than the tools' may fail, and the server serves without them and says why (CON-11,
// CNT-03, CNT-04). What was refused is the catalog's fault and not the network's.
func TestBadContentLists(t *testing.T) {
	for name, c := range map[string]struct {
		method string
		answer answer
		reason mcp.FailureReason
	}{
		"CNT-03 endless resources": {
			wire.MethodResourcesList, endlessPages("resources", `{"uri":"file:///N","name":"N"}`), mcp.FailureCatalog,
		},
		"CNT-03 endless templates": {
			wire.MethodTemplatesList, endlessPages("resourceTemplates", `{"uriTemplate":"file:///N/{x}","name":"N"}`), mcp.FailureCatalog,
		},
		"CNT-03 endless prompts":  {wire.MethodPromptsList, endlessPages("prompts", `{"name":"pN"}`), mcp.FailureCatalog},
		"CNT-03 repeated cursor":  {wire.MethodPromptsList, samePage("prompts"), mcp.FailureCatalog},
		"CNT-04 control in a URI": {wire.MethodResourcesList, resources(`{"uri":"file:///a\u0000","name":"a"}`), mcp.FailureCatalog},
		"CNT-04 no URI":           {wire.MethodResourcesList, resources(`{"name":"a"}`), mcp.FailureCatalog},
		"CNT-03 the same twice": {
			wire.MethodResourcesList, resources(`{"uri":"file:///a","name":"a"},{"uri":"file:///a","name":"b"}`), mcp.FailureCatalog,
		},
		"an entry is no object":    {wire.MethodResourcesList, resources(`7`), mcp.FailureCatalog},
		"CON-11 prompts fail":      {wire.MethodPromptsList, func(x *exchange) { x.fail(wire.CodeInternal) }, mcp.FailureProtocol},
		"CON-11 prompts break off": {wire.MethodPromptsList, reset, mcp.FailureUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			eras(t, func(t *testing.T, modern bool) {
				s := begin(t, play{modern: modern, policy: quick(), before: func(foe *server) { foe.turn(c.method, c.answer) }})
				got := s.connects("with a bad list")
				if got.LastError == nil || got.LastError.Reason != c.reason {
					t.Errorf("want %s: %s", c.reason, show(&got))
				}
				if err := s.call(); err != nil {
					t.Errorf("a call beside a bad list: %v", err)
				}
				if n := s.foe.times(c.method); n > 100*2 {
					t.Errorf("%d requests for pages", n)
				}
				s.foe.behave()
				if err := s.refresh(); err != nil {
					t.Errorf("a refresh: %v", err)
				}
				got = s.recovers()
				if got.Generation != 1 || len(got.Resources.Entries) != 2 || len(got.Prompts.Entries) != 1 {
					t.Errorf("after the refresh: %s", show(&got))
				}
			})
		})
	}
}

func resources(entries string) answer {
	return func(x *exchange) { x.result(`"resources":[` + entries + `]`) }
}
