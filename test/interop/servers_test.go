// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package interop

import (
	"path/filepath"
	"testing"

	"github.com/mooring-dev/mooring/internal/mcp"
	"github.com/mooring-dev/mooring/internal/mcp/completion"
	"github.com/mooring-dev/mooring/internal/mcp/content"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
	"github.com/mooring-dev/mooring/test/servers"
)

// offer is what a server has, and what is expected of the runtime on it. What is empty is not there.
type offer struct {
	version, info string
	instructions  string // a part of them
	tools         []string
	resources     []string // some of them
	templates     []string
	prompts       []string
	calls         []toolCall
	reads         map[string]string // a part of the text, by URI
	gets          []promptGet
	completions   []completed
	progress      *toolCall // and how often it is told
	progresses    int
	logs          *toolCall // and parts of what it logs
	logged        []string
	updates       *updates
	change        *change
	// deaf says that it declares subscriptions and changes of its lists, and can tell of neither.
	deaf bool
}

// toolCall is a call by the server's own name of the tool, and a part of the text that comes back.
type toolCall struct {
	name, arguments, want string
	notify                func(*wire.Message)
}

type promptGet struct{ name, arguments, want string }

type completed struct {
	of   completion.RefType
	name string
	// argument begins with value; context are the others.
	argument, value string
	context         []completion.Argument
	want            []string
}

// updates are two subscriptions, one declared and one made, and what makes the server tell of them.
type updates struct {
	declared, made string
	trigger        []toolCall
	// after is a trigger for made, and then one for declared, once made is unsubscribed from.
	after []toolCall
}

// change is a call that changes lists, and what they have more then.
type change struct {
	by   toolCall
	tool string
	list map[content.Kind]string
}

var everything = offer{
	version: "2025-11-25", info: "mcp-servers/everything", instructions: "Everything Server",
	tools: []string{
		"echo", "get-annotated-message", "get-env", "get-resource-links", "get-resource-reference", "get-structured-content",
		"get-sum", "get-tiny-image", "gzip-file-as-resource", "simulate-research-query", "toggle-simulated-logging",
		"toggle-subscriber-updates", "trigger-long-running-operation",
	},
	resources: []string{document},
	templates: []string{"demo://resource/dynamic/blob/{resourceId}", "demo://resource/dynamic/text/{resourceId}"},
	prompts:   []string{"args-prompt", "completable-prompt", "resource-prompt", "simple-prompt"},
	calls: []toolCall{
		{name: "echo", arguments: `{"message":"across"}`, want: "Echo: across"},
		{name: "get-sum", arguments: `{"a":2,"b":40}`, want: "The sum of 2 and 40 is 42."},
		{name: "get-structured-content", arguments: `{"location":"Chicago"}`, want: "temperature"},
	},
	reads: map[string]string{
		document:                          "Audience",
		"demo://resource/dynamic/text/17": "Resource 17: This is a plaintext resource",
	},
	gets: []promptGet{
		{name: "simple-prompt", want: "This is a simple prompt without arguments."},
		{name: "args-prompt", arguments: `{"city":"Oslo"}`, want: "What's weather in Oslo?"},
	},
	completions: []completed{
		{of: completion.PromptRef, name: "completable-prompt", argument: "department", value: "S", want: []string{"Sales", "Support"}},
		{
			of: completion.PromptRef, name: "completable-prompt", argument: "name",
			context: []completion.Argument{{Name: "department", Value: "Sales"}}, want: []string{"David", "Eve", "Frank"},
		},
		{
			of: completion.ResourceRef, name: "demo://resource/dynamic/text/{resourceId}", argument: "resourceId", value: "7",
			want: []string{"7"},
		},
	},
	progress:   &toolCall{name: "trigger-long-running-operation", arguments: `{"duration":0.4,"steps":4}`, want: "completed"},
	progresses: 4,
	// The level of what it logs is drawn; all are wanted here.
	logs:   &toolCall{name: "toggle-simulated-logging", want: "Started simulated"},
	logged: []string{"level"},
	updates: &updates{
		declared: document, made: "demo://resource/dynamic/text/1",
		trigger: []toolCall{{name: "toggle-subscriber-updates", want: "Started simulated"}},
	},
	// No tool of it changes its tools or prompts; this one adds a resource.
	change: &change{
		by:   toolCall{name: "gzip-file-as-resource", arguments: `{"name":"new.gz","data":"data:text/plain,new"}`},
		list: map[content.Kind]string{content.Resources: "demo://resource/session/new.gz"},
	},
}

const document = "demo://resource/static/document/instructions.md"

