// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

// Command cluster starts the control plane of the tests for a person, with Mooring's kinds installed, and prints how to
// reach it. It runs until Ctrl-C.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/mooring-dev/mooring/test/cluster"
)

func main() {
	options := cluster.Options{}
	flag.BoolVar(&options.CRDs, "crds", true, "install the kinds of mcp.mooring.dev")
	flag.BoolVar(&options.ControllerManager, "controller-manager", true,
		"run kube-controller-manager: owned objects are collected, and namespaces go away")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, options)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, options cluster.Options) (err error) {
	c, err := cluster.Start(ctx, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	_, err = fmt.Printf("export KUBECONFIG=%s\n%s get mooring --all-namespaces\n\nThe control plane runs until Ctrl-C.\n",
		c.Kubeconfig, c.Kubectl)
	if err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}
