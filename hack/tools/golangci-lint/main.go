// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

// Command golangci-lint is golangci-lint with the Kubernetes API linter compiled in. The stock way to add a module
// plugin clones golangci-lint from its Git host; a main package of our own needs nothing but the module proxy, and its
// versions are pinned by go.mod.
package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"github.com/golangci/golangci-lint/v2/pkg/commands"
	"github.com/golangci/golangci-lint/v2/pkg/exitcodes"
	_ "sigs.k8s.io/kube-api-linter" // registers the linter "kubeapilinter" and all its rules
)

const modulePath = "github.com/golangci/golangci-lint/v2"

func main() {
	if err := commands.Execute(buildInfo()); err != nil {
		fmt.Fprintf(os.Stderr, "The command is terminated due to an error: %v\n", err)
		os.Exit(exitcodes.Failure)
	}
}

// buildInfo reports golangci-lint's own version: the main module here is ours, and has none.
func buildInfo() commands.BuildInfo {
	info := commands.BuildInfo{Version: "unknown", Commit: "with kube-api-linter", Date: "(unknown)"}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return info
	}
	info.GoVersion = build.GoVersion
	for _, dep := range build.Deps {
		if dep.Path == modulePath {
			info.Version = strings.TrimPrefix(dep.Version, "v")
		}
	}
	return info
}
