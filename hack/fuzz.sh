#!/usr/bin/env bash
# Copyright The Mooring Authors.
# SPDX-License-Identifier: Apache-2.0

# Runs every fuzz target of the module, two at a time; prints one line each, and everything of one that fails. An input
# that fails is written to testdata/fuzz beside its test: commit it with the fix.
#
# usage: fuzz.sh SECONDS SECONDS_OF_THE_REST
#
# Targets of what every foreign byte passes through (framing, events, tool lists, results, names, redaction) get SECONDS.
set -euo pipefail

long=${1:?usage: fuzz.sh SECONDS SECONDS_OF_THE_REST} short=${2:?usage: fuzz.sh SECONDS SECONDS_OF_THE_REST}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
main='(wire/.*:FuzzParse|sse/.*:FuzzReader|catalog/.*:FuzzAddPage|result/.*:Fuzz[A-Za-z]+|naming/.*:FuzzProvider|clean/.*:FuzzRedact)$'

# The end of the time is sometimes reported as a failure of the target: of an input there is no word then.
ran_out() {
	[[ $(grep -A1 -- '^--- FAIL' "$1" | tail -n 1 | tr -d ' ') == contextdeadlineexceeded ]] &&
		! grep -q 'Failing input\|panic:\|DATA RACE' "$1"
}

fuzz() { # file target seconds log
	# Minimising what is merely interesting may take a minute by default, and end the run as if it had failed.
	if ! go test -run '^$' -fuzz "^$2\$" -fuzztime "${3}s" -fuzzminimizetime 100x -parallel 1 "./$(dirname "$1")" </dev/null >"$4" 2>&1 &&
		! ran_out "$4"; then
		cat "$4"
		echo "fuzz: $2 ($1) failed" >&2
		return 1
	fi
	printf 'ok  \t%s\t%s %s s, %s\n' "$(dirname "$1")" "$2" "$3" "$(sed -nE 's/^fuzz: elapsed.*(execs: [0-9]+).*/\1/p' "$4" | tail -n 1)"
}

lane() { # every second line of the list, from the one of this number on
	local n=0 file target seconds
	while IFS=: read -r file target; do
		((n++ % 2 == $1)) || continue
		seconds=$short
		[[ $file:$target =~ $main ]] && seconds=$long
		fuzz "$file" "$target" "$seconds" "$work/$1.log" || return 1
	done <"$work/targets"
}

git grep --untracked -oE '^func Fuzz[A-Za-z0-9_]+' -- '*_test.go' | sed 's/func //' >"$work/all"
{
	grep -E "$main" "$work/all" || true
	grep -vE "$main" "$work/all" || true
} >"$work/targets"
[[ -s $work/targets ]]
lane 0 &
first=$!
lane 1 &
second=$!
status=0
wait "$first" || status=1
wait "$second" || status=1
echo "fuzz: $(wc -l <"$work/targets") targets, $long s each of the main ones, $short s each of the rest"
exit "$status"
