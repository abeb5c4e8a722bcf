// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// assetsVariable names the directory with the binaries, as it does for envtest.
const assetsVariable = "KUBEBUILDER_ASSETS"

var errNoAssets = errors.New("no control plane binaries: run `make controlplane`")

// kubernetesVersion finds the version that hack/controlplane builds, in the one place where it is written.
var kubernetesVersion = regexp.MustCompile(`(?m)^\s*k8s\.io/kubernetes (v\S+)`)

// assets is a directory that holds the binaries of one Kubernetes version.
type assets string

func (a assets) path(binary string) string { return filepath.Join(string(a), binary) }

func (a assets) lacks(binaries []string) []string {
	return slices.DeleteFunc(slices.Clone(binaries), func(name string) bool {
		info, err := os.Stat(a.path(name))
		return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
	})
}

// findAssets prefers the directory the environment names, when that has all that is needed, over the one that
// `make controlplane` fills: the same order as hack/controlplane/build.sh. Versions are never mixed.
func findAssets(root string, binaries []string) (assets, error) {
	if dir := os.Getenv(assetsVariable); dir != "" && len(assets(dir).lacks(binaries)) == 0 {
		return assets(dir), nil
	}
	version, err := Version(root)
	if err != nil {
		return "", err
	}
	found := assets(filepath.Join(root, ".cache", "controlplane", version))
	if lacking := found.lacks(binaries); len(lacking) > 0 {
		return "", fmt.Errorf("%w (%s lacks %s)", errNoAssets, found, strings.Join(lacking, ", "))
	}
	return found, nil
}

// Version returns the Kubernetes version that `make controlplane` builds, as in "v1.37.2".
func Version(root string) (string, error) {
	mod, err := os.ReadFile(filepath.Join(root, "hack", "controlplane", "go.mod"))
	if err != nil {
		return "", fmt.Errorf("read the version of the control plane: %w", err)
	}
	match := kubernetesVersion.FindSubmatch(mod)
	if match == nil {
		return "", errors.New("read the version of the control plane: hack/controlplane/go.mod does not name k8s.io/kubernetes")
	}
	return string(match[1]), nil
}

// Root returns the top directory of the repository: the nearest directory, from the working directory upwards, that
// holds hack/controlplane/go.mod. Tests run in the directory of their package, commands wherever they are started.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the repository: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "hack", "controlplane", "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("find the repository: the working directory is not inside it")
		}
		dir = parent
	}
}
