// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"os/exec"
	"strings"
	"testing"
)

// TestKubectlGetMooring shows what a person sees first of each kind, by one word for all three.
func TestKubectlGetMooring(t *testing.T) {
	c, ns := strict(t), namespace(t)
	for _, file := range []string{"mcpserver-streamable-http.yaml", "mcpsession-full.yaml", "mcptask-finished.yaml"} {
		o := manifests(t, "test", "fixtures", "v1alpha1")[file]
		status := o.Object["status"]
		o.SetNamespace(ns)
		o.SetFinalizers(nil)
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		edit{"status": status}.apply(t, o)
		if err := c.Status().Update(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	kubectl := func(args ...string) string {
		t.Helper()
		args = append(args, "--kubeconfig", testCluster.Kubeconfig, "-n", ns)
		out, err := exec.CommandContext(t.Context(), testCluster.Kubectl, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("kubectl %v: %v: %s", args, err, out)
		}
		return squeeze(string(out))
	}
	want := `NAME READY REASON TRANSPORT SESSIONS AGE
mcpserver.mcp.mooring.dev/github-issues False NotImplemented StreamableHTTP 3 *

NAME READY REASON SERVERS CONNECTED TOOLS AGE
mcpsession.mcp.mooring.dev/full True Degraded 2 1 12 *

NAME READY REASON STATE SESSION TOOL AGE
mcptask.mcp.mooring.dev/finished False ToolError Failed full mcp__everything__echo *`
	if got := kubectl("get", "mooring"); !matches(got, want) {
		t.Errorf("kubectl get mooring: got\n%s\nwant\n%s", got, want)
	}
	for short, column := range map[string]string{"mcpsrv": "URL", "mcpses": "ENDPOINT", "mcpt": "PROGRESS"} {
		if got := kubectl("get", short, "-o", "wide"); !strings.Contains(got, column) {
			t.Errorf("kubectl get %s -o wide: no column %s in\n%s", short, column, got)
		}
	}
}

// squeeze leaves one blank between columns.
func squeeze(table string) string {
	lines := strings.Split(strings.TrimSpace(table), "\n")
	for i := range lines {
		lines[i] = strings.Join(strings.Fields(lines[i]), " ")
	}
	return strings.Join(lines, "\n")
}

// matches compares line by line; a * at the end of a line stands for one more word.
func matches(got, want string) bool {
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(want, "\n")
	if len(gotLines) != len(wantLines) {
		return false
	}
	for i := range wantLines {
		prefix, open := strings.CutSuffix(wantLines[i], "*")
		if gotLines[i] != wantLines[i] && (!open || !strings.HasPrefix(gotLines[i], prefix) ||
			len(strings.Fields(gotLines[i])) != len(strings.Fields(wantLines[i]))) {
			return false
		}
	}
	return true
}
