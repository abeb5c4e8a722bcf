#!/usr/bin/env bash
# Copyright The Mooring Authors.
# SPDX-License-Identifier: Apache-2.0

# Runs go test and leaves out the lines about packages without tests.
#
# usage: gotest.sh ARGUMENT…
set -euo pipefail

go test "$@" 2>&1 | { grep -v '\[no test files\]$' || true; }
