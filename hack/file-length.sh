#!/usr/bin/env bash
# Copyright The Mooring Authors.
# SPDX-License-Identifier: Apache-2.0

# Lists Go files of more than 400 lines, and fails if there are any. Generated files do not count.
#
# usage: file-length.sh [LIMIT]
set -euo pipefail

limit=${1:-400}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
long=0
while IFS= read -r -d '' file; do
	[[ -f $file ]] || continue # deleted in the work tree
	lines=$(wc -l <"$file")
	((lines > limit)) || continue
	grep -qm1 '^// Code generated .* DO NOT EDIT\.$' "$file" && continue
	echo "$file: $lines lines, of at most $limit: split it by purpose" >&2
	long=1
done < <(git ls-files -z --cached --others --exclude-standard -- '*.go')
exit "$long"
