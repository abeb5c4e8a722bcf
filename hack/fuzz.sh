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

# The end of the time is sometimes reported as a failure of the target: of an input there is no word then.
ran_out() {
	[[ $(grep -A1 -- '^--- FAIL' "$log" | tail -n 1 | tr -d ' ') == contextdeadlineexceeded ]] &&
		! grep -q 'Failing input\|panic:\|DATA RACE' "$log"
}

count=0
while IFS=: read -r file target; do
	# Minimising what is merely interesting may take a minute by default, and end the run as if it had failed.
	if ! go test -run '^$' -fuzz "^$target\$" -fuzztime "${seconds}s" -fuzzminimizetime 100x "./$(dirname "$file")" >"$log" 2>&1 &&
		! ran_out; then
		cat "$log"
		echo "fuzz: $target ($file) failed" >&2
		exit 1
	fi
	execs=$(sed -nE 's/^fuzz: elapsed.*(execs: [0-9]+).*/\1/p' "$log" | tail -n 1)
	printf 'ok  \t%s\t%s %s\n' "$(dirname "$file")" "$target" "$execs"
	count=$((count + 1))
done < <(git grep --untracked -oE '^func Fuzz[A-Za-z0-9_]+' -- '*_test.go' | sed 's/func //')
echo "fuzz: $count targets, ${seconds} s each"
((count > 0))
