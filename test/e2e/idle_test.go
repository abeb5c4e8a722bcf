// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/test/servers"
)

// settle waits until the definitions of a namespace count their sessions, which they do half a minute late.
func settle(t *testing.T, ns string, sessions int32) {
	t.Helper()
	var list v1alpha1.McpServerList
	eventually(t, 90*time.Second, func() string {
		if err := k8s.List(t.Context(), &list, client.InNamespace(ns)); err != nil {
			return err.Error()
		}
		for i := range list.Items {
			if list.Items[i].Status.Sessions != sessions {
				return fmt.Sprintf("%s counts %d sessions", list.Items[i].Name, list.Items[i].Status.Sessions)
			}
		}
		return ""
	})
}

// TestIdleWritesNothing watches 20 sessions that have nothing to do.
func TestIdleWritesNothing(t *testing.T) {
	idle := 60 * time.Second
	if text := os.Getenv("MOORING_E2E_IDLE"); text != "" {
		var err error
		if idle, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	counter := servers.NewCounter()
	defer counter.Close()
	ns := namespace(t, "idle")
	server(t, ns, "counter", counter.URL)
	create(t, legacy(ns, "old", counter.URL))
	for i := range 20 {
		session(t, ns, fmt.Sprintf("s%d", i), "counter", "old")
	}
	for i := range 20 {
		awaitSession(t, ns, fmt.Sprintf("s%d", i), time.Minute, ready)
	}
	settle(t, ns, 20)
	mark := audit.mark(t)
	time.Sleep(idle)
	writes := audit.since(t, mark, ns)
	t.Logf("20 idle sessions, %s: %d writes", idle, len(writes))
	for i := range writes {
		t.Errorf("while idle: %s", &writes[i])
	}
}
