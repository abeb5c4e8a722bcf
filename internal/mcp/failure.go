// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp/catalog"
	"github.com/mooring-dev/mooring/internal/mcp/content"
	"github.com/mooring-dev/mooring/internal/mcp/transport"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// cause is what an error means for the connection.
type cause struct {
	reason FailureReason
	// message is ours: nothing of a server's text, of an address or of a secret is in it.
	message string
	// final says that trying again soon is no use.
	final      bool
	retryAfter time.Duration
}

// denied is how a Dialer says that policy refuses an address: *egress.DeniedError.
type denied interface {
	error
	EgressDenied() string
}

// classify sorts an error by its type (REC-10 to REC-15), never by its text.
func classify(err error) cause {
	var (
		refused  denied
		config   *transport.ConfigError
		version  *transport.VersionError
		redirect *transport.RedirectError
		list     *catalog.ListError
		entries  *content.ListError
		timeout  *transport.TimeoutError
		protocol *transport.ProtocolError
	)
	switch {
	case errors.As(err, &refused):
		return cause{reason: FailureEgressDenied, message: "the address is refused: " + refused.EgressDenied(), final: true}
	case errors.As(err, &config):
		return cause{reason: FailureConfiguration, message: config.Error(), final: true}
	case errors.As(err, &version):
		return cause{reason: FailureUnsupportedVersion, message: version.Error(), final: true}
	case errors.As(err, &redirect):
		return cause{reason: FailureRedirected, message: redirect.Error(), final: true}
	case errors.As(err, &list):
		return cause{reason: FailureCatalog, message: list.Error()}
	case errors.As(err, &entries):
		return cause{reason: FailureCatalog, message: entries.Error()}
	case errors.Is(err, transport.ErrSessionLost):
		return cause{reason: FailureUnreachable, message: transport.ErrSessionLost.Error()}
	case errors.As(err, &timeout):
		return cause{reason: FailureTimeout, message: timeout.Error()}
	case errors.Is(err, context.DeadlineExceeded):
		return cause{reason: FailureTimeout, message: "the time was up"}
	case errors.As(err, &protocol):
		return cause{reason: FailureProtocol, message: protocol.Error()}
	}
	return classifyAnswer(err)
}

// classifyAnswer sorts what a server answered; everything else is the network.
func classifyAnswer(err error) cause {
	var status *transport.StatusError
	var rpc *wire.Error
	if errors.As(err, &status) {
		c := cause{reason: FailureProtocol, message: status.Error(), retryAfter: status.RetryAfter}
		switch {
		case status.Status == http.StatusUnauthorized, status.Status == http.StatusForbidden:
			c.reason = FailureUnauthorized
		case status.Status == http.StatusTooManyRequests:
			c.reason = FailureRateLimited
		case status.Status >= 500:
			c.reason = FailureServerError
		}
		return c
	}
	if errors.As(err, &rpc) {
		return cause{reason: FailureProtocol, message: fmt.Sprintf("the server answered with %s", rpc)}
	}
	return cause{reason: FailureUnreachable, message: networkMessage(err)}
}

// trigger says what an error that ended a connection was a sign of.
func trigger(err error) Trigger {
	var unhealthy *unhealthyError
	switch {
	case errors.As(err, &unhealthy):
		return TriggerHealthCheck
	case errors.Is(err, transport.ErrSessionLost):
		return TriggerSessionExpired
	case classify(err).reason == FailureUnauthorized:
		return TriggerUnauthorized
	case closed(err):
		return TriggerClosed
	}
	return TriggerTransportError
}

// closed reports whether the other end closed the connection, as opposed to breaking it.
func closed(err error) bool {
	var exit *transport.ExitError
	return errors.As(err, &exit) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)
}

// networkMessage names what went wrong on the way, without naming where.
func networkMessage(err error) string {
	var (
		network     *transport.NetworkError
		dns         *net.DNSError
		authority   x509.UnknownAuthorityError
		hostname    x509.HostnameError
		certificate x509.CertificateInvalidError
		record      tls.RecordHeaderError
	)
	message := "the connection failed"
	if errors.As(err, &network) {
		message = network.Error()
	}
	var detail string
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		detail = "the host's name does not resolve"
	case errors.As(err, &dns):
		detail = "the host's name could not be resolved"
	case errors.Is(err, syscall.ECONNREFUSED):
		detail = "connection refused"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		detail = "no route"
	case errors.As(err, &authority):
		detail = "the certificate is signed by an unknown authority"
	case errors.As(err, &hostname):
		detail = "the certificate is for another host"
	case errors.As(err, &certificate):
		detail = "the certificate is invalid or expired"
	case errors.As(err, &record):
		detail = "the server does not speak TLS"
	default:
		return message
	}
	return message + ": " + detail
}

// newFailure describes err. The same failure again keeps its value and its time, so that nothing is written for it.
func newFailure(err error, last *Failure) *Failure {
	c := classify(err)
	if last != nil && last.Reason == c.reason && last.Message == c.message {
		return last
	}
	return &Failure{Reason: c.reason, Message: c.message, Time: time.Now()}
}
