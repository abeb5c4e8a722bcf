// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"slices"

	"github.com/mooring-dev/mooring/internal/mcp/catalog"
	"github.com/mooring-dev/mooring/internal/mcp/content"
)

// announce moves the revisions of next for what differs from the last snapshot, and tells the watchers in the order that
// the requirements observe (REG-12, REG-13, REC-21, REC-23). It is called with mu held.
func (s *session) announce(next *Snapshot) {
	last := s.snapshot
	if next.Projection.Digest != last.Projection.Digest {
		next.Revision++
	}
	a := &announcer{s: s, last: last, next: next}
	before := make(map[string]*ServerSnapshot, len(last.Servers))
	for i := range last.Servers {
		before[last.Servers[i].Name] = &last.Servers[i]
	}
	for i := range next.Servers {
		now := &next.Servers[i]
		old := before[now.Name]
		delete(before, now.Name)
		if old == nil {
			old = &ServerSnapshot{Name: now.Name, State: StateIdle}
		}
		a.server(old, now, s.conns[now.Name].reason)
	}
	for i := range last.Servers {
		if old := before[last.Servers[i].Name]; old != nil {
			a.server(old, &ServerSnapshot{Name: old.Name, State: StateClosed}, ReasonDisconnection)
		}
	}
}

type announcer struct {
	s          *session
	last, next *Snapshot
}

func (a *announcer) server(old, now *ServerSnapshot, reason Reason) {
	connected, was := now.State == StateConnected, old.State == StateConnected
	byHand := was && (now.State == StateClosed || now.State == StateIdle)
	switch {
	case byHand:
		a.status(old, now)
		a.lists(old, now, ReasonDisconnection)
	case was && !connected:
		a.lists(old, now, ReasonDisconnection)
		a.status(old, now)
		a.recovery(old, now)
	case connected && !was:
		a.status(old, now)
		a.lists(old, now, ReasonConnection)
		a.s.emit(Event{Kind: EventConnected, Server: now.Name, Revision: a.step(&a.next.Revisions.Connections)})
		if now.Recovered {
			a.emitRecovery(PhaseRecovered, now)
		}
	case connected && now.Generation != old.Generation: // replaced so fast that nobody saw it down
		a.lists(old, now, ReasonConnection)
	default:
		a.status(old, now)
		a.lists(old, now, reason)
		a.recovery(old, now)
	}
}

func (a *announcer) step(revision *int64) int64 {
	*revision++
	return *revision
}

func (a *announcer) status(old, now *ServerSnapshot) {
	if old.State != now.State {
		a.s.emit(Event{
			Kind: EventStatus, Server: now.Name, Revision: a.step(&a.next.Revisions.Connections), From: old.State, To: now.State,
			Failure: now.LastError,
		})
	}
}

// recovery tells of each attempt that is awaited, and of the end of attempts.
func (a *announcer) recovery(old, now *ServerSnapshot) {
	switch {
	case now.State == StateReconnecting && (old.State != now.State || old.Attempt != now.Attempt):
		a.emitRecovery(PhaseReconnecting, now)
	case now.State == StateFailed && old.State != now.State && now.Trigger != "":
		a.emitRecovery(PhaseFailed, now)
	}
}

func (a *announcer) emitRecovery(phase Phase, now *ServerSnapshot) {
	a.s.emit(Event{
		Kind: EventRecovery, Server: now.Name, Revision: a.step(&a.next.Revisions.Connections), Phase: phase,
		Trigger: now.Trigger, Attempt: now.Attempt, Limit: now.Limit, NextAttempt: now.NextAttempt, Failure: now.LastError,
	})
}

// lists tells what a server offers now and did not, and the other way round.
func (a *announcer) lists(old, now *ServerSnapshot, reason Reason) {
	if a.last.Projection != a.next.Projection {
		a.tools(now.Name, reason)
	}
	a.content(content.Resources, now.Name, old.Resources, now.Resources, reason)
	a.content(content.ResourceTemplates, now.Name, old.Templates, now.Templates, reason)
	a.content(content.Prompts, now.Name, old.Prompts, now.Prompts, reason)
	if had, has := old.Instructions.SHA256, now.Instructions.SHA256; had != has {
		if had != "" {
			a.instructions(now.Name, ReasonDisconnection)
		}
		if has != "" {
			a.instructions(now.Name, ReasonConnection)
		}
	}
}

func (a *announcer) instructions(server string, reason Reason) {
	a.s.emit(Event{
		Kind: EventInstructions, Server: server, Reason: reason, Revision: a.step(&a.next.Revisions.Instructions),
	})
}

func (a *announcer) content(kind content.Kind, server string, old, now *content.Catalog, reason Reason) {
	if old == now {
		return
	}
	delta := content.Diff(old, now)
	if delta.Empty() {
		return
	}
	a.s.emit(Event{
		Kind: EventContent, Server: server, List: kind, Reason: reason, Revision: a.step(&a.next.Revisions.Content),
		Added: delta.Added, Removed: delta.Removed, Updated: delta.Updated,
	})
}

// tools compares what of one server's tools is projected. Without watchers nobody needs to know.
func (a *announcer) tools(server string, reason Reason) {
	if len(a.s.watchers) == 0 {
		return
	}
	event := Event{Kind: EventTools, Server: server, Reason: reason, Revision: a.next.Revision}
	old := offered(a.last.Projection, server)
	for name, tool := range offered(a.next.Projection, server) {
		before, ok := old[name]
		switch {
		case !ok:
			event.Added = append(event.Added, name)
		case before.Digest != tool.Digest:
			event.Updated = append(event.Updated, name)
		}
		delete(old, name)
	}
	for name := range old {
		event.Removed = append(event.Removed, name)
	}
	if len(event.Added)+len(event.Removed)+len(event.Updated) == 0 {
		return // REG-09
	}
	slices.Sort(event.Added)
	slices.Sort(event.Removed)
	slices.Sort(event.Updated)
	a.s.emit(event)
}

func offered(p *catalog.Projection, server string) map[string]*catalog.Tool {
	tools := map[string]*catalog.Tool{}
	for i := range p.Tools {
		if p.Tools[i].Server == server {
			tools[p.Tools[i].Name] = p.Tools[i].Tool
		}
	}
	return tools
}
