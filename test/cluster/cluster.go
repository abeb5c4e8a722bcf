// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

const (
	// StopTimeout bounds Stop.
	StopTimeout = 10 * time.Second
	// startTimeout bounds the start of one process. It is generous, for test packages start side by side while the
	// compiler still has the processors.
	startTimeout = time.Minute
	// clientQPS and clientBurst are those of the clients given out: tests have no reason to be polite.
	clientQPS, clientBurst = 1000, 2000
)

// Options says what Start brings up. The zero value is etcd and kube-apiserver alone.
type Options struct {
	// CRDs installs what is in config/crd/bases of the repository.
	CRDs bool
	// CRDPaths are further files or directories with CRDs to install; a path that does not exist is an error.
	CRDPaths []string
	// ControllerManager runs kube-controller-manager: owner references are collected, a namespace that is deleted goes
	// away, and a new namespace gets its default service account and root certificate.
	ControllerManager bool
	// APIServerFlags are set on kube-apiserver in place of the defaults, as in {"max-requests-inflight": "10"}.
	APIServerFlags map[string]string
	// LogDir keeps the logs of the processes there; without it they go with the other files at Stop.
	LogDir string
}

// Cluster is one running control plane.
type Cluster struct {
	// Config authenticates as a cluster administrator.
	Config *rest.Config
	// Kubeconfig is the path of a kubeconfig file for the same administrator. Stop removes it.
	Kubeconfig string
	// Kubectl is the path of a kubectl of the control plane's version.
	Kubectl string

	dir  string // holds everything that the processes write, and names them: see processesOf
	env  *envtest.Environment
	exit *exitGuard

	mu      sync.Mutex
	manager *controllerManager
	stopped bool
}

// User is one identity at the API server, without any right until RBAC grants some.
type User struct {
	Config     *rest.Config
	Kubeconfig []byte
}

// Start brings the control plane up and returns when it serves. See the package comment for lifetime and ordering.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	c, err := prepare(options)
	if err != nil {
		return nil, err
	}
	if err := c.start(ctx, options); err != nil {
		err = fmt.Errorf("start the control plane: %w%s", err, c.logTails(options))
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

// prepare lays out the files and the environment, and starts nothing.
func prepare(options Options) (*Cluster, error) {
	root, err := Root()
	if err != nil {
		return nil, err
	}
	binaries := []string{"etcd", "kube-apiserver", "kubectl"}
	if options.ControllerManager {
		binaries = append(binaries, "kube-controller-manager")
	}
	found, err := findAssets(root, binaries)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "mooring-cluster-")
	if err != nil {
		return nil, fmt.Errorf("make a directory for the control plane: %w", err)
	}
	c := &Cluster{dir: dir, Kubeconfig: filepath.Join(dir, "kubeconfig"), Kubectl: found.path("kubectl")}
	for _, sub := range []string{etcdDir, apiServerDir} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			return nil, errors.Join(fmt.Errorf("make a directory for the control plane: %w", err), os.RemoveAll(dir))
		}
	}
	c.env = c.environment(found, root, options)
	return c, nil
}

func (c *Cluster) start(ctx context.Context, options Options) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	exit, err := startExitGuard(c.dir)
	if err != nil {
		return err
	}
	c.exit = exit
	closeLogs, err := c.attachLogs(options)
	if err != nil {
		return err
	}
	err = c.startEnvironment(ctx)
	closeLogs()
	if err != nil {
		return err
	}
	c.Config = c.env.Config
	if err := os.WriteFile(c.Kubeconfig, c.env.KubeConfig, 0o600); err != nil {
		return fmt.Errorf("write the kubeconfig: %w", err)
	}
	if options.ControllerManager {
		return c.startControllerManager(ctx, options)
	}
	return nil
}

// AddUser makes an identity with a client certificate. Groups "system:masters" may do everything; any other needs RBAC.
func (c *Cluster) AddUser(name string, groups ...string) (User, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	user, err := c.env.AddUser(envtest.User{Name: name, Groups: groups}, &rest.Config{QPS: clientQPS, Burst: clientBurst})
	if err != nil {
		return User{}, fmt.Errorf("add user %q: %w", name, err)
	}
	kubeconfig, err := user.KubeConfig()
	if err != nil {
		return User{}, fmt.Errorf("write the kubeconfig of user %q: %w", name, err)
	}
	return User{Config: user.Config(), Kubeconfig: kubeconfig}, nil
}

// Stop kills the control plane and removes its files. Only the first call does anything.
func (c *Cluster) Stop() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return nil
	}
	c.stopped = true
	deadline := time.Now().Add(StopTimeout)
	if c.manager != nil {
		c.manager.kill()
	}
	errs := []error{killProcessesOf(c.dir, deadline), c.env.Stop()}
	if c.exit != nil {
		errs = append(errs, c.exit.release())
	}
	if err := os.RemoveAll(c.dir); err != nil {
		errs = append(errs, fmt.Errorf("remove the files of the control plane: %w", err))
	}
	return errors.Join(errs...)
}
