// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

// Command demo shows Mooring at work on this machine: a real control plane, the operator, a real MCP server of somebody
// else's, the samples, and one tool call made with a ServiceAccount's token. It cleans up after itself.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/mooring-dev/mooring/test/cluster"
	"github.com/mooring-dev/mooring/test/operator"
	"github.com/mooring-dev/mooring/test/servers"
)

const (
	namespace = "default"
	session   = "demo"
	// everythingPort is the one that the sample McpServer names.
	everythingPort = 3931
)

func main() {
	keep := flag.Bool("keep", false, "leave everything running until Ctrl-C")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := demo(ctx, *keep); err != nil {
		if ctx.Err() != nil {
			say("Interrupted; everything that was started is stopped.")
			os.Exit(130) //nolint:gocritic // stop has nothing left to do
		}
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func say(format string, args ...any) { fmt.Printf(format+"\n", args...) }

// demo runs the story. Whatever it starts, it stops, in the opposite order.
func demo(ctx context.Context, keep bool) (err error) {
	say("1. A control plane: etcd, kube-apiserver, kube-controller-manager")
	c, err := cluster.Start(ctx, cluster.Options{ControllerManager: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()

	say("2. A real MCP server: the everything example of the official Go SDK, over Streamable HTTP")
	server, err := servers.EverythingGo(ctx, everythingPort, nil)
	if err != nil {
		return err
	}
	defer server.Stop()

	say("3. The operator: kubectl apply -k config/default")
	log, err := os.CreateTemp("", "mooring-demo-*.log")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	o, err := operator.Install(ctx, c, operator.Options{Log: log})
	if err != nil {
		return err
	}
	if err := o.Start(ctx); err != nil {
		return fmt.Errorf("%w (its log: %s)", err, log.Name())
	}
	defer func() { err = errors.Join(err, o.Stop(), os.Remove(log.Name())) }()

	if err := show(ctx, c, o); err != nil {
		return fmt.Errorf("%w (the operator's log: %s)", err, log.Name())
	}
	if !keep {
		return nil
	}
	say("\nEverything keeps running until Ctrl-C. Try:\n  export KUBECONFIG=%s\n  %s get mooring -o wide", c.Kubeconfig, c.Kubectl)
	<-ctx.Done()
	return nil
}

// show applies the samples and uses them as a person and an agent would.
func show(ctx context.Context, c *cluster.Cluster, o *operator.Operator) error {
	root, err := cluster.Root()
	if err != nil {
		return err
	}
	say("4. The samples: kubectl apply -k config/samples")
	if _, err := kubectl(ctx, c, "apply", "-k", filepath.Join(root, "config", "samples")); err != nil {
		return err
	}
	for _, wait := range [][]string{
		{"wait", "mcpserver,mcpsession", "--all", "-n", namespace, "--for=condition=Ready", "--timeout=60s"},
		{"wait", "mcptask", "--all", "-n", namespace, "--for=condition=Complete", "--timeout=60s"},
	} {
		if _, err := kubectl(ctx, c, wait...); err != nil {
			return err
		}
	}
	out, err := kubectl(ctx, c, "get", "mooring", "-n", namespace)
	if err != nil {
		return err
	}
	say("\n$ kubectl get mooring\n%s", out)
	out, err = kubectl(ctx, c, "get", "mcpsession", session, "-n", namespace,
		"-o", `jsonpath={range .status.tools[*]}{.name}{"\n"}{end}`)
	if err != nil {
		return err
	}
	say("The session's projected tools, from its status:\n%s", out)
	return call(ctx, c, o)
}

// call is the agent's part: a token for its Pod, and any MCP client.
func call(ctx context.Context, c *cluster.Cluster, o *operator.Operator) error {
	token, err := agentToken(ctx, c)
	if err != nil {
		return err
	}
	url := fmt.Sprintf("%s/v1/namespaces/%s/sessions/%s/mcp", o.GatewayURL, namespace, session)
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	name, text, err := callGreet(ctx, url, token)
	if err != nil {
		return fmt.Errorf("call through the gateway: %w", err)
	}
	say("tools/call %s through %s answers:\n%s", name, url, text)
	return nil
}

func kubectl(ctx context.Context, c *cluster.Cluster, args ...string) (string, error) {
	out, err := operator.Kubectl(ctx, c, "", args...)
	if err != nil {
		return "", fmt.Errorf("kubectl %s: %w: %s", args[0], err, out)
	}
	return out, nil
}
