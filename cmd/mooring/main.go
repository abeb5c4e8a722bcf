// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

// Command mooring is the manager: controllers, the sessions' runtime, and the agents' endpoint in one process.
package main

import (
	"flag"
	"fmt"
	"os"

	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

func main() {
	var c config
	c.register(flag.CommandLine)
	flag.Parse()
	if err := c.validate(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	logger := zap.New(zap.JSONEncoder(), zap.Level(zapcore.Level(-c.logLevel))) //nolint:gosec // a small number
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
	if err := run(ctrl.SetupSignalHandler(), &c); err != nil {
		logger.Error(err, "Manager ended")
		os.Exit(1)
	}
}
