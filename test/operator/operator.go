// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/mooring-dev/mooring/test/cluster"
)

// Namespace is the operator's own.
const Namespace = "mooring-system"

// Options of a manager process.
type Options struct {
	// Binary is the manager; by default bin/mooring of the repository.
	Binary string
	// Args are added to the defaults, and win over them.
	Args []string
	// Env is added to an otherwise empty environment.
	Env []string
	// Log receives what the process prints; nil drops it.
	Log *os.File
	// LeaderElection runs with a lease.
	LeaderElection bool
}

// Operator is one manager, started and stopped any number of times.
type Operator struct {
	// GatewayURL and HealthURL and MetricsURL are where it serves.
	GatewayURL, HealthURL, MetricsURL string

	options    Options
	kubeconfig string
	args       []string
	cmd        *exec.Cmd
	done       chan struct{}
	err        error
}

// Install applies config/default and gives the manager's ServiceAccount a kubeconfig.
func Install(ctx context.Context, c *cluster.Cluster, options Options) (*Operator, error) {
	root, err := cluster.Root()
	if err != nil {
		return nil, err
	}
	if out, err := Kubectl(ctx, c, "", "apply", "-k", filepath.Join(root, "config", "default")); err != nil {
		return nil, fmt.Errorf("install the operator: %w: %s", err, out)
	}
	if options.Binary == "" {
		options.Binary = filepath.Join(root, "bin", "mooring")
	}
	o := &Operator{options: options}
	if err := o.writeKubeconfig(ctx, c); err != nil {
		return nil, err
	}
	ports, err := freePorts(3)
	if err != nil {
		return nil, err
	}
	address := func(i int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[i])) }
	o.GatewayURL, o.HealthURL, o.MetricsURL = "http://"+address(0), "http://"+address(1), "http://"+address(2)
	o.args = append([]string{
		"--kubeconfig=" + o.kubeconfig, "--gateway-bind-address=" + address(0), "--gateway-url=" + o.GatewayURL,
		"--health-probe-bind-address=" + address(1), "--metrics-bind-address=" + address(2),
		"--leader-elect=" + strconv.FormatBool(options.LeaderElection), "--leader-election-namespace=" + Namespace,
		"--allow-loopback-servers",
	}, options.Args...)
	return o, nil
}

func (o *Operator) writeKubeconfig(ctx context.Context, c *cluster.Cluster) error {
	clients, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		return err
	}
	seconds := int64((24 * time.Hour).Seconds())
	token, err := clients.CoreV1().ServiceAccounts(Namespace).CreateToken(ctx, "mooring", &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("token of the operator: %w", err)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["cluster"] = &clientcmdapi.Cluster{Server: c.Config.Host, CertificateAuthorityData: c.Config.CAData}
	config.AuthInfos["operator"] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	config.Contexts["operator"] = &clientcmdapi.Context{Cluster: "cluster", AuthInfo: "operator", Namespace: Namespace}
	config.CurrentContext = "operator"
	// Beside the cluster's own kubeconfig, so that it goes with the cluster, and so does a process that uses it.
	o.kubeconfig = filepath.Join(filepath.Dir(c.Kubeconfig), fmt.Sprintf("operator-%d.kubeconfig", time.Now().UnixNano()))
	return clientcmd.WriteToFile(*config, o.kubeconfig)
}

// Start runs the manager and returns once it is ready, or says why not.
func (o *Operator) Start(ctx context.Context, env ...string) error {
	o.cmd = exec.Command(o.options.Binary, o.args...) //nolint:noctx // our own binary; it outlives ctx
	o.cmd.Env = append(append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}, o.options.Env...), env...)
	o.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if o.options.Log != nil {
		o.cmd.Stdout, o.cmd.Stderr = o.options.Log, o.options.Log
	}
	if err := o.cmd.Start(); err != nil {
		return fmt.Errorf("start the manager: %w", err)
	}
	done := make(chan struct{})
	o.done = done
	go func(cmd *exec.Cmd) {
		o.err = cmd.Wait()
		close(done)
	}(o.cmd)
	return o.awaitReady(ctx)
}

func (o *Operator) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, o.HealthURL+"/readyz", nil)
		if err != nil {
			return err
		}
		if response, err := http.DefaultClient.Do(request); err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-o.done:
			return fmt.Errorf("the manager ended before it was ready: %w", o.err)
		case <-ctx.Done():
			return errors.New("the manager is not ready in time")
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// PID is the process of the manager.
func (o *Operator) PID() int { return o.cmd.Process.Pid }

// Done is closed when the process has ended.
func (o *Operator) Done() <-chan struct{} { return o.done }

// Kill ends the process as kill -9 does, and waits for it.
func (o *Operator) Kill() {
	if o.cmd == nil {
		return
	}
	_ = o.cmd.Process.Kill()
	<-o.done
}

// Stop asks the process to end, and kills it after half a minute. It returns how the process ended.
func (o *Operator) Stop() error {
	if o.cmd == nil {
		return nil
	}
	_ = o.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-o.done:
		return o.err
	case <-time.After(30 * time.Second):
		o.Kill()
		return errors.New("the manager did not end in time")
	}
}

// Kubectl runs kubectl as the cluster's administrator and returns what it printed.
func Kubectl(ctx context.Context, c *cluster.Cluster, stdin string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, c.Kubectl, append([]string{"--kubeconfig=" + c.Kubeconfig}, args...)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if stdin != "" {
		cmd.Stdin = bytes.NewBufferString(stdin)
	}
	err := cmd.Run()
	return out.String(), err
}

func freePorts(n int) ([]int, error) {
	ports := make([]int, 0, n)
	listeners := make([]net.Listener, 0, n) // all open at a time, so that all ports differ
	defer func() {
		for _, listener := range listeners {
			_ = listener.Close()
		}
	}()
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // nothing to wait for
		if err != nil {
			return nil, err
		}
		listeners = append(listeners, listener)
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port) //nolint:forcetypeassert // a TCP listener's
	}
	return ports, nil
}
