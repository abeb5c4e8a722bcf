// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// controllers are the parts of kube-controller-manager that have something to do without nodes.
var controllers = []string{
	"clusterrole-aggregation-controller",
	"garbage-collector-controller",
	"namespace-controller",
	"root-ca-certificate-publisher-controller",
	"serviceaccount-controller",
	"serviceaccount-token-controller",
}

var errManagerExited = errors.New("kube-controller-manager exited")

// controllerManager is the running process. It has one owner, the Cluster.
type controllerManager struct {
	cmd    *exec.Cmd
	exited chan struct{} // closed when the process has been waited for
}

// startControllerManager starts the process and waits until its service-account controller works.
func (c *Cluster) startControllerManager(ctx context.Context, options Options) error {
	log, err := c.openLog(options, managerName)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()

	certs := filepath.Join(c.dir, apiServerDir)
	// The process must outlive ctx, and Stop ends it.
	cmd := exec.Command(filepath.Join(filepath.Dir(c.Kubectl), managerName), //nolint:noctx // see above
		"--kubeconfig="+c.Kubeconfig,
		"--controllers="+strings.Join(controllers, ","),
		"--service-account-private-key-file="+filepath.Join(certs, "sa-signer.key"),
		"--root-ca-file="+filepath.Join(certs, "apiserver.crt"),
		"--leader-elect=false",
		"--secure-port=0", // serves nothing: no port to find, none to leave open
		"--kube-api-qps=200",
		"--kube-api-burst=400",
		"--profiling=false",
	)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C at the terminal is for us to handle
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start kube-controller-manager: %w", err)
	}
	manager := &controllerManager{cmd: cmd, exited: make(chan struct{})}
	go func() {
		defer close(manager.exited)
		_ = cmd.Wait() // killed at Stop, or reported by its log
	}()
	c.mu.Lock()
	c.manager = manager
	c.mu.Unlock()
	return c.waitForServiceAccount(ctx, manager)
}

func (c *Cluster) waitForServiceAccount(ctx context.Context, manager *controllerManager) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	direct, err := client.New(c.Config, client.Options{})
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	name := types.NamespacedName{Namespace: corev1.NamespaceDefault, Name: "default"}
	for {
		err := direct.Get(ctx, name, &corev1.ServiceAccount{})
		switch {
		case err == nil:
			return nil
		case !apierrors.IsNotFound(err):
			return fmt.Errorf("wait for kube-controller-manager: %w", err)
		}
		select {
		case <-ticker.C:
		case <-manager.exited:
			return errManagerExited
		case <-ctx.Done():
			return fmt.Errorf("wait for kube-controller-manager: %w", ctx.Err())
		}
	}
}

// kill ends the process and waits until it is gone: it holds nothing that is worth an orderly end.
func (m *controllerManager) kill() {
	_ = m.cmd.Process.Kill() // an error says that it is gone already
	<-m.exited
}
