#!/usr/bin/env bash
# Copyright The Mooring Authors.
# SPDX-License-Identifier: Apache-2.0

# Runs every fuzz target of the module for a while; prints one line each, and everything when one fails. An input that
# fails is written to testdata/fuzz beside its test: commit it with the fix.
#
# usage: fuzz.sh SECONDS_EACH
set -euo pipefail

seconds=${1:?usage: fuzz.sh SECONDS_EACH}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
log=$(mktemp)
trap 'rm -f "$log"' EXIT

count=0
while IFS=: read -r file target; do
	if ! go test -run '^$' -fuzz "^$target\$" -fuzztime "${seconds}s" "./$(dirname "$file")" >"$log" 2>&1; then
		cat "$log"
		echo "fuzz: $target ($file) failed" >&2
		exit 1
	fi
	printf 'ok  \t%s %s\t%s\n' "$target" "$(dirname "$file")" "$(grep '^fuzz: elapsed' "$log" | tail -n 1 | cut -d, -f2)"
	count=$((count + 1))
done < <(git grep --untracked -oE '^func Fuzz[A-Za-z0-9_]+' -- '*_test.go' | sed 's/func //')
echo "fuzz: $count targets, ${seconds} s each"
((count > 0))