var modern = offer{
	version: "2026-07-28", info: "modern", instructions: "Call echo first.",
	tools:     []string{"echo", "grow", "log", "progress", "touch", "wait", "waits"},
	resources: []string{"modern://note"},
	templates: []string{"modern://city/{name}"},
	prompts:   []string{"visit"},
	calls:     []toolCall{{name: "echo", arguments: `{"text":"across"}`, want: "echo: across"}},
	reads: map[string]string{
		// It was touched four times before.
		"modern://note": "modern://note after 4", "modern://city/Oslo": "modern://city/Oslo after 4",
	},
	gets: []promptGet{{name: "visit", arguments: `{"city":"Bern"}`, want: "Plan a visit to Bern."}},
	completions: []completed{
		{of: completion.PromptRef, name: "visit", argument: "city", value: "Ber", want: []string{"Berlin", "Bern"}},
		{of: completion.ResourceRef, name: "modern://city/{name}", argument: "name", value: "O", want: []string{"Oslo"}},
	},
	progress:   &toolCall{name: "progress", want: "progressed"},
	progresses: 3,
	logs:       &toolCall{name: "log", want: "logged"},
	logged:     []string{"at debug", "at info", "at error"},
	updates: &updates{
		declared: "modern://note", made: "modern://city/Bern",
		trigger: []toolCall{touch("modern://note"), touch("modern://city/Bern")},
		after:   []toolCall{touch("modern://city/Bern"), touch("modern://note")},
	},
	change: &change{
		by: toolCall{name: "grow", want: "grown"}, tool: "grown",
		list: map[content.Kind]string{content.Resources: "modern://grown", content.Prompts: "grown"},
	},
}

// legacy is the modern server in the era before.
func legacy() offer {
	o := modern
	o.version = "2025-11-25"
	return o
}

// stateless is the modern server in the era before over HTTP: it keeps nothing between requests.
func stateless() offer {
	o := legacy()
	o.deaf, o.updates = true, nil
	o.reads = map[string]string{"modern://note": "modern://note after 0"}
	return o
}

// inLegacy has a server spoken to in the era before.
func inLegacy(start starter) starter {
	return func(t *testing.T) started {
		t.Helper()
		s := start(t)
		s.server = s.in(mcp.EraLegacy)
		return s
	}
}

func touch(uri string) toolCall {
	return toolCall{name: "touch", arguments: `{"uri":"` + uri + `"}`, want: "touched"}
}

// filesystem serves the directory that it is told of; nothing of it changes.
func filesystem(dir string) offer {
	path := filepath.Join(dir, "hello.txt")
	return offer{
		version: "2025-11-25", info: "secure-filesystem-server",
		tools: []string{
			"create_directory", "directory_tree", "edit_file", "get_file_info", "list_allowed_directories", "list_directory",
			"list_directory_with_sizes", "move_file", "read_file", "read_media_file", "read_multiple_files", "read_text_file",
			"search_files", "write_file",
		},
		calls: []toolCall{
			{name: "write_file", arguments: `{"path":"` + path + `","content":"hello across"}`, want: "Successfully wrote"},
			{name: "read_text_file", arguments: `{"path":"` + path + `"}`, want: "hello across"},
			{name: "list_directory", arguments: `{"path":"` + dir + `"}`, want: "[FILE] hello.txt"},
			{name: "read_text_file", arguments: `{"path":"/etc/passwd"}`, want: "Access denied"},
		},
	}
}

const graph = "memory://knowledge-graph"

var memory = offer{
	version: "2025-11-25", info: "memory-server",
	tools: []string{
		"add_observations", "create_entities", "create_relations", "delete_entities", "delete_observations", "delete_relations",
		"open_nodes", "read_graph", "search_nodes",
	},
	resources: []string{graph},
	calls: []toolCall{
		entity("Oslo"),
		{name: "search_nodes", arguments: `{"query":"Oslo"}`, want: "is a city"},
	},
	reads:   map[string]string{graph: `"name": "Oslo"`},
	updates: &updates{declared: graph, made: graph, trigger: []toolCall{entity("Bern")}},
}

func entity(name string) toolCall {
	return toolCall{
		name: "create_entities", want: name,
		arguments: `{"entities":[{"name":"` + name + `","entityType":"place","observations":["is a city"]}]}`,
	}
}

var thinking = offer{
	version: "2025-11-25", info: "sequential-thinking-server",
	tools: []string{"sequentialthinking"},
	calls: []toolCall{{
		name: "sequentialthinking", want: `"thoughtHistoryLength": 1`,
		arguments: `{"thought":"Begin.","nextThoughtNeeded":true,"thoughtNumber":1,"totalThoughts":2}`,
	}},
}

func TestServers(t *testing.T) {
	files := t.TempDir()
	for _, server := range []struct {
		name  string
		start starter
		offer offer
	}{
		{"everything over Streamable HTTP", over(mcp.TransportHTTP, servers.EverythingNode), everything},
		{"everything over SSE", over(mcp.TransportSSE, servers.EverythingSSE), everything},
		{"everything over stdio", of(servers.Everything), everything},
		{"filesystem", of(servers.Filesystem, files), filesystem(files)},
		{"memory", bridged(func(t *testing.T) (argv, env []string, err error) {
			argv, err = servers.Memory.Command()
			return argv, []string{"MEMORY_FILE_PATH=" + filepath.Join(t.TempDir(), "memory.jsonl")}, err
		}), memory},
		{"sequential-thinking", of(servers.SequentialThinking), thinking},
		{"modern over Streamable HTTP", over(mcp.TransportHTTP, servers.ModernNode), modern},
		{"modern over stdio", bridged(modernStdio), modern},
		{"modern in the legacy era over stdio", inLegacy(bridged(modernStdio)), legacy()},
		{"modern in the legacy era over HTTP", inLegacy(over(mcp.TransportHTTP, servers.ModernNode)), stateless()},
	} {
		t.Run(server.name, func(t *testing.T) { server.offer.use(t, server.start(t)) })
	}
}
