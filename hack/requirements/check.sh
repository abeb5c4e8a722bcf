#!/usr/bin/env bash
# Copyright The Mooring Authors.
# SPDX-License-Identifier: Apache-2.0

# Lists the requirements of ids.txt that no test names, and fails when there are any. A test names a requirement by its
# id, with or without the dash: CAT-30, TestCAT30ListChanged.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

named=$(git -C ../.. grep --untracked -hoE '(CFG|REG|CON|CAT|CNT|SUB|CALL|RES|CMP|LOG|INS|REC|SEC)-?[0-9]{2}' -- '*_test.go' |
	sed -E 's/([A-Z]+)-?([0-9]+)/\1-\2/' | sort -u)
missing=()
while read -r id why; do
	[[ $id == \#* || -n $why ]] && continue
	grep -qx -- "$id" <<<"$named" || missing+=("$id")
done <ids.txt
((${#missing[@]} == 0)) && exit 0
printf 'requirements: no test names %s\n' "${missing[*]}" >&2
exit 1
