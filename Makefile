# Copyright The Mooring Authors.
# SPDX-License-Identifier: Apache-2.0

# `make help` lists the targets. Each installs what it needs: Go, Node.js with npm, a C compiler (for the race detector)
# and, for the first build, the network are all that must be there.

SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# The Go tool uses all processors itself. One thing at a time keeps the output in order and the time budgets honest.
.NOTPARALLEL:

TOOLS := .cache/tools
CONTROLLER_GEN := $(TOOLS)/controller-gen
GOLANGCI_LINT := $(TOOLS)/golangci-lint
KUSTOMIZE := $(TOOLS)/kustomize
# The version is stamped below; without this flag a build fails where Git does not trust the owner of the clone.
export GOFLAGS := $(GOFLAGS) -buildvcs=false
export GOLANGCI_LINT_CACHE := $(CURDIR)/.cache/golangci-lint

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -X main.version=$(VERSION)

# What runs without a control plane, and what starts one.
UNIT := ./api/... ./cmd/... ./internal/... ./hack/...
FAULTS := ./test/hostile/...
ENVTEST := ./test/cluster/... ./test/envtest/...
E2E := ./test/e2e/...
INTEROP := ./test/interop/...

# hack/stage.sh NAME MINUTES COMMAND: the command fails when it takes longer than that.
STAGE := hack/stage.sh
# Seconds of each main fuzz target, and of each other one.
FUZZ_SECONDS ?= 60
FUZZ_SECONDS_REST ?= 5

##@ Use it

.PHONY: help
help: ## Show this list
	@awk 'BEGIN {FS = ":.*##"} \
		/^##@/ {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z0-9-]+:.*##/ {printf "  %-14s%s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: controlplane bin/mooring bin/everything bin/demo ## Watch one session from kubectl apply to a tool call (KEEP=1 keeps it running)
	@bin/demo $(if $(KEEP),-keep)

.PHONY: cluster
cluster: controlplane bin/cluster ## Start a control plane and print its kubeconfig; Ctrl-C ends it
	@bin/cluster

.PHONY: build
build: bin/mooring bin/mooring-bridge bin/everything ## Build the operator, its bridge, and the MCP server of the demo, into bin

##@ Change it

.PHONY: generate
generate: $(CONTROLLER_GEN) ## Generate deep copies and apply configurations
	@$(CONTROLLER_GEN) object:headerFile=hack/boilerplate.go.txt applyconfiguration:headerFile=hack/boilerplate.go.txt \
		paths=./api/v1alpha1

.PHONY: manifests
manifests: $(CONTROLLER_GEN) ## Generate the CRDs, the field tables of docs/reference and the manager's role
	@$(CONTROLLER_GEN) crd paths=./api/v1alpha1 output:crd:artifacts:config=config/crd/bases
	@go test ./api/v1alpha1 -run '^TestReferencePages$$' -update >/dev/null
	@$(CONTROLLER_GEN) rbac:roleName=mooring-manager paths=./internal/... output:rbac:artifacts:config=config/rbac

.PHONY: fmt
fmt: $(GOLANGCI_LINT) ## Format the Go code
	@$(GOLANGCI_LINT) fmt

.PHONY: tidy
tidy: ## Tidy go.mod of Mooring and of what its build pins
	@go mod tidy
	@go -C test/servers/everything mod tidy
	@go -C hack/tools mod tidy

.PHONY: clean
clean: ## Remove what was built; the control plane and the tools stay in .cache
	@rm -rf bin out

##@ Test it

.PHONY: test
test: builds lint verify unit faults envtest interop e2e conformance fuzz ## Run everything that CI runs

.PHONY: builds
builds:
	@$(STAGE) controlplane 12 $(MAKE) --no-print-directory controlplane
	@$(STAGE) builds 12 $(MAKE) --no-print-directory tools build bin/mooring-e2e bin/everything-server \
		test/e2e/node_modules test/conformance/node_modules race

.PHONY: lint
lint: $(GOLANGCI_LINT) $(KUSTOMIZE) ## Check style, the arrows between packages, the API's conventions and file lengths
	@$(STAGE) lint 6 $(MAKE) --no-print-directory lint-all

.PHONY: lint-all
lint-all:
	@hack/file-length.sh
	@$(KUSTOMIZE) build config/default >/dev/null
	@$(KUSTOMIZE) build config/samples >/dev/null
	@$(GOLANGCI_LINT) run

.PHONY: requirements
requirements: ## List the requirements that no test names
	@hack/requirements/check.sh

.PHONY: verify
verify: $(CONTROLLER_GEN) ## Check that what is generated, and go.mod, is what is committed
	@$(STAGE) verify 4 hack/verify.sh $(MAKE) --no-print-directory generate manifests tidy

