// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

const (
	etcdDir      = "etcd"
	apiServerDir = "kube-apiserver"
	managerName  = "kube-controller-manager"

	// abortInterval is how often a start that was given up kills what envtest, which retries, has started meanwhile.
	abortInterval = 50 * time.Millisecond
	// logTail is how much of each log a failed start quotes.
	logTail = 2 << 10
)

// environment describes etcd and kube-apiserver to envtest. All they write is below c.dir.
func (c *Cluster) environment(found assets, root string, options Options) *envtest.Environment {
	env := &envtest.Environment{
		ControlPlaneStartTimeout: startTimeout,
		// Stop kills the processes before envtest looks at them; this is for systems without /proc.
		ControlPlaneStopTimeout: time.Second,
		CRDDirectoryPaths:       options.CRDPaths,
		ErrorIfCRDPathMissing:   true,
	}
	if options.CRDs {
		env.CRDDirectoryPaths = append(env.CRDDirectoryPaths, filepath.Join(root, "config", "crd", "bases"))
	}
	useExisting := false // an environment variable must not point tests at somebody's cluster
	env.UseExistingCluster = &useExisting

	env.ControlPlane.KubectlPath = found.path("kubectl")
	env.ControlPlane.Etcd = &envtest.Etcd{Path: found.path("etcd"), DataDir: filepath.Join(c.dir, etcdDir)}
	server := env.ControlPlane.GetAPIServer()
	server.Path = found.path("kube-apiserver")
	server.CertDir = filepath.Join(c.dir, apiServerDir)
	// There is nothing behind the "kubernetes" service here, and a loopback address is refused as its endpoint.
	server.Configure().Set("endpoint-reconciler-type", "none")
	for flag, value := range options.APIServerFlags {
		server.Configure().Set(flag, value)
	}
	return env
}

// startEnvironment starts etcd and kube-apiserver and installs the CRDs. envtest takes no context, so a start that is
// given up has its processes killed until envtest has had enough.
func (c *Cluster) startEnvironment(ctx context.Context) error {
	started := make(chan error, 1)
	go func() {
		_, err := c.env.Start()
		started <- err
	}()
	select {
	case err := <-started:
		return err
	case <-ctx.Done():
	}
	ticker := time.NewTicker(abortInterval)
	defer ticker.Stop()
	for {
		select {
		case <-started: //nolint:errcheck // it was interrupted, which is what is told
			return ctx.Err()
		case <-ticker.C:
			if err := killProcessesOf(c.dir, time.Now()); err != nil {
				continue // not gone yet: the next tick looks again
			}
		}
	}
}

// logPath is where a process writes what it has to say.
func (c *Cluster) logPath(options Options, name string) string {
	if options.LogDir != "" {
		return filepath.Join(options.LogDir, name+".log")
	}
	return filepath.Join(c.dir, name+".log")
}

func (c *Cluster) openLog(options Options, name string) (*os.File, error) {
	path := c.logPath(options, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, fmt.Errorf("make the log directory: %w", err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", name, err)
	}
	return file, nil
}

// attachLogs gives etcd and kube-apiserver a file each. The processes inherit the files, so that the returned function
// may close our side as soon as they run.
func (c *Cluster) attachLogs(options Options) (func(), error) {
	etcd, err := c.openLog(options, etcdDir)
	if err != nil {
		return nil, err
	}
	server, err := c.openLog(options, apiServerDir)
	if err != nil {
		return nil, err
	}
	c.env.ControlPlane.Etcd.Out, c.env.ControlPlane.Etcd.Err = etcd, etcd
	c.env.ControlPlane.APIServer.Out, c.env.ControlPlane.APIServer.Err = server, server
	return func() {
		_ = etcd.Close()
		_ = server.Close()
	}, nil
}

// logTails quotes the end of every log, for a start that failed.
func (c *Cluster) logTails(options Options) string {
	var quoted strings.Builder
	for _, name := range []string{etcdDir, apiServerDir, managerName} {
		if tail := readTail(c.logPath(options, name)); tail != "" {
			fmt.Fprintf(&quoted, "\n--- end of the log of %s\n%s", name, tail)
		}
	}
	return quoted.String()
}

func readTail(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }()
	if info, err := file.Stat(); err == nil && info.Size() > logTail {
		if _, err := file.Seek(-logTail, io.SeekEnd); err != nil {
			return ""
		}
	}
	tail, err := io.ReadAll(io.LimitReader(file, logTail))
	if err != nil {
		return ""
	}
	return string(tail)
}
