#!/usr/bin/env bash
# Copyright The Mooring Authors.
# SPDX-License-Identifier: Apache-2.0

# Builds the control plane that tests and the demo run: etcd, kube-apiserver, kube-controller-manager and kubectl, from
# Go modules. Only what is missing is built.
#
# usage: build.sh [--version | DIR]
#
# Prints the directory of the binaries on stdout, everything else on stderr. DIR defaults to .cache/controlplane/VERSION
# in the repository. Where KUBEBUILDER_ASSETS already has all four binaries, that directory is used as it is. The version
# is that of k8s.io/kubernetes in go.mod beside this file: nowhere else.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
names=(etcd kube-apiserver kube-controller-manager kubectl)

log() { printf '%s\n' "controlplane: $*" >&2; }

version=$(sed -n 's/^[[:space:]]*k8s\.io\/kubernetes \(v[0-9][^ ]*\).*/\1/p' "$here/go.mod")
if [[ -z $version ]]; then
	log "hack/controlplane/go.mod does not name k8s.io/kubernetes"
	exit 1
fi
if [[ ${1:-} == --version ]]; then
	printf '%s\n' "$version"
	exit 0
fi

has_all() {
	local name
	for name in "${names[@]}"; do
		[[ -x $1/$name ]] || return 1
	done
}

if [[ -n ${KUBEBUILDER_ASSETS:-} ]]; then
	if has_all "$KUBEBUILDER_ASSETS"; then
		log "using KUBEBUILDER_ASSETS=$KUBEBUILDER_ASSETS as it is"
		printf '%s\n' "$KUBEBUILDER_ASSETS"
		exit 0
	fi
	log "KUBEBUILDER_ASSETS=$KUBEBUILDER_ASSETS lacks one of: ${names[*]}; building instead"
fi

dir=${1:-$root/.cache/controlplane/$version}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)

# Two builds at once would do the same work twice and leave both half as fast; the second waits, and finds it done.
if command -v flock >/dev/null; then
	exec 9>"$dir/.lock"
	if ! flock --nonblock 9; then
		log "another build is under way in $dir; waiting for it"
		flock 9
	fi
fi

package_of() {
	case $1 in
	etcd) printf '%s\n' go.etcd.io/etcd/server/v3 ;;
	*) printf '%s\n' "k8s.io/kubernetes/cmd/$1" ;;
	esac
}

# Without a version kubectl cannot read the server's, and the API server serves none.
minor=${version#v1.}
minor=${minor%%.*}
ldflags="-s -w"
for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
	ldflags+=" -X $package.gitVersion=$version -X $package.gitMajor=1 -X $package.gitMinor=$minor"
	ldflags+=" -X $package.gitTreeState=clean"
done

# A file appears under its own name only when it is whole: an interrupted build leaves nothing that looks finished.
partial=
trap '[[ -z $partial ]] || rm -f "$partial"' EXIT

build() {
	local name=$1 begin=$SECONDS
	log "building $name ($version); the first build on a machine takes minutes"
	partial=$dir/.$name.$$
	(cd "$here" && CGO_ENABLED=0 go build -trimpath -ldflags "$ldflags" -o "$partial" "$(package_of "$name")") >&2
	mv "$partial" "$dir/$name"
	partial=
	log "built $name in $((SECONDS - begin)) s"
}

for name in "${names[@]}"; do
	[[ -x $dir/$name ]] || build "$name"
done
printf '%s\n' "$dir"
