// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/test/servers"
)

func legacy(ns, name, url string) *v1alpha1.McpServer {
	return &v1alpha1.McpServer{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
		Spec: v1alpha1.McpServerSpec{Transport: v1alpha1.Transport{
			Type:           v1alpha1.TransportStreamableHTTP,
			StreamableHTTP: &v1alpha1.HTTPTransport{URL: url, Protocol: v1alpha1.ProtocolLegacy},
		}},
	}
}

func task(t *testing.T, ns, name, session, tool, arguments string) {
	t.Helper()
	create(t, &v1alpha1.McpTask{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
		Spec: v1alpha1.McpTaskSpec{
			SessionRef: v1alpha1.LocalMcpSessionReference{Name: session}, Tool: tool, Arguments: arguments,
			Mode: v1alpha1.TaskModeCall,
		},
	})
}

// awaitTask waits for a task's end.
func awaitTask(t *testing.T, ns, name string, within time.Duration) *v1alpha1.McpTask {
	t.Helper()
	got := &v1alpha1.McpTask{}
	eventually(t, within, func() string {
		if err := k8s.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: name}, got); err != nil {
			return err.Error()
		}
		switch got.Status.State {
		case v1alpha1.TaskCompleted, v1alpha1.TaskFailed, v1alpha1.TaskCancelled:
			return ""
		}
		return fmt.Sprintf("task %s is %s: %s", name, got.Status.State, conditions(got.Status.Conditions))
	})
	return got
}

// verify says that a task's outcome and the server's own count are one story.
func verify(t *testing.T, done *v1alpha1.McpTask, calls int) (outcome string) {
	t.Helper()
	failed := meta.FindStatusCondition(done.Status.Conditions, v1alpha1.ConditionFailed)
	switch {
	case calls > 1:
		t.Errorf("%s: the server counted %d calls", done.Name, calls)
	case done.Status.State == v1alpha1.TaskCompleted && calls == 1:
		return "Completed"
	case failed != nil && failed.Reason == v1alpha1.ReasonOutcomeUnknown:
		return failed.Reason
	}
	t.Errorf("%s: %s with %d calls: %s", done.Name, done.Status.State, calls, conditions(done.Status.Conditions))
	return ""
}

// TestKillBetweenRecords kills the manager twenty times between a task's creation and the record of its answer.
func TestKillBetweenRecords(t *testing.T) {
	counter := servers.NewCounter()
	defer counter.Close()
	ns := namespace(t, "killed")
	server(t, ns, "counter", counter.URL)
	session(t, ns, "s", "counter")
	outcomes := map[string]int{}
	for i := range 20 {
		awaitSession(t, ns, "s", time.Minute, ready)
		name := fmt.Sprintf("task-%d", i)
		task(t, ns, name, "s", "mcp__counter__slow", fmt.Sprintf(`{"key":%q,"milliseconds":300}`, name))
		time.Sleep(time.Duration(rand.IntN(600)) * time.Millisecond)
		restart(t)
		outcomes[verify(t, awaitTask(t, ns, name, time.Minute), counter.Calls(name))]++
	}
	t.Logf("outcomes of 20 kills: %v", outcomes)
	t.Run("at the failpoints", func(t *testing.T) {
		for _, point := range []string{"task/recorded", "task/answered"} {
			awaitSession(t, ns, "s", time.Minute, ready)
			restart(t, "MOORING_FAILPOINT="+point)
			name := "at-" + point[len("task/"):]
			task(t, ns, name, "s", "mcp__counter__slow", fmt.Sprintf(`{"key":%q,"milliseconds":100}`, name))
			select {
			case <-manager.Done():
			case <-time.After(30 * time.Second):
				t.Fatalf("%s was not reached", point)
			}
			restart(t)
			done := awaitTask(t, ns, name, time.Minute)
			if outcome := verify(t, done, counter.Calls(name)); outcome != v1alpha1.ReasonOutcomeUnknown {
				t.Errorf("%s: %s", point, outcome)
			}
		}
	})
}
