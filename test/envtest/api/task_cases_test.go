// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import "strings"

// maxArguments is the limit on arguments in bytes of UTF-8.
const maxArguments = 256 << 10

// text returns a JSON object of exactly n bytes, filled with a character.
func text(n int, fill string) string {
	const open, end = `{"a":"`, `"}`
	room := n - len(open) - len(end)
	return open + strings.Repeat(fill, room/len(fill)) + strings.Repeat("a", room%len(fill)) + end
}

func arguments(values ...string) []change {
	edits := make([]edit, 0, len(values))
	for _, value := range values {
		edits = append(edits, edit{"spec.arguments": value})
	}
	return created(edits...)
}

func taskCases() []ruleCase {
	// What <, > and & add to the stored size is 4 bytes each over twice the length: the limit is 786432.
	angles := func(n int) string { return `{"a":"` + strings.Repeat("<", n) + `"}` }
	return []ruleCase{
		nameCases("McpTask"),
		{
			kind: "McpTask", path: "spec", message: "ttlSeconds: may not be set when mode is 'Call'; only a task is kept by its server",
			accepted: created(
				edit{"spec.ttlSeconds": 10},
				edit{"spec.ttlSeconds": 10, "spec.mode": "Task"},
				edit{"spec.mode": "Call"}),
			rejected: created(edit{"spec.ttlSeconds": 10, "spec.mode": "Call"}),
		},
		{
			kind: "McpTask", path: "spec", message: "cancel: may not be unset; a cancellation cannot be taken back",
			accepted: []change{
				{create: edit{"spec.cancel": "Requested"}},
				{create: edit{}, update: edit{"spec.cancel": "Requested"}},
				{create: edit{"spec.cancel": "Requested"}, update: edit{"metadata.labels": m{"a": "b"}}},
			},
			rejected: []change{{create: edit{"spec.cancel": "Requested"}, update: edit{"spec.cancel": gone}}},
		},
		{
			kind: "McpTask", path: "spec.arguments", message: "arguments: must be at most 262144 bytes; pass larger data by reference",
			accepted: arguments(`{}`, text(maxArguments, "a"), text(maxArguments, `\"`), text(maxArguments, "é"), text(maxArguments, "😀")),
			rejected: arguments(text(maxArguments+2, "é"), text(maxArguments+4, "😀")),
		},
		{
			kind: "McpTask", path: "spec.arguments",
			message:  "arguments: must be smaller as it is stored, where every <, > and & takes 6 bytes",
			accepted: arguments(angles(131069), text(100000, "<>&")),
			rejected: arguments(angles(131070), text(maxArguments, "<"), text(maxArguments, ">"), text(maxArguments, "&")),
		},
		{
			kind: "McpTask", path: "spec.arguments", message: "arguments: must be a JSON object",
			accepted: arguments(`{}`, "{\n  \"a\": 1\n}\n", "\t{ }  "),
			rejected: arguments(`[]`, `null`, `"text"`, `{"a":1`, `12`, `  `),
		},
		{
			kind: "McpTask", path: "spec.arguments", message: "arguments: may not hold control characters; escape them as JSON does",
			accepted: arguments("{\r\n\t}", `{"a":"\u0000"}`),
			rejected: arguments("{\"a\":\"\x00\"}", "{\"a\":\"\x1f\"}", "{\x0b}"),
		},
	}
}
