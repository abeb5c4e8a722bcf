// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/net/http/httpguts"
)

// Limits of the phases of a connection. They are per phase, so that a stream with traffic is never cut.
const (
	dialTimeout      = 10 * time.Second
	tlsTimeout       = 10 * time.Second
	idleSocketLife   = 90 * time.Second
	requestTimeout   = 60 * time.Second // CON-18
	discoverTimeout  = 5 * time.Second
	headerTimeout    = 60 * time.Second // for streams; requests are bounded as a whole
	ackTimeout       = 5 * time.Second
	postTimeout      = 10 * time.Second // notifications and answers that we send
	cancelTimeout    = 2 * time.Second
	endTimeout       = 2 * time.Second
	drainTimeout     = time.Second
	errorBodyTimeout = 5 * time.Second
	maxRetryAfter    = 5 * time.Minute
	maxErrorBody     = 64 << 10
	maxListenEvent   = 1 << 20 // on a stream that nothing large belongs on, and that lives as long as the connection
	maxHandshake     = 1 << 20 // it is kept as long as the connection
	maxHeaderBytes   = 64 << 10
	maxSessionID     = 1024
	maxIdleSockets   = 64
	http2PingAfter   = 30 * time.Second
	http2PingTimeout = 15 * time.Second
)

// Dialer opens sockets and decides where they may lead.
type Dialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// Era is how a server is spoken to.
type Era string

// The eras.
const (
	EraUnknown Era = ""
	EraModern  Era = "Modern"
	EraLegacy  Era = "Legacy"
)

// Config is one server. A Conn does not change it.
type Config struct {
	URL string
	// Header goes with every request; the protocol's own headers win over it.
	Header http.Header
	// RootCAs holds PEM certificates that replace the system's; empty uses the system's.
	RootCAs []byte
	// Era restricts the era; EraUnknown negotiates it.
	Era                       Era
	ClientName, ClientVersion string
	Dialer                    Dialer
}

// endpoint checks the URL.
func (cfg *Config) endpoint() (*url.URL, error) {
	u, err := url.Parse(cfg.URL)
	switch {
	case err != nil:
		return nil, &ConfigError{What: "the URL does not parse"}
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, &ConfigError{What: "the URL's scheme is neither http nor https"}
	case u.Host == "" || u.Hostname() == "":
		return nil, &ConfigError{What: "the URL names no host"}
	case u.User != nil:
		return nil, &ConfigError{What: "the URL holds credentials"}
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

// hopHeaders are set by the HTTP client or mean something to this hop only.
var hopHeaders = []string{
	"Host", "Connection", "Content-Length", "Transfer-Encoding", "Te", "Trailer", "Upgrade",
	"Keep-Alive", "Proxy-Connection", "Accept-Encoding",
}

func (cfg *Config) headers() (http.Header, error) {
	header := make(http.Header, len(cfg.Header)+8)
	for name, values := range cfg.Header {
		if !httpguts.ValidHeaderFieldName(name) {
			return nil, &ConfigError{What: "a header's name is invalid"}
		}
		for _, value := range values {
			if !httpguts.ValidHeaderFieldValue(value) {
				return nil, &ConfigError{What: "a header's value holds characters that cannot be sent"}
			}
			header.Add(name, value)
		}
	}
	for _, name := range hopHeaders {
		header.Del(name)
	}
	if header.Get("User-Agent") == "" {
		header.Set("User-Agent", cfg.ClientName+"/"+cfg.ClientVersion)
	}
	return header, nil
}

func (cfg *Config) tls() (*tls.Config, error) {
	out := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(cfg.RootCAs) > 0 {
		out.RootCAs = x509.NewCertPool()
		if !out.RootCAs.AppendCertsFromPEM(cfg.RootCAs) {
			return nil, &ConfigError{What: "the CA bundle holds no certificate"}
		}
	}
	return out, nil
}

// newHTTP returns an HTTP client of this connection's own: sharing one would share sockets between sessions and
// certificates between servers, and closing a connection could not close its sockets.
func newHTTP(sockets *sockets, tlsConfig *tls.Config) *http.Transport {
	return &http.Transport{
		Proxy:                  nil,
		DialContext:            sockets.DialContext,
		TLSClientConfig:        tlsConfig,
		TLSHandshakeTimeout:    tlsTimeout,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // so that bounds on bytes are bounds on what they expand to
		MaxIdleConnsPerHost:    maxIdleSockets,
		IdleConnTimeout:        idleSocketLife,
		MaxResponseHeaderBytes: maxHeaderBytes,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: http2PingAfter, PingTimeout: http2PingTimeout},
	}
}
