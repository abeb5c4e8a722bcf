// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package clean

import (
	"encoding/json"
	"regexp"
	"strings"
)

// The bounds of finished texts, in bytes (SEC-04).
const (
	ConnectionErrorBytes = 512
	ToolErrorBytes       = 4096
	TaskTextBytes        = 1024
)

// taskID stands for the id that a server gave to a task. An id shorter than minTaskID may be part of any word.
const (
	taskID    = "[task-id]"
	minTaskID = 8
)

// finishedInput bounds what is read for a finished text: enough, when most of it is redacted.
const finishedInput = 64 << 10

var lineEnds = regexp.MustCompile(`[\n\t]+`)

// ConnectionError returns why a connection failed, fit for a status: redacted, on one line, at most ConnectionErrorBytes
// (SEC-04, SEC-05, DEV-07).
func ConnectionError(s string) string {
	s = lineEnds.ReplaceAllLiteralString(RedactWithin(s, finishedInput), " ")
	return strings.TrimSpace(Text(s, ConnectionErrorBytes))
}

// ToolError returns what a tool said of its failure, fit for a report: redacted, at most ToolErrorBytes (RES-14).
func ToolError(s string) string { return Multiline(RedactWithin(s, finishedInput), ToolErrorBytes) }

// TaskText returns what a server said of a task: redacted, trimmed, at most TaskTextBytes, and without the server's id of
// the task, which lets its bearer read and cancel it (TSK-23, DEV-08). Ids shorter than 8 bytes stay: taking them out
// would mangle words. A text made so that the id shows up when it is taken out is withheld.
func TaskText(s, serverID string) string {
	s = Normal(beginning(s, finishedInput), finishedInput)
	if id := Normal(serverID, finishedInput); len(id) >= minTaskID && !strings.Contains(taskID, id) {
		if s = strings.ReplaceAll(s, id, taskID); strings.Contains(s, id) {
			return taskID
		}
	}
	return strings.TrimSpace(Multiline(RedactWithin(s, finishedInput), TaskTextBytes))
}

// Quote returns s as a JSON string in which <, > and & are escaped, for a name, URI or id in a notice that a model reads
// (SEC-07): what is inside can end neither the string nor a tag around it. Invalid UTF-8 becomes U+FFFD.
func Quote(s string) string {
	b, _ := json.Marshal(s) // a string always marshals
	return string(b)
}