.PHONY: unit
unit: ## Run the tests that need no control plane
	@$(STAGE) unit 5 hack/gotest.sh -race -timeout 5m $(UNIT)

.PHONY: faults
faults: ## Run the runtime against servers that fail and attack (MOORING_CYCLES=10000 for the long run)
	@$(STAGE) faults 5 hack/gotest.sh -race -timeout 60m $(FAULTS)

.PHONY: envtest
envtest: controlplane ## Run the tests on a real kube-apiserver
	@$(STAGE) envtest 10 hack/gotest.sh -race -timeout 10m $(ENVTEST)

.PHONY: e2e
e2e: controlplane bin/mooring-e2e bin/everything bin/everything-server test/e2e/node_modules ## Run the operator as a process, with real MCP servers
	@$(STAGE) end-to-end 15 hack/gotest.sh -race -tags e2e -timeout 15m -count=1 $(E2E)

.PHONY: interop
interop: test/e2e/node_modules ## Run the runtime against real MCP servers, by HTTP, SSE and the stdio bridge
	@$(STAGE) interop 5 hack/gotest.sh -race -tags e2e -timeout 5m -count=1 $(INTEROP)

.PHONY: conformance
conformance: bin/everything-server test/conformance/node_modules ## Run the protocol's own suite against the runtime and the gateway
	@$(STAGE) conformance 6 test/conformance/run.sh

.PHONY: fuzz
fuzz: ## Run each main fuzz target for FUZZ_SECONDS (60), the others for FUZZ_SECONDS_REST (5)
	@$(STAGE) fuzz 6 hack/fuzz.sh $(FUZZ_SECONDS) $(FUZZ_SECONDS_REST)

.PHONY: bench
bench: ## Run the benchmarks
	@go test -run '^$$' -bench . -benchmem -benchtime 1x ./test/bench/...
	@go test -run '^$$' -bench . -benchmem $(UNIT) | grep -v 'no test files'

##@ What the targets above build first

.PHONY: tools
tools: $(CONTROLLER_GEN) $(GOLANGCI_LINT) $(KUSTOMIZE) ## Build the development tools
	@:

.PHONY: controlplane
controlplane: ## Build etcd, kube-apiserver, kube-controller-manager and kubectl; minutes the first time, then nothing
	@hack/controlplane/build.sh >/dev/null

# The dependencies with the race detector, so that the budgets of the tests are for tests.
.PHONY: race
race:
	@go build -race $(UNIT) ./test/...

$(CONTROLLER_GEN): hack/tools/go.mod hack/tools/go.sum
	@echo "tools: building controller-gen"
	@go -C hack/tools build -p 2 -o ../../$@ sigs.k8s.io/controller-tools/cmd/controller-gen

$(GOLANGCI_LINT): hack/tools/go.mod hack/tools/go.sum $(wildcard hack/tools/golangci-lint/*.go)
	@echo "tools: building golangci-lint with kube-api-linter"
	@go -C hack/tools build -p 2 -o ../../$@ ./golangci-lint

$(KUSTOMIZE): hack/tools/go.mod hack/tools/go.sum
	@echo "tools: building kustomize"
	@go -C hack/tools build -p 2 -o ../../$@ sigs.k8s.io/kustomize/kustomize/v5

# The Go tool knows better than make what is out of date.
.PHONY: bin/mooring bin/mooring-bridge bin/mooring-e2e bin/everything bin/everything-server bin/demo bin/cluster
bin/mooring bin/mooring-bridge: bin/%:
	@echo "build: $@"
	@CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o $@ ./cmd/$*

bin/mooring-e2e:
	@echo "build: $@"
	@go build -race -tags failpoints -ldflags '$(LDFLAGS)' -o $@ ./cmd/mooring

bin/everything:
	@echo "build: $@"
	@CGO_ENABLED=0 go -C test/servers/everything build -trimpath -o ../../../$@ \
		github.com/modelcontextprotocol/go-sdk/examples/server/everything

bin/everything-server:
	@echo "build: $@"
	@CGO_ENABLED=0 go -C test/servers/everything build -trimpath -o ../../../$@ \
		github.com/modelcontextprotocol/go-sdk/conformance/everything-server

bin/demo bin/cluster: bin/%:
	@echo "build: $@"
	@go build -o $@ ./hack/$*

test/e2e/node_modules test/conformance/node_modules: %/node_modules: %/package.json %/package-lock.json
	@echo "npm: $*"
	@npm --prefix $* ci --no-audit --no-fund --loglevel=error >/dev/null
	@touch $@
