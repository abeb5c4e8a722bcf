// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

var shared *Cluster

// diesVariable makes the test binary a program that starts a control plane, tells its directory and waits to be killed.
const diesVariable = "MOORING_TEST_CLUSTER_DIES"

func TestMain(m *testing.M) {
	if os.Getenv(diesVariable) != "" {
		waitToBeKilled()
	}
	os.Exit(Main(m, Options{ControllerManager: true}, func(c *Cluster) { shared = c }))
}

func clientset(t *testing.T, config *rest.Config) *kubernetes.Clientset {
	t.Helper()
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return clients
}

func newNamespace(t *testing.T, clients *kubernetes.Clientset) string {
	t.Helper()
	namespace, err := clients.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return namespace.Name
}

func newConfigMap(t *testing.T, clients *kubernetes.Clientset, namespace, name string, owners ...metav1.OwnerReference) *corev1.ConfigMap {
	t.Helper()
	made, err := clients.CoreV1().ConfigMaps(namespace).Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owners}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// eventually asks until the answer is yes.
func eventually(t *testing.T, what string, within time.Duration, ask func() (bool, error)) {
	t.Helper()
	begin := time.Now()
	for {
		yes, err := ask()
		switch {
		case err != nil:
			t.Fatalf("%s: %v", what, err)
		case yes:
			t.Logf("%s: after %v", what, time.Since(begin).Round(time.Millisecond))
			return
		case time.Since(begin) > within:
			t.Fatalf("%s: not within %v", what, within)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func gone(err error) (bool, error) {
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	return false, err
}

func TestTokenForAnAudience(t *testing.T) {
	t.Parallel()
	clients := clientset(t, shared.Config)
	namespace := newNamespace(t, clients)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "agent"}}
	if _, err := clients.CoreV1().ServiceAccounts(namespace).Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	audience := "mooring:" + namespace + "/session"
	seconds := int64(600)
	issued, err := clients.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), "agent",
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{audience}, ExpirationSeconds: &seconds}},
		metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	token := issued.Status.Token

	for name, tc := range map[string]struct {
		reason        string
		audiences     []string
		authenticated bool
		want          []string
	}{
		"its own audience": {
			reason:    "the gateway asks for the audience of one session, and must be told that it matched",
			audiences: []string{audience}, authenticated: true, want: []string{audience},
		},
		"another audience": {
			reason:    "a token for one session must not open another",
			audiences: []string{"mooring:" + namespace + "/other"},
		},
		"no audience": {
			reason: "asked for the API server's own audience, a session's token is no credential",
		},
	} {
		t.Run(name, func(t *testing.T) {
			review, err := clients.AuthenticationV1().TokenReviews().Create(t.Context(),
				&authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: tc.audiences}}, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if review.Status.Authenticated != tc.authenticated || !slices.Equal(review.Status.Audiences, tc.want) {
				t.Errorf("%s: got authenticated=%v audiences=%v", tc.reason, review.Status.Authenticated, review.Status.Audiences)
			}
		})
	}

	bearer := rest.AnonymousClientConfig(shared.Config)
	bearer.BearerToken = token
	if _, err := clientset(t, bearer).CoreV1().ConfigMaps(namespace).List(t.Context(), metav1.ListOptions{}); !apierrors.IsUnauthorized(err) {
		t.Errorf("the API server took a token for another audience: %v", err)
	}
}

func TestNamespaceGoesAway(t *testing.T) {
	t.Parallel()
	clients := clientset(t, shared.Config)
	namespace := newNamespace(t, clients)
	newConfigMap(t, clients, namespace, "content")
	eventually(t, "default service account", 30*time.Second, func() (bool, error) {
		_, err := clients.CoreV1().ServiceAccounts(namespace).Get(t.Context(), "default", metav1.GetOptions{})
		absent, err := gone(err)
		return !absent, err
	})
	if err := clients.CoreV1().Namespaces().Delete(t.Context(), namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "namespace gone", time.Minute, func() (bool, error) {
		_, err := clients.CoreV1().Namespaces().Get(t.Context(), namespace, metav1.GetOptions{})
		return gone(err)
	})
}

