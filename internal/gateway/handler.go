// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// Pattern is the path that a Handler serves, as http.ServeMux reads it.
const Pattern = "/v1/namespaces/{namespace}/sessions/{session}/mcp"

// Handler serves the MCP endpoints of all sessions. It is safe for concurrent use.
type Handler struct {
	opts     Options
	guard    guard
	limits   *limits
	inflight *inflight
	identity identity

	// life ends with Abort. Calls of the legacy era live in it, and everything that a Server serves.
	life  context.Context //nolint:containedctx // it is the lifetime of detached calls, which no caller's context has
	abort context.CancelFunc
}

// NewHandler returns a Handler. It refuses options that lack a port.
func NewHandler(opts Options) (*Handler, error) {
	if err := opts.check(); err != nil {
		return nil, err
	}
	opts = opts.withDefaults()
	h := &Handler{
		opts: opts, guard: newGuard(opts), limits: newLimits(opts), inflight: newInflight(),
		identity: newIdentity(opts.Version),
	}
	h.life, h.abort = context.WithCancel(context.Background())
	return h, nil
}

// Abort ends the calls in flight, and every later one at once. It does not wait. Calls of the modern era end with it where
// a Server serves them; elsewhere they end with their requests.
func (h *Handler) Abort() { h.abort() }

// exchange is one HTTP request and the answer to it.
type exchange struct {
	*Handler
	request   *http.Request
	reply     *reply
	session   Session
	principal Principal
	reserved  int64

	message *wire.Message
	params  wire.Object
	meta    wire.Object
	modern  bool
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{Handler: h, request: r, reply: newReply(w, h.opts)}
	defer x.reply.close()
	// Before anything else: what a stranger announces and does not send is waited for by the server, too.
	x.reply.readDeadline(time.Now().Add(h.opts.ReadTimeout))
	if p := x.serve(); p != nil {
		var id wire.ID
		if x.message != nil {
			id = x.message.ID
		}
		x.reply.fail(id, p)
	}
}

// serve goes through the checks, the cheap and the anonymous ones first: nothing of a body is read, and nothing of a
// session said, before its sender is known and may use it.
func (x *exchange) serve() *problem {
	namespace, name, ok := route(x.request.URL.Path)
	if !ok || x.request.URL.RawPath != "" { // an escaped path is another spelling, which no name needs
		return notFound()
	}
	if p := x.guard.check(x.request); p != nil {
		return p
	}
	if p := x.admit(namespace, name); p != nil {
		return p
	}
	if x.request.Method != http.MethodPost {
		x.reply.header().Set("Allow", http.MethodPost)
		return refusal(http.StatusMethodNotAllowed, ReasonMethodNotAllowed, "This endpoint takes POST only.")
	}
	if _, self := x.opts.Owner.Owner(x.session.ID); !self {
		return later(ReasonNotOwner, "Another replica serves this session; try again.")
	}
	if !x.session.Resolved {
		return later(ReasonNotReady, "The session is not ready yet.")
	}
	if !x.limits.takeRequest(x.session.ID) {
		return later(ReasonOverloaded, "Too many requests are in flight.")
	}
	defer x.limits.giveRequest(x.session.ID)
	defer func() { x.limits.giveBytes(x.session.ID, x.reserved) }()
	if p := x.receive(); p != nil {
		return p
	}
	return x.dispatch()
}

// dispatch answers one message by the rules of its era.
func (x *exchange) dispatch() *problem {
	if p := x.open(); p != nil {
		return p
	}
	switch {
	case x.message.IsNotification():
		x.notified()
		x.reply.accepted()
		return nil
	case x.message.IsResponse():
		return x.responded()
	case x.modern:
		if p := x.checkModern(); p != nil {
			return p
		}
	}
	methods, unknown := legacyMethods, http.StatusOK
	if x.modern {
		methods, unknown = modernMethods, http.StatusNotFound
	}
	method, ok := methods[x.message.Method]
	if !ok {
		return invalid(unknown, wire.CodeMethodNotFound, "Method not found: "+cut(x.message.Method, 256))
	}
	return method(x)
}

// route takes a path apart. Names that the API server would not take name nothing.
func route(path string) (namespace, name string, ok bool) {
	rest, ok := strings.CutPrefix(path, "/v1/namespaces/")
	if !ok {
		return "", "", false
	}
	namespace, rest, _ = strings.Cut(rest, "/sessions/")
	name, ok = strings.CutSuffix(rest, "/mcp")
	return namespace, name, ok && isName(namespace) && isName(name)
}

func isName(s string) bool {
	if s == "" || len(s) > 63 || !isAlphanumeric(s[0]) || !isAlphanumeric(s[len(s)-1]) {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !isAlphanumeric(c) && c != '-' && c != '.' {
			return false
		}
	}
	return true
}

func isAlphanumeric(c byte) bool { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') }

// notFound answers for what is not there and for what the caller may not see: the two must not differ.
func notFound() *problem {
	return refusal(http.StatusNotFound, ReasonNotFound, "There is no such session, or you may not connect to it.")
}
