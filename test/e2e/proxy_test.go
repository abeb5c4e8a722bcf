// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
)

// forward passes requests on to the server of a URL, streams included.
func forward(to string) http.Handler {
	target, err := url.Parse(strings.TrimSuffix(to, "/mcp"))
	if err != nil {
		panic(err)
	}
	return &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
		Transport:     &http.Transport{DisableKeepAlives: true},
	}
}
