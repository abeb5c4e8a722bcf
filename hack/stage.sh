#!/usr/bin/env bash
# Copyright The Mooring Authors.
# SPDX-License-Identifier: Apache-2.0

# Runs one stage of `make test` within a budget of time, so that a test run that grows slow is noticed the day it does.
#
# usage: stage.sh NAME BUDGET_MINUTES COMMAND [ARGUMENT…]
#
# Prints how long the stage took against its budget. Exits with the command's own status, or with 124 when the budget
# ran out: the command and what it started are then stopped.
set -euo pipefail

if (($# < 3)); then
	echo "usage: $0 NAME BUDGET_MINUTES COMMAND [ARGUMENT…]" >&2
	exit 2
fi
name=$1 budget=$((10#$2 * 60))
shift 2

printf '==> %s\n' "$name"
begin=$SECONDS
# timeout runs the command in a process group of its own: Ctrl-C reaches this script only, and is passed on.
timeout --signal=TERM --kill-after=20 "$budget" "$@" &
child=$!
trap 'kill -TERM "$child" 2>/dev/null || true' INT TERM HUP
status=0
wait "$child" || status=$?
if kill -0 "$child" 2>/dev/null; then # a signal ended the first wait
	wait "$child" || status=$?
fi

verdict=ok
((status == 0)) || verdict="failed (exit status $status)"
((status != 124 && status != 137)) || verdict="out of budget, stopped"
printf '==> %s: %s, %d:%02d of %d:00\n' "$name" "$verdict" \
	$(((SECONDS - begin) / 60)) $(((SECONDS - begin) % 60)) $((budget / 60))
exit "$status"
