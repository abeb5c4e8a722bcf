// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import "strings"

const nameRule = "metadata.name: must be at most 63 lower-case letters, digits and dashes, and begin and end with a letter or digit"

// nameCases are the same for every kind.
func nameCases(kind string) ruleCase {
	named := func(name string) change {
		return change{create: edit{"metadata": m{"name": name}}}
	}
	return ruleCase{
		kind: kind, message: nameRule,
		accepted: []change{named("a"), named("1-a"), named(strings.Repeat("a", 63))},
		rejected: []change{named("a.b"), named(strings.Repeat("a", 64))},
	}
}

func created(edits ...edit) []change {
	all := make([]change, 0, len(edits))
	for _, e := range edits {
		all = append(all, change{create: e})
	}
	return all
}

// transport is an edit that makes the base server's transport another one.
func transport(kind, member string, value m) edit {
	return edit{"spec.transport": m{"type": kind, member: value}}
}

func with(a, b edit) edit {
	out := edit{}
	for _, e := range []edit{a, b} {
		for path, value := range e {
			out[path] = value
		}
	}
	return out
}

func serverCases() []ruleCase {
	all := []ruleCase{
		nameCases("McpServer"),
		{
			kind: "McpServer", path: "spec.calls",
			message: "idleTimeoutSeconds: may not be greater than totalTimeoutSeconds, which is 300 when absent",
			accepted: created(
				edit{"spec.calls": m{"idleTimeoutSeconds": 300}},
				edit{"spec.calls": m{"totalTimeoutSeconds": 10}},
				edit{"spec.calls": m{"idleTimeoutSeconds": 1800, "totalTimeoutSeconds": 1800}}),
			rejected: created(
				edit{"spec.calls": m{"idleTimeoutSeconds": 301}},
				edit{"spec.calls": m{"idleTimeoutSeconds": 3, "totalTimeoutSeconds": 2}}),
		},
		{
			kind: "McpServer", path: "spec.recovery",
			message: "initialDelayMilliseconds: may not be greater than maxDelayMilliseconds; when absent they are 1000 and 30000",
			accepted: created(
				edit{"spec.recovery": m{"maxAttempts": 0}},
				edit{"spec.recovery": m{"initialDelayMilliseconds": 30000}},
				edit{"spec.recovery": m{"initialDelayMilliseconds": 10, "maxDelayMilliseconds": 10}}),
			rejected: created(
				edit{"spec.recovery": m{"initialDelayMilliseconds": 30001}},
				edit{"spec.recovery": m{"maxDelayMilliseconds": 999}},
				edit{"spec.recovery": m{"initialDelayMilliseconds": 11, "maxDelayMilliseconds": 10}}),
		},
		{
			kind: "McpServer", path: "spec.tasks",
			message: "ttlSeconds: may not be greater than lifetimeSeconds; when absent they are 600 and 1800",
			accepted: created(
				edit{"spec.tasks": m{"mode": "On"}},
				edit{"spec.tasks": m{"ttlSeconds": 1800}},
				edit{"spec.tasks": m{"ttlSeconds": 86400, "lifetimeSeconds": 86400}}),
			rejected: created(
				edit{"spec.tasks": m{"ttlSeconds": 1801}},
				edit{"spec.tasks": m{"lifetimeSeconds": 599}},
				edit{"spec.tasks": m{"ttlSeconds": 11, "lifetimeSeconds": 10}}),
		},
	}
	all = append(all, oauthCases()...)
	all = append(all, transportCases()...)
	all = append(all, stdioCases()...)
	for kind, member := range map[string]string{"StreamableHTTP": "streamableHTTP", "SSE": "sse"} {
		all = append(all, urlCases(kind, member)...)
		path := "spec.transport." + member + ".headers"
		all = append(all, headerCases("McpServer", path, func(headers ...any) edit {
			return transport(kind, member, m{"url": "https://mcp.example.com", "headers": headers})
		})...)
	}
	return all
}

