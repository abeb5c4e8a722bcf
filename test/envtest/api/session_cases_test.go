// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import "strings"

func sessionCases() []ruleCase {
	all := []ruleCase{nameCases("McpSession")}
	all = append(all, rootsCases()...)
	all = append(all, samplingCases()...)
	secret := m{"name": "s", "key": "k"}
	for _, layer := range []string{"spec.servers", "spec.overrides.servers"} {
		with := func(headers ...any) edit {
			return edit{layer: l{m{"name": "one", "ref": m{"name": "one"}, "headers": headers}}}
		}
		all = append(all, headerCases("McpSession", layer+"[].headers", with)...)
		all = append(all, ruleCase{
			kind: "McpSession", path: layer + "[].headers",
			message:  "headers: may have secretKeyRef only here; put the value into a Secret",
			accepted: created(with(m{"name": "Authorization", "secretKeyRef": secret})),
			rejected: created(with(m{"name": "X-Tenant", "value": "a"})),
		})
	}
	for _, layer := range []string{"workspace", "plugins"} {
		all = append(all, selectorCases("spec."+layer+".selector")...)
	}
	return append(all,
		uriCase("spec.subscriptions[].uri", "test://resource?", func(uri string) edit {
			return edit{"spec.subscriptions": l{m{"server": "one", "uri": uri}}}
		}),
		httpsCase("spec.interaction.hooks[].url", "url: must be an https URL with a host, without user information and fragment",
			func(url string) edit {
				return edit{"spec.interaction": m{"hooks": l{m{
					"name": "audit", "url": url, "events": l{"BeforeShow"}, "signingKeyRef": secret,
				}}}}
			}),
	)
}

func rootsCases() []ruleCase {
	item := l{m{"uri": "file:///workspace"}}
	return []ruleCase{
		{
			kind: "McpSession", path: "spec", message: "roots.items: may not be set when exposure is 'Restricted'",
			accepted: created(
				edit{"spec.roots": m{"items": item}},
				edit{"spec.exposure": "Restricted", "spec.roots": m{"mode": "Fixed"}},
				edit{"spec.exposure": "Restricted"}),
			rejected: created(edit{"spec.exposure": "Restricted", "spec.roots": m{"items": item}}),
		},
		{
			kind: "McpSession", path: "spec.roots", message: "items: may not be set when mode is 'Agent'",
			accepted: created(edit{"spec.roots": m{"mode": "Agent"}}, edit{"spec.roots": m{"mode": "Fixed", "items": item}}),
			rejected: created(edit{"spec.roots": m{"mode": "Agent", "items": item}}),
		},
		uriCase("spec.roots.items[].uri", "file:///", func(uri string) edit {
			return edit{"spec.roots": m{"items": l{m{"uri": uri}}}}
		}),
	}
}

func samplingCases() []ruleCase {
	model := func(url string) m { return m{"url": url, "name": "small"} }
	return []ruleCase{
		{
			kind: "McpSession", path: "spec.sampling", message: "model: must be set when mode is 'Model', and may not be set otherwise",
			accepted: created(
				edit{"spec.sampling": m{"mode": "Model", "model": model("https://models.example.com/v1")}},
				edit{"spec.sampling": m{"mode": "Agent"}},
				edit{"spec.sampling": m{}}),
			rejected: created(
				edit{"spec.sampling": m{"mode": "Model"}},
				edit{"spec.sampling": m{"mode": "Agent", "model": model("https://models.example.com/v1")}},
				edit{"spec.sampling": m{"model": model("https://models.example.com/v1")}}),
		},
		httpsCase("spec.sampling.model.url",
			"url: must be an https URL with a host, without user information, query and fragment",
			func(url string) edit { return edit{"spec.sampling": m{"mode": "Model", "model": model(url)}} },
			"https://models.example.com/v1?key=a"),
	}
}

// uriCase is the rule on the stored length of a URI that begins with prefix.
func uriCase(path, prefix string, build func(uri string) edit) ruleCase {
	short, ampersands := 1024-len(prefix), (1024-len(prefix))/6
	return ruleCase{
		kind: "McpSession", path: path, message: "uri: must be at most 1024 characters, of which an & counts as 6",
		accepted: created(build(prefix+strings.Repeat("a", short)), build(prefix+strings.Repeat("&", ampersands))),
		rejected: created(build(prefix + strings.Repeat("&", ampersands+1))),
	}
}

func httpsCase(path, message string, build func(url string) edit, alsoBad ...string) ruleCase {
	c := ruleCase{kind: "McpSession", path: path, message: message}
	for _, url := range []string{"https://example.com", "https://example.com:8443/v1"} {
		c.accepted = append(c.accepted, change{create: build(url)})
	}
	bad := append([]string{"http://example.com", "example.com", "https://", "https://a:b@example.com/", "https://example.com/#a"}, alsoBad...)
	for _, url := range bad {
		c.rejected = append(c.rejected, change{create: build(url)})
	}
	return c
}

func selectorCases(path string) []ruleCase {
	labels := func(labels m) edit { return edit{path: m{"matchLabels": labels}} }
	expression := func(e m) edit { return edit{path: m{"matchExpressions": l{e}}} }
	return []ruleCase{
		{
			kind: "McpSession", path: path + ".matchLabels",
			message:  "matchLabels: every key must be a label's name, at most 253 characters",
			accepted: created(labels(m{"team": "a", "example.com/tier": ""}), labels(m{}), edit{path: m{}}),
			rejected: created(labels(m{"": "a"}), labels(m{"a b": "c"}), labels(m{strings.Repeat("a", 254): "b"})),
		},
		{
			kind: "McpSession", path: path + ".matchExpressions[]",
			message: "values: must be set when operator is 'In' or 'NotIn', and may not be set otherwise",
			accepted: created(
				expression(m{"key": "team", "operator": "In", "values": l{"a"}}),
				expression(m{"key": "team", "operator": "NotIn", "values": l{"a", ""}}),
				expression(m{"key": "team", "operator": "Exists"}),
				expression(m{"key": "team", "operator": "DoesNotExist", "values": l{}})),
			rejected: created(
				expression(m{"key": "team", "operator": "In"}),
				expression(m{"key": "team", "operator": "NotIn", "values": l{}}),
				expression(m{"key": "team", "operator": "Exists", "values": l{"a"}})),
		},
	}
}
