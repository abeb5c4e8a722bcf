#!/usr/bin/env bash
# Copyright The Mooring Authors.
# SPDX-License-Identifier: Apache-2.0

# Runs a command and fails if it changed, added or removed any file that Git does not ignore. On a clean tree that means:
# what is committed is what the command makes. Work in progress may lie in the tree.
#
# usage: verify.sh COMMAND [ARGUMENT…]
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# state writes the whole work tree as a Git tree object, through an index of its own.
state() {
	cp "$(git rev-parse --git-path index)" "$dir/index"
	GIT_INDEX_FILE=$dir/index git add --all
	GIT_INDEX_FILE=$dir/index git write-tree
}

before=$(state)
"$@"
after=$(state)
if ! git diff --exit-code --stat "$before" "$after"; then
	echo "These files are not what the sources make of them. Run: $*" >&2
	echo "and commit the result. In full:" >&2
	git --no-pager diff "$before" "$after" | head -n 200 >&2
	exit 1
fi
