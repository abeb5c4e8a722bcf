// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/test/cluster"
	"github.com/mooring-dev/mooring/test/operator"
)

// What every test uses.
var (
	k8s     client.Client
	control *cluster.Cluster
	manager *operator.Operator
	audit   auditLog
)

// chunkGrace is how long an unnamed chunk is kept here, instead of ten minutes.
const chunkGrace = time.Minute

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "mooring-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	audit = auditLog(filepath.Join(dir, "audit.log"))
	policy := filepath.Join(dir, "policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	// The manager's log is kept for whoever looks into a failure.
	log, err := os.Create(filepath.Join(mustRoot(), "out", "e2e-manager.log"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = log.Close() }()
	control, err = cluster.Start(context.Background(), cluster.Options{
		ControllerManager: true,
		APIServerFlags: map[string]string{
			"audit-log-path": string(audit), "audit-policy-file": policy, "audit-log-mode": "blocking",
		},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := 1
	if err := install(log); err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = m.Run()
		if err := manager.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "the manager ended with", err)
			code = 1
		}
	}
	if err := control.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if raced, err := os.ReadFile(log.Name()); err == nil && bytes.Contains(raced, []byte("WARNING: DATA RACE")) {
		fmt.Fprintln(os.Stderr, "the manager's log reports a data race:", log.Name())
		code = 1
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	return code
}

func mustRoot() string {
	root, err := cluster.Root()
	if err != nil {
		panic(err)
	}
	if err := os.MkdirAll(filepath.Join(root, "out"), 0o755); err != nil {
		panic(err)
	}
	return root
}

func install(log *os.File) error {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	var err error
	if k8s, err = client.New(control.Config, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	manager, err = operator.Install(context.Background(), control, operator.Options{
		Binary: filepath.Join(mustRoot(), "bin", "mooring-e2e"), Log: log,
		Args: []string{"--catalog-chunk-grace=" + chunkGrace.String()},
		Env:  []string{"GORACE=halt_on_error=0"},
	})
	if err != nil {
		return err
	}
	return manager.Start(context.Background())
}

// restart ends the manager as kill -9 does and starts it again.
func restart(t *testing.T, env ...string) {
	t.Helper()
	manager.Kill()
	if err := manager.Start(context.Background(), env...); err != nil {
		t.Fatal(err)
	}
}

// namespace makes one with an agent's ServiceAccount and Pod in it.
func namespace(t *testing.T, prefix string) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix + "-"}}
	create(t, ns)
	create(t, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "agent"}})
	create(t, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "agent"},
		Spec: corev1.PodSpec{
			ServiceAccountName: "agent",
			Containers:         []corev1.Container{{Name: "agent", Image: "example.com/agent"}},
		},
	})
	return ns.Name
}

func create(t *testing.T, object client.Object) {
	t.Helper()
	if err := k8s.Create(t.Context(), object); err != nil {
		t.Fatalf("create: %v", err)
	}
}

// server makes an McpServer.
func server(t *testing.T, ns, name, url string) {
	t.Helper()
	create(t, &v1alpha1.McpServer{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
		Spec: v1alpha1.McpServerSpec{Transport: v1alpha1.Transport{
			Type:           v1alpha1.TransportStreamableHTTP,
			StreamableHTTP: &v1alpha1.HTTPTransport{URL: url},
		}},
	})
}

// session makes an McpSession of the agent's with servers of the same names.
func session(t *testing.T, ns, name string, servers ...string) *v1alpha1.McpSession {
	t.Helper()
	s := &v1alpha1.McpSession{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
		Spec:       v1alpha1.McpSessionSpec{ServiceAccountName: "agent"},
	}
	for _, server := range servers {
		s.Spec.Servers = append(s.Spec.Servers, v1alpha1.SessionServer{
			Name: server, Ref: v1alpha1.LocalMcpServerReference{Name: server},
		})
	}
	create(t, s)
	return s
}

// eventually polls until fits says nothing more is wrong.
func eventually(t *testing.T, within time.Duration, wrong func() string) {
	t.Helper()
	var last string
	for end := time.Now().Add(within); ; time.Sleep(50 * time.Millisecond) {
		if last = wrong(); last == "" {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("after %s: %s", within, last)
		}
	}
}

// awaitSession waits for a session that fits.
func awaitSession(t *testing.T, ns, name string, within time.Duration, fits func(*v1alpha1.McpSession) bool) *v1alpha1.McpSession {
	t.Helper()
	got := &v1alpha1.McpSession{}
	eventually(t, within, func() string {
		if err := k8s.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: name}, got); err != nil {
			return err.Error()
		}
		if !fits(got) {
			return fmt.Sprintf("session %s: %s", name, conditions(got.Status.Conditions))
		}
		return ""
	})
	return got
}

func ready(s *v1alpha1.McpSession) bool {
	c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady)
	return c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == s.Generation && c.Reason == v1alpha1.ReasonReady
}

func conditions(all []metav1.Condition) string {
	var b strings.Builder
	for _, c := range all {
		fmt.Fprintf(&b, "%s=%s/%s (%s); ", c.Type, c.Status, c.Reason, c.Message)
	}
	return b.String()
}

// deleteNamespace deletes one and waits until it is gone.
func deleteNamespace(t *testing.T, ns string, within time.Duration) time.Duration {
	t.Helper()
	begin := time.Now()
	object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}
	if err := client.IgnoreNotFound(k8s.Delete(t.Context(), object)); err != nil {
		t.Fatal(err)
	}
	eventually(t, within, func() string {
		err := k8s.Get(t.Context(), client.ObjectKeyFromObject(object), object)
		switch {
		case apierrors.IsNotFound(err):
			return ""
		case err != nil:
			return err.Error()
		}
		return fmt.Sprintf("namespace %s is there: %+v", ns, object.Status.Conditions)
	})
	return time.Since(begin)
}
