// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
)

// TestGracefulStop ends the manager in good order, with a call under way and a server that is slow to let go: status says
// what was, and not that nothing is left.
func TestGracefulStop(t *testing.T) {
	h := newHanging(t)
	ns := populated(t, h.URL, 1)
	eventually(t, 20*time.Second, func() string {
		if h.Calls(ns) == 0 {
			return "the call is not at the server"
		}
		return ""
	})
	h.hangs.Store(true)
	if err := manager.Stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
	s := &v1alpha1.McpSession{}
	if err := k8s.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "s0"}, s); err != nil {
		t.Fatal(err)
	}
	if len(s.Status.Tools) != 2 {
		t.Errorf("tools after the stop: %d, conditions %s", len(s.Status.Tools), conditions(s.Status.Conditions))
	}
	h.hangs.Store(false)
	if err := manager.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	done := awaitTask(t, ns, "running", time.Minute)
	failed := meta.FindStatusCondition(done.Status.Conditions, v1alpha1.ConditionFailed)
	if failed == nil || failed.Reason != v1alpha1.ReasonOutcomeUnknown || h.Calls(ns) != 1 {
		t.Errorf("%d calls, task %s", h.Calls(ns), conditions(done.Status.Conditions))
	}
	awaitSession(t, ns, "s0", time.Minute, ready)
}