func oauthCases() []ruleCase {
	login := edit{"spec.oauth": m{"grant": "AuthorizationCode"}}
	bearer := l{m{"name": "AUTHORIZATION", "value": "Bearer x"}}
	other := l{m{"name": "X-Tenant", "value": "a"}}
	all := []ruleCase{
		{
			kind: "McpServer", path: "spec", message: "oauth: may not be set when transport.type is 'Stdio'",
			accepted: created(login),
			rejected: created(with(login, transport("Stdio", "stdio", m{"image": "registry.example.com/server:1"}))),
		},
		{
			kind: "McpServer", path: "spec.oauth", message: "client.secretRef: must be set when grant is 'ClientCredentials'",
			accepted: created(
				edit{"spec.oauth": m{"grant": "ClientCredentials", "client": m{"id": "a", "secretRef": m{"name": "s", "key": "k"}}}},
				edit{"spec.oauth": m{"grant": "AuthorizationCode", "client": m{"id": "a"}}}),
			rejected: created(
				edit{"spec.oauth": m{"grant": "ClientCredentials"}},
				edit{"spec.oauth": m{"grant": "ClientCredentials", "client": m{"id": "a"}}}),
		},
	}
	for kind, member := range map[string]string{"StreamableHTTP": "streamableHTTP", "SSE": "sse"} {
		at := func(url string) edit { return with(login, transport(kind, member, m{"url": url})) }
		having := func(headers l) edit {
			return with(login, transport(kind, member, m{"url": "https://mcp.example.com", "headers": headers}))
		}
		all = append(all, ruleCase{
			kind: "McpServer", path: "spec",
			message:  "oauth: may not be set beside a header 'Authorization' in transport." + member + ".headers; remove one of them",
			accepted: created(having(other), transport(kind, member, m{"url": "https://mcp.example.com", "headers": bearer})),
			rejected: created(having(bearer)),
		}, ruleCase{
			kind: "McpServer", path: "spec",
			message: "oauth: may be set only with an https transport." + member + ".url, or http to 127.0.0.1, [::1] or localhost",
			accepted: created(at("https://mcp.example.com/mcp"), at("HTTPS://mcp.example.com"), at("http://127.0.0.1:80/"),
				at("http://[::1]"), at("http://localhost?a=b")),
			rejected: created(at("http://mcp.example.com/mcp"), at("http://127.0.0.2/"), at("http://sub.localhost/"),
				at("http://localhost.example.com"), at("http://127.0.0.1.example.com/")),
		})
	}
	return all
}

func transportCases() []ruleCase {
	const url = "https://mcp.example.com"
	image := m{"image": "registry.example.com/server:1"}
	one := func(member string) string {
		kinds := map[string]string{"streamableHTTP": "StreamableHTTP", "sse": "SSE", "stdio": "Stdio"}
		return member + ": must be set when type is '" + kinds[member] + "', and may not be set otherwise"
	}
	return []ruleCase{
		{
			kind: "McpServer", path: "spec.transport", message: one("streamableHTTP"),
			accepted: created(transport("StreamableHTTP", "streamableHTTP", m{"url": url})),
			rejected: created(
				edit{"spec.transport": m{"type": "StreamableHTTP"}},
				edit{"spec.transport": m{"type": "SSE", "sse": m{"url": url}, "streamableHTTP": m{"url": url}}}),
		},
		{
			kind: "McpServer", path: "spec.transport", message: one("sse"),
			accepted: created(transport("SSE", "sse", m{"url": url})),
			rejected: created(
				edit{"spec.transport": m{"type": "SSE"}},
				edit{"spec.transport": m{"type": "Stdio", "stdio": image, "sse": m{"url": url}}}),
		},
		{
			kind: "McpServer", path: "spec.transport", message: one("stdio"),
			accepted: created(transport("Stdio", "stdio", image)),
			rejected: created(
				edit{"spec.transport": m{"type": "Stdio"}},
				edit{"spec.transport.stdio": image}),
		},
	}
}

func stdioCases() []ruleCase {
	stdio := func(value m) edit { return transport("Stdio", "stdio", value) }
	secret := m{"name": "s", "key": "k"}
	beside := func(field string, value any) edit {
		return stdio(m{"address": "127.0.0.1:7000", "tokenSecretKeyRef": secret, field: value})
	}
	env := func(value m) edit { return stdio(m{"image": "server", "env": l{value}}) }
	return []ruleCase{
		{
			kind: "McpServer", path: "spec.transport.stdio", message: "stdio: exactly one of image and address must be set",
			accepted: created(stdio(m{"image": "server"}), stdio(m{"address": "[::1]:7000", "tokenSecretKeyRef": secret})),
			rejected: created(stdio(m{"image": "server", "address": "127.0.0.1:7000", "tokenSecretKeyRef": secret}),
				stdio(m{"command": l{"server"}})),
		},
		{
			kind: "McpServer", path: "spec.transport.stdio",
			message:  "stdio.tokenSecretKeyRef: must be set when address is, and may not be set otherwise; a bridge serves only who knows its token",
			accepted: created(stdio(m{"address": "127.0.0.1:7000", "tokenSecretKeyRef": secret})),
			rejected: created(stdio(m{"address": "127.0.0.1:7000"}), stdio(m{"image": "server", "tokenSecretKeyRef": secret})),
		},
		{
			kind: "McpServer", path: "spec.transport.stdio",
			message: "stdio.address: nothing else may be set beside it; the bridge has its own command and environment",
			accepted: created(stdio(m{"address": "127.0.0.1:7000", "tokenSecretKeyRef": secret}), stdio(m{
				"image": "server", "command": l{"server"}, "args": l{"", "-v"}, "env": l{m{"name": "A", "value": "b"}},
				"resources": m{"cpu": "500m"}, "runtimeClassName": "gvisor", "imagePullSecrets": l{m{"name": "s"}},
			})),
			rejected: created(beside("command", l{"server"}), beside("args", l{"-v"}), beside("env", l{m{"name": "A", "value": "b"}}),
				beside("resources", m{"cpu": "500m"}), beside("runtimeClassName", "gvisor"),
				beside("imagePullSecrets", l{m{"name": "s"}})),
		},
		{
			kind: "McpServer", path: "spec.transport.stdio.env[]", message: "env: exactly one of value and secretKeyRef must be set",
			accepted: created(env(m{"name": "A", "value": "b"}), env(m{"name": "A", "secretKeyRef": secret})),
			rejected: created(env(m{"name": "A"}), env(m{"name": "A", "value": "b", "secretKeyRef": secret})),
		},
	}
}

