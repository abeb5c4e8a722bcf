// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"net/http"
	"strings"
	"testing"

	"github.com/mooring-dev/mooring/internal/mcp"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// Artifacts are read by the links that results hold, and nothing else is (bridge rows 5 and 16).
func TestBridge05Artifacts(t *testing.T) {
	f := newFixture(t)
	f.runtime.artifacts = map[string]*mcp.Artifact{
		"text": {Data: []byte("a<b"), MimeType: "text/plain", Size: 3}, "png": {Data: []byte{1, 2}, MimeType: "image/png", Size: 2},
		"huge": {MimeType: "image/png", Size: maxArtifactBytes + 1},
	}
	read := func(uri string) got {
		return f.post(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"`+uri+`"}}`, nil)
	}
	for uri, want := range map[string]string{
		"mooring://artifacts/text": `"result":{"contents":[{"uri":"mooring://artifacts/text","mimeType":"text/plain","text":"a<b"}]}`,
		"mooring://artifacts/png":  `"result":{"contents":[{"uri":"mooring://artifacts/png","mimeType":"image/png","blob":"AQI="}]}`,
		"mooring://artifacts/huge": `"code":-32603`,
		"mooring://artifacts/gone": `"code":-32002`,
		"file:///etc/passwd":       `"code":-32002`,
	} {
		if g := read(uri); g.status != http.StatusOK || !strings.Contains(g.body, want) {
			t.Errorf("%s: %d %s\nwant %s", uri, g.status, g.body, want)
		}
	}
	uri := map[string]string{wire.HeaderName: "mooring://artifacts/text"}
	g := f.modern(wire.MethodResourcesRead, `"uri":"mooring://artifacts/text"`, "", uri)
	if !strings.Contains(g.body, `"text":"a<b"}],"resultType":"complete","ttlMs":0,"cacheScope":"private"`) {
		t.Errorf("modern: %d %s", g.status, g.body)
	}
	gone := map[string]string{wire.HeaderName: "mooring://artifacts/gone"}
	g = f.modern(wire.MethodResourcesRead, `"uri":"mooring://artifacts/gone"`, "", gone)
	if !strings.Contains(g.body, `"code":-32602`) {
		t.Errorf("modern: %d %s", g.status, g.body)
	}
	if g := f.modern(wire.MethodResourcesRead, `"uri":"mooring://artifacts/text"`, "", nil); !strings.Contains(g.body, `"code":-32020`) {
		t.Errorf("without Mcp-Name: %d %s", g.status, g.body)
	}
	for _, method := range []string{wire.MethodResourcesList, wire.MethodTemplatesList} {
		if g := f.modern(method, "", "", nil); g.status != http.StatusOK || !strings.Contains(g.body, `":[],"resultType":"complete"`) {
			t.Errorf("%s: %d %s", method, g.status, g.body)
		}
	}
}
