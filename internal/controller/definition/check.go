// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/egress"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// maxArguments bounds a task's arguments, in bytes, as the schema does.
const maxArguments = 256 << 10

// Problem is why a spec cannot be acted upon.
type Problem struct {
	// Reason is v1alpha1.ReasonNotImplemented, ReasonInvalidConfiguration or ReasonInvalidArguments.
	Reason string
	// Message names the fields, and no value. It is at most v1alpha1.MessageBytes long.
	Message string
}

// CheckServer returns nil for a definition that sessions can connect to.
func CheckServer(server *v1alpha1.McpServer) *Problem {
	if p := check(serverFields, &server.Spec); p != nil {
		return p
	}
	return checkTransport(&server.Spec.Transport)
}

// CheckSession returns nil for a session that can be served.
func CheckSession(session *v1alpha1.McpSession) *Problem {
	return check(sessionFields, &session.Spec)
}

// CheckTask returns nil for a task whose call can be made.
func CheckTask(task *v1alpha1.McpTask) *Problem {
	if p := check(taskFields, &task.Spec); p != nil {
		return p
	}
	return checkArguments(task.Spec.Arguments)
}

// checkTransport finds what the schema lets through: rules over what another parser read, and objects from before a rule.
func checkTransport(t *v1alpha1.Transport) *Problem {
	switch {
	case t.Type == v1alpha1.TransportStreamableHTTP && t.StreamableHTTP != nil:
		return checked("spec.transport.streamableHTTP.url", checkURL(t.StreamableHTTP.URL))
	case t.Type == v1alpha1.TransportSSE && t.SSE != nil:
		return checked("spec.transport.sse.url", checkURL(t.SSE.URL))
	case t.Type == v1alpha1.TransportStdio && t.Stdio != nil:
		if t.Stdio.TokenSecretKeyRef == nil {
			return invalid("spec.transport.stdio", "must have address and tokenSecretKeyRef")
		}
		return checked("spec.transport.stdio.address", checkAddress(t.Stdio.Address))
	}
	return invalid("spec.transport", "must have the member that spec.transport.type names")
}

// checked is nil when nothing is wrong.
func checked(path, what string) *Problem {
	if what == "" {
		return nil
	}
	return invalid(path, what)
}

// checkAddress says what is wrong with the address of a bridge.
func checkAddress(address string) string {
	host, port, err := net.SplitHostPort(address)
	switch {
	case err != nil || host == "":
		return "must be host:port"
	case port == "" || !validPort(port):
		return "must have a port of 1 to 65535"
	}
	return checkURL("http://" + address)
}

// checkURL says what is wrong with the URL of a server. Whether loopback may be reached is the operator's to say when it
// dials; what may never be reached is refused here.
func checkURL(s string) string {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return "is not a URL"
	case u.Scheme != "http" && u.Scheme != "https":
		return "must be an http or https URL"
	case u.Hostname() == "":
		return "must name a host"
	case u.User != nil:
		return "may not hold credentials"
	case !validPort(u.Port()):
		return "must have a port of 1 to 65535, or none"
	}
	var denied *egress.DeniedError
	if policy := (egress.Policy{AllowLoopback: true}); errors.As(policy.CheckURL(u), &denied) {
		return "names an address that is refused: " + denied.Reason
	}
	return ""
}

func validPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return port == "" || err == nil && n > 0
}

func checkArguments(arguments string) *Problem {
	switch {
	case arguments == "":
		return nil // the tool is called with {}
	case len(arguments) > maxArguments:
		return &Problem{
			Reason:  v1alpha1.ReasonInvalidArguments,
			Message: fmt.Sprintf("spec.arguments must be at most %d bytes", maxArguments),
		}
	}
	if _, err := wire.ParseObject([]byte(arguments)); err != nil {
		// wire's errors tell the kind and the place of a fault, and none of the input.
		_, detail, _ := strings.Cut(err.Error(), ": ")
		return &Problem{
			Reason:  v1alpha1.ReasonInvalidArguments,
			Message: "spec.arguments must be a JSON object: " + detail,
		}
	}
	return nil
}

func invalid(path, what string) *Problem {
	return &Problem{Reason: v1alpha1.ReasonInvalidConfiguration, Message: path + " " + what}
}
