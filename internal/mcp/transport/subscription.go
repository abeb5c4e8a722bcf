// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// Filter is what a subscription is to bring (2026-07-28 patterns, "Subscriptions").
type Filter struct {
	// Tools, Resources and Prompts stand for changes of these lists.
	Tools, Resources, Prompts bool
	// URIs are resources whose updates are wanted.
	URIs []string
}

func (f *Filter) empty() bool { return !f.Tools && !f.Resources && !f.Prompts && len(f.URIs) == 0 }

// object writes the filter as the protocol does.
func (f *Filter) object() wire.Object {
	var out wire.Object
	for _, flag := range []struct {
		name string
		set  bool
	}{{"toolsListChanged", f.Tools}, {"resourcesListChanged", f.Resources}, {"promptsListChanged", f.Prompts}} {
		if flag.set {
			out = append(out, wire.Member{Name: flag.name, Value: json.RawMessage("true")})
		}
	}
	if len(f.URIs) > 0 {
		uris, _ := json.Marshal(f.URIs) // strings always marshal
		out = append(out, wire.Member{Name: "resourceSubscriptions", Value: uris})
	}
	return out
}

// granted returns what of the filter an acknowledgement names. What nobody asked for cannot be granted.
func (f *Filter) granted(m *wire.Message) Filter {
	params, err := wire.ParseObject(orEmpty(m.Params))
	if err != nil {
		return Filter{}
	}
	said, err := wire.ParseObject(orEmpty(params.Get("notifications")))
	if err != nil {
		return Filter{}
	}
	yes := func(name string) bool { return string(said.Get(name)) == "true" }
	var uris []string
	if json.Unmarshal(orNull(said.Get("resourceSubscriptions")), &uris) != nil {
		uris = nil
	}
	out := Filter{
		Tools: f.Tools && yes("toolsListChanged"), Resources: f.Resources && yes("resourcesListChanged"),
		Prompts: f.Prompts && yes("promptsListChanged"),
	}
	for _, uri := range f.URIs {
		if slices.Contains(uris, uri) {
			out.URIs = append(out.URIs, uri)
		}
	}
	return out
}

// subscription is one modern request to listen, from its first message to its last.
type subscription struct {
	l   *listening
	req *Request
	// ack ends the try when no acknowledgement comes.
	ack          *time.Timer
	acknowledged bool
	granted      Filter
	over         error // why it ended, when the server said so
}

// newSubscription makes the request and starts its clock.
func newSubscription(l *listening, cancel context.CancelCauseFunc) *subscription {
	s := &subscription{l: l, req: &Request{Method: wire.MethodListen, id: l.c.newID(), Params: wire.Object{
		{Name: "notifications", Value: l.want.object().Raw()},
	}}}
	s.ack = time.AfterFunc(ackTimeout, func() {
		cancel(&TimeoutError{Phase: "acknowledgement of " + wire.MethodListen, Limit: ackTimeout})
	})
	return s
}

// verdict is what becomes of a message.
type verdict int

const (
	deliver verdict = iota
	drop
	stop
)

func (s *subscription) judge(m *wire.Message) verdict {
	switch {
	case m.IsResponse() && m.ID == s.req.id:
		s.over = s.refusal(m)
		return stop
	case m.IsNotification() && !concerns(m, s.req.id):
		// A server may name the subscription that it ends in the one place or in the other.
		if m.Method == wire.MethodCancelled && cancels(m) == s.req.id.String() {
			return stop
		}
		return drop
	case m.Method == wire.MethodCancelled:
		return stop // the server ends the subscription in good order
	case s.acknowledged:
		return deliver
	case m.Method == wire.MethodListenAcknowledged:
		return s.acknowledge(m)
	}
	return drop
}

// refusal is what an answer means: after the acknowledgement it is the end, and before it there is no stream.
func (s *subscription) refusal(m *wire.Message) error {
	switch {
	case s.acknowledged:
		return nil
	case m.Error != nil:
		return modernRefused(m.Error)
	}
	return ErrNoStream
}

func (s *subscription) acknowledge(m *wire.Message) verdict {
	s.granted = s.l.want.granted(m)
	if s.granted.empty() {
		s.over = ErrNoStream
		return stop
	}
	if s.acknowledged = s.ack.Stop(); s.acknowledged {
		s.l.announce(true, s.granted)
	}
	return drop
}

// end prefers the server's word to the way in which the stream ended.
func (s *subscription) end(err error) error {
	if s.over != nil {
		return s.over
	}
	return err
}

// modernRefused sorts refusals: a server that does not know the method offers no stream.
func modernRefused(err error) error {
	var rpc *wire.Error
	if err == nil || (errors.As(err, &rpc) && rpc.Code == wire.CodeMethodNotFound) {
		return ErrNoStream
	}
	return err
}

// concerns reports whether a notification carries the id of the subscription.
func concerns(m *wire.Message, id wire.ID) bool { return subscriptionOf(m) == id.String() }

// subscriptionOf returns the id of the subscription that a notification carries, as JSON, or "".
func subscriptionOf(m *wire.Message) string {
	params, err := wire.ParseObject(orEmpty(m.Params))
	if err != nil {
		return ""
	}
	meta, err := wire.ParseObject(orEmpty(params.Get("_meta")))
	if err != nil {
		return ""
	}
	return string(meta.Get(wire.MetaSubscriptionID))
}

// cancels returns the id of the request that a notification cancels, as JSON, or "".
func cancels(m *wire.Message) string {
	params, err := wire.ParseObject(orEmpty(m.Params))
	if err != nil {
		return ""
	}
	return string(params.Get("requestId"))
}
