// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// auditPolicy makes the API server write down each finished write, and nothing of its content.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted, Panic]
rules:
  - level: Metadata
    verbs: [create, update, patch, delete, deletecollection]
  - level: None
`

// auditLog is the file that the API server writes.
type auditLog string

// write is one write that the API server answered.
type write struct {
	Verb string `json:"verb"`
	User struct {
		Username string `json:"username"`
	} `json:"user"`
	Object struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	Response struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
}

func (w *write) String() string {
	return strings.Join([]string{w.Verb, w.Object.Resource, w.Object.Subresource, w.Object.Namespace, w.Object.Name}, " ")
}

// mark is where the log ends now.
func (a auditLog) mark(t *testing.T) int64 {
	t.Helper()
	info, err := os.Stat(string(a))
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// since returns the manager's writes of objects in a namespace after a mark: leases and reviews, which store nothing of
// ours, left out.
func (a auditLog) since(t *testing.T, mark int64, ns string) []write {
	t.Helper()
	f, err := os.Open(string(a))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if _, err := f.Seek(mark, 0); err != nil {
		t.Fatal(err)
	}
	var writes []write
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var w write
		if err := json.Unmarshal(lines.Bytes(), &w); err != nil {
			t.Fatal(err)
		}
		if w.User.Username != "system:serviceaccount:mooring-system:mooring" || w.Object.Namespace != ns {
			continue
		}
		switch w.Object.Resource {
		case "leases", "tokenreviews", "subjectaccessreviews":
		default:
			writes = append(writes, w)
		}
	}
	return writes
}
