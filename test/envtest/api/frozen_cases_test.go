// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"strings"
	"testing"
)

// frozenField is a field that keeps the value it was created with.
type frozenField struct {
	kind, field string
	// rulePath is where the rule stands: at the field itself when it has a default, else at its parent.
	rulePath string
	message  string
	// one and other are two values, neither of them the default.
	one, other any
	// def is the default, or nil.
	def any
	// required fields are never absent.
	required bool
}

const (
	newSession = "may not be changed, set or unset after creation; create another McpSession"
	newTask    = "may not be changed, set or unset after creation; create another McpTask"
	sameTask   = "may not be changed after creation; create another McpTask"
)

var frozen = []frozenField{
	{
		kind: "McpSession", field: "roots", rulePath: "spec", message: newSession,
		one: m{"items": l{m{"uri": "file:///a"}}}, other: m{"items": l{m{"uri": "file:///b"}}},
	},
	{kind: "McpSession", field: "sampling", rulePath: "spec", message: newSession, one: m{"mode": "Agent"}, other: m{"mode": "Off"}},
	{kind: "McpSession", field: "serviceAccountName", rulePath: "spec", message: newSession, one: "agent", other: "other"},
	{
		kind: "McpSession", field: "exposure", rulePath: "spec.exposure",
		message: "may not be changed after creation; create another McpSession", one: "Restricted", other: "Trusted", def: "Trusted",
	},
	{kind: "McpTask", field: "sessionRef", rulePath: "spec", message: sameTask, one: m{"name": "a"}, other: m{"name": "b"}, required: true},
	{kind: "McpTask", field: "tool", rulePath: "spec", message: sameTask, one: "mcp__a__b", other: "mcp__a__c", required: true},
	{kind: "McpTask", field: "arguments", rulePath: "spec", message: newTask, one: `{"a":1}`, other: `{"a":2}`},
	{kind: "McpTask", field: "mode", rulePath: "spec", message: sameTask, one: "Call", other: "Task", def: "Auto"},
	{kind: "McpTask", field: "ttlSeconds", rulePath: "spec", message: newTask, one: 10, other: 11},
	{kind: "McpTask", field: "lifetimeSeconds", rulePath: "spec", message: newTask, one: 10, other: 11},
	{kind: "McpTask", field: "ttlSecondsAfterFinished", rulePath: "spec", message: newTask, one: 10, other: 0},
}

// frozenCases shows every frozen field: absent→set, set→absent and set→other are refused, no change is accepted.
func frozenCases() []ruleCase {
	all := make([]ruleCase, 0, len(frozen))
	for _, f := range frozen {
		path := "spec." + f.field
		one, other, absent := edit{path: f.one}, edit{path: f.other}, edit{path: gone}
		label := edit{"metadata.labels": m{"a": "b"}}
		c := ruleCase{
			kind: f.kind, path: f.rulePath, message: f.field + ": " + f.message,
			accepted: []change{{create: one, update: one}, {create: one, update: label}},
			rejected: []change{{create: one, update: other}},
		}
		if !f.required {
			c.accepted = append(c.accepted, change{create: absent, update: label})
			c.rejected = append(c.rejected, change{create: absent, update: one}, change{create: one, update: absent})
		}
		if f.def != nil {
			c.accepted = append(c.accepted, change{create: absent, update: edit{path: f.def}}, change{create: edit{path: f.def}, update: absent})
		}
		all = append(all, c)
	}
	return all
}

// TestEveryFrozenFieldIsListed fails when a rule compares with the old object and no frozen field has it.
func TestEveryFrozenFieldIsListed(t *testing.T) {
	listed := map[ruleKey]bool{{"McpTask", "spec", "cancel: may not be unset; a cancellation cannot be taken back"}: true}
	for _, c := range frozenCases() {
		listed[c.key()] = true
	}
	for key, rule := range rules(t) {
		if strings.Contains(rule.Rule, "oldSelf") != listed[key] {
			t.Errorf("%s: is it a frozen field? %s", key, rule.Rule)
		}
	}
}