func urlCases(kind, member string) []ruleCase {
	path := "spec.transport." + member + ".url"
	urls := func(urls ...string) []change {
		edits := make([]edit, 0, len(urls))
		for _, url := range urls {
			edits = append(edits, transport(kind, member, m{"url": url}))
		}
		return created(edits...)
	}
	good := urls("https://mcp.example.com", "http://mcp:8080/mcp?tenant=a&b=@c", "http://127.0.0.1:3931/mcp", "https://[2001:db8::1]:8443/")
	return []ruleCase{
		{
			kind: "McpServer", path: path, message: "url: must be an http or https URL with a host",
			accepted: good,
			rejected: urls("mcp.example.com/mcp", "ftp://mcp.example.com", "file:///etc/passwd", "http://", "http:///mcp", "/mcp",
				"javascript:alert(1)", "unix:///run/mcp.sock", "http://mcp:port/"),
		},
		{
			kind: "McpServer", path: path, message: "url: may not have a fragment; remove what begins with #",
			accepted: good,
			rejected: urls("https://mcp.example.com/mcp#a", "https://mcp.example.com/#"),
		},
		{
			kind: "McpServer", path: path, message: "url: may not carry user information; put credentials into headers, by secretKeyRef",
			accepted: good,
			rejected: urls("https://user@mcp.example.com/", "https://user:secret@mcp.example.com/mcp"),
		},
		{
			kind: "McpServer", path: path,
			message:  "url: may not name a link-local or cloud metadata address; name the MCP server's own host",
			accepted: append(urls("https://metadata.example.com/", "http://169.253.1.1/", "http://metadata-proxy/"), good...),
			rejected: urls("http://169.254.169.254/latest/meta-data/", "http://169.254.169.254", "https://169.254.170.2:80/v2",
				"http://[fd00:ec2::254]/", "http://[fe80::1%25eth0]/", "http://metadata.google.internal/computeMetadata/v1/",
				"http://METADATA.google.internal./", "http://metadata/", "http://metadata.goog", "http://100.100.100.200/latest",
				"http://192.0.0.192?a", "http://[::ffff:169.254.169.254]/", "http://[::ffff:a9fe:a9fe]:80/"),
		},
	}
}

// headerCases are the rules of a list of headers. build puts such a list into an object.
func headerCases(kind, path string, build func(headers ...any) edit) []ruleCase {
	secret := m{"name": "s", "key": "k"}
	header := func(name string) m { return m{"name": name, "secretKeyRef": secret} }
	var taken []edit
	for _, name := range []string{
		"Host", "connection", "Upgrade", "TE", "Trailer", "Transfer-Encoding", "Keep-Alive", "Accept", "Last-Event-ID",
		"Content-Type", "content-length", "Mcp-Session-Id", "MCP-Protocol-Version", "Mcp-Name", "Proxy-Authorization",
	} {
		taken = append(taken, build(header(name)))
	}
	return []ruleCase{
		{
			kind: kind, path: path, message: "headers: a name may be set once only, in whatever case",
			accepted: created(build(header("X-A"), header("X-B"))),
			rejected: created(build(header("X-A"), header("x-a"))),
		},
		{
			kind: kind, path: path + "[]", message: "headers: exactly one of value and secretKeyRef must be set",
			accepted: created(build(header("X-A"))),
			rejected: created(build(m{"name": "X-A"})),
		},
		{
			kind: kind, path: path + "[].name", message: "name: this header belongs to the protocol or the connection and may not be set",
			accepted: created(build(header("Authorization")), build(header("Accept-Language")), build(header("X-Mcp-Key"))),
			rejected: created(taken...),
		},
	}
}
