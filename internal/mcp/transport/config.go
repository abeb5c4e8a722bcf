// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/mooring-dev/mooring/internal/mcp/wire"
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
	exitTimeout      = 6 * time.Second // a bridge gives a process 2 s, SIGTERM and 2 s more (CON-13)
	openTimeout      = 2 * time.Minute // a bridge's pod may have to start first
	endpointTimeout  = 10 * time.Second
	checkTimeout     = 10 * time.Second // CON-22
	maxCheckTimeout  = 60 * time.Second // REC-40
	askTimeout       = 30 * time.Minute // a person may have to be found first; the runtime has shorter limits
	writeTimeout     = 10 * time.Second // without a byte taken
	drainTimeout     = time.Second
	errorBodyTimeout = 5 * time.Second
	maxRetryAfter    = 5 * time.Minute
	maxErrorBody     = 64 << 10
	maxListenEvent   = 1 << 20 // on a stream that nothing large belongs on, and that lives as long as the connection
	maxHandshake     = 1 << 20 // it is kept as long as the connection
	maxHeaderBytes   = 64 << 10
	maxSessionID     = 1024
	maxEndpoint      = 2048
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

// Kind is what carries the messages.
type Kind int

// The kinds.
const (
	KindHTTP  Kind = iota // Streamable HTTP
	KindSSE               // HTTP with SSE of 2024-11-05, which is legacy only
	KindStdio             // lines over a connection to a bridge
)

// Config is one server. A Conn does not change it.
type Config struct {
	Kind Kind
	// URL, Header, RootCAs and Dialer are for the kinds that speak HTTP.
	URL string
	// Header goes with every request; the protocol's own headers win over it.
	Header http.Header
	// RootCAs holds PEM certificates that replace the system's; empty uses the system's.
	RootCAs []byte
	// Era restricts the era; EraUnknown negotiates it.
	Era                       Era
	ClientName, ClientVersion string
	Dialer                    Dialer
	// Stdio opens the connection to a process, for KindStdio. One connection is one process. It must heed ctx, which
	// bounds the opening only. A *ConfigError is returned as it is.
	Stdio func(ctx context.Context) (net.Conn, error)
	// ClientCapabilities are declared to the server; nil declares none. Nothing is ever declared over KindSSE (CON-15).
	ClientCapabilities wire.Object
	// OnRequest answers requests of a legacy server other than ping: with a result, or with an error, which is sent as it
	// is. Nil answers that there is no such method (CON-21). At most 8 run at a time for a Conn, and what comes beside
	// them is refused. It may be called before Dial has returned, it must heed ctx, which ends with the connection, when
	// the server cancels the request, and after 30 minutes, and it must not end the Conn. A panic becomes an internal
	// error. See Origin.
	OnRequest func(ctx context.Context, m *wire.Message) (result json.RawMessage, rpc *wire.Error)
}

// capabilities returns what is declared. Whoever declares nothing is asked nothing.
func (cfg *Config) capabilities() json.RawMessage {
	if cfg.Kind == KindSSE {
		return json.RawMessage("{}")
	}
	return cfg.ClientCapabilities.Raw()
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