func TestOwnedObjectGoesWithItsOwner(t *testing.T) {
	t.Parallel()
	clients := clientset(t, shared.Config)
	namespace := newNamespace(t, clients)
	owner := newConfigMap(t, clients, namespace, "owner")
	newConfigMap(t, clients, namespace, "owned", metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID})
	if err := clients.CoreV1().ConfigMaps(namespace).Delete(t.Context(), "owner", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "owned object collected", time.Minute, func() (bool, error) {
		_, err := clients.CoreV1().ConfigMaps(namespace).Get(t.Context(), "owned", metav1.GetOptions{})
		return gone(err)
	})
}

func TestUserHasTheRightsItIsGiven(t *testing.T) {
	t.Parallel()
	admin := clientset(t, shared.Config)
	namespace := newNamespace(t, admin)
	user, err := shared.AddUser("reader-of-"+namespace, "readers")
	if err != nil {
		t.Fatal(err)
	}
	reader := clientset(t, user.Config)
	if _, err := reader.CoreV1().ConfigMaps(namespace).List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Fatalf("a user without any right listed config maps: %v", err)
	}
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "read"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list"}}},
	}
	if _, err := admin.RbacV1().Roles(namespace).Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "read"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "read"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "readers"}},
	}
	if _, err := admin.RbacV1().RoleBindings(namespace).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "right granted", 30*time.Second, func() (bool, error) {
		_, err := reader.CoreV1().ConfigMaps(namespace).List(t.Context(), metav1.ListOptions{})
		if apierrors.IsForbidden(err) {
			return false, nil
		}
		return err == nil, err
	})
}

func TestKubectlWithTheKubeconfig(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), shared.Kubectl, "--kubeconfig", shared.Kubeconfig, "version").CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl version: %v\n%s", err, out)
	}
}

func TestStopLeavesNothing(t *testing.T) {
	t.Parallel()
	c, err := Start(t.Context(), Options{ControllerManager: true})
	if err != nil {
		t.Fatal(err)
	}
	running := processesOf(c.dir)
	if len(running) != 3 {
		t.Errorf("got processes %v, want etcd, kube-apiserver and kube-controller-manager", running)
	}
	// An open watch is what makes a polite stop slow.
	if _, err := clientset(t, c.Config).CoreV1().ConfigMaps("").Watch(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
	t.Logf("stopped after %v", time.Since(begin).Round(time.Millisecond))
	if took := time.Since(begin); took > StopTimeout {
		t.Errorf("Stop took %v", took)
	}
	assertNothingLeft(t, c.dir)
	if err := c.Stop(); err != nil {
		t.Errorf("a second Stop: %v", err)
	}
}

func TestStartGivenUpLeavesNothing(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	t.Setenv("TMPDIR", t.TempDir())
	if c, err := Start(ctx, Options{}); err == nil {
		t.Errorf("a start that was given up succeeded; Stop: %v", c.Stop())
	}
	left, err := os.ReadDir(os.TempDir())
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func waitToBeKilled() {
	c, err := Start(context.Background(), Options{ControllerManager: true})
	if err != nil {
		panic(err)
	}
	_, _ = fmt.Fprintln(os.Stdout, c.dir)
	select {}
}

func TestNothingIsLeftOfAProgramThatIsKilled(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = append(os.Environ(), diesVariable+"=yes")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	dir := strings.TrimSpace(line)
	if running := processesOf(dir); len(running) != 3 {
		t.Errorf("got processes %v, want three", running)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // "signal: killed"
	eventually(t, "guard done", StopTimeout, func() (bool, error) {
		_, err := os.Stat(dir)
		return os.IsNotExist(err) && len(processesOf(dir)) == 0, nil
	})
}

func assertNothingLeft(t *testing.T, dir string) {
	t.Helper()
	if left := processesOf(dir); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", dir, err)
	}
}
