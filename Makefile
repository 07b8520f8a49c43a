# Nestor's targets. `make help` prints them; everything built or downloaded goes to NESTOR_CACHE, never into the checkout.

NESTOR_CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/nestor
export NESTOR_CACHE
SHELL := /bin/bash
.DEFAULT_GOAL := help

# Debian's interpreter, or any Python ≥ 3.11: PYTHON3=… make …
PYTHON3 ?= python3
VENV := $(NESTOR_CACHE)/venv-$(shell sha256sum requirements/dev.txt | cut -c1-12)
PYTHON := $(VENV)/bin/python
RUN := PYTHONPATH=src:. $(PYTHON)
# The demos need a third of these packages, and do not wait for the others.
DEMO_VENV := $(or $(patsubst %/.ready,%,$(wildcard $(VENV)/.ready)),$(NESTOR_CACHE)/venv-$(shell sha256sum requirements/runtime.txt | cut -c1-12))
RUN_DEMO := PYTHONPATH=src:. $(DEMO_VENV)/bin/python
# Where the environment forbids bytecode, each of pytest's workers would compile all of Nestor and its libraries. Not for what builds images.
PYTEST = PYTHONDONTWRITEBYTECODE= PYTHONPYCACHEPREFIX=$(NESTOR_CACHE)/bytecode $(RUN) -m pytest --junitxml=$(NESTOR_CACHE)/reports/$@.xml
# FULL=1: also the tests that only `make test-full` runs. SINCE=<commit>: those of them in the groups that have changed. GROUP="…": only those groups.
export FULL SINCE GROUP
CHOSEN := $(if $(GROUP),wanted,$(if $(FULL),,not slow or wanted))
# Of a target's runs of pytest, PYTEST_ARGS, SINCE and GROUP may select tests of some alone: 5 says that there were none.
NONE_SELECTED := $(if $(PYTEST_ARGS)$(SINCE)$(GROUP),|| [ $$? -eq 5 ])

.PHONY: help
help: ## Print this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-18s %s\n", $$1, $$2}'

##@ Try it

.PHONY: demo
demo: $(DEMO_VENV)/.ready ## Start a cluster, install Nestor, run hello-world and fetch its page (CLUSTER=embedded|current|kind)
	@$(RUN_DEMO) -m devcluster.demo up

.PHONY: demo-overflow
demo-overflow: $(DEMO_VENV)/.ready ## Run a job that is too large for its nodes: the rest goes to a second cluster and an interLink backend
	@$(RUN_DEMO) -m devcluster.demo overflow

.PHONY: demo-examples
demo-examples: $(DEMO_VENV)/.ready ## Give the demo's cluster what the other examples need: their images, and a StorageClass
	@$(RUN_DEMO) -m devcluster load examples python redis volumes

.PHONY: demo-down
demo-down: $(DEMO_VENV)/.ready ## Remove what the demos started
	@$(RUN_DEMO) -m devcluster.demo down

# Built first, so that no test competes with a compiler; EXTRAS are those of tests/e2e/conftest.py.
EXTRAS := examples python redis volumes
.PHONY: test
test: $(VENV)/.ready ## Run what every change needs, in minutes: lint, types, unit, integration, a core of e2e (SINCE=<commit>: and what changed since)
	@$(RUN) -m devcluster.build images $(EXTRAS) >/dev/null
	@$(HOLD) env $(RUN) -m tests.suite lint types unit go-unit integration core

.PHONY: test-full
test-full: $(VENV)/.ready ## Run every test (GROUP="overflow walls" for those of some areas alone: tests/suite/groups.py)
	@$(RUN) -m devcluster.build images extras argocd >/dev/null
	@$(RUN) -m devcluster.conformance build
	@FULL=1 $(HOLD) env $(RUN) -m tests.suite lint types unit go-unit integration late lifecycle jobs

##@ Develop

.PHONY: lint
lint: $(VENV)/.ready ## Check formatting, style, import directions, dead code, spelling and words
	@$(VENV)/bin/ruff format --check --quiet --diff .
	@$(VENV)/bin/ruff check .
	@PYTHONPATH=src:. $(VENV)/bin/lint-imports --no-cache
	@$(VENV)/bin/vulture
	@$(VENV)/bin/codespell
	@$(RUN) -m tests.prose

.PHONY: format
format: $(VENV)/.ready ## Format the Python code (ruff)
	@$(VENV)/bin/ruff format --quiet .
	@$(VENV)/bin/ruff check --quiet --fix .

.PHONY: types
types: $(VENV)/.ready ## Check types (mypy, strict)
	@MYPY_CACHE_DIR=$(NESTOR_CACHE)/mypy $(VENV)/bin/mypy

.PHONY: unit
unit: $(VENV)/.ready ## Run the tests that need only Python (FULL=1: also the slow ones)
	@$(PYTEST) tests/unit -n 4 -m "$(CHOSEN)" $(PYTEST_ARGS) $(NONE_SELECTED)

.PHONY: go-unit
go-unit: $(VENV)/.ready ## Run the Go tests of the embedded cluster's own programs
	@$(RUN) -m devcluster.build test

.PHONY: integration
integration: $(VENV)/.ready ## Run the tests that need a real API server (FULL=1: also the slow ones)
	@$(RUN) -m devcluster.build binaries
	@$(PYTEST) tests/integration -n 3 --dist loadgroup -m "$(CHOSEN)" $(PYTEST_ARGS) $(NONE_SELECTED)

.PHONY: late
late: $(VENV)/.ready ## Run the integration tests with late watches: of half of the kinds, by SEED, which is the day of the year
	@WATCH_DELAY=$(or $(WATCH_DELAY),0.5) SEED=$(or $(SEED),$(shell date +%j)) $(MAKE) --no-print-directory FULL= integration

.PHONY: core
core: $(VENV)/.ready ## Run those of the e2e tests that every change needs: tests/e2e/core.txt
	@$(HOLD) $(MAKE) --no-print-directory held-core

.PHONY: e2e
e2e: $(if $(filter current kind,$(CLUSTER)),,lifecycle) jobs ## Run the tests that need a cluster: the embedded one's lifecycle, then jobs in it (CLUSTER=embedded|current|kind)

.PHONY: lifecycle
lifecycle: $(VENV)/.ready ## Test how the embedded cluster itself starts, crashes and ends
	@$(HOLD) $(MAKE) --no-print-directory held-lifecycle

.PHONY: jobs
jobs: $(VENV)/.ready ## Run the tests that share a cluster: real pods, nested clusters, HTTP through the Ingress
	@$(HOLD) $(MAKE) --no-print-directory held-jobs

# A machine has one embedded cluster: two runs wait for each other, even from different checkouts.
HOLD := $(RUN) -m devcluster hold --

.PHONY: held-core held-lifecycle held-jobs
held-core:
	@$(if $(SINCE),$(MAKE) --no-print-directory held-lifecycle)
	@$(RUN) -m devcluster down
	@$(TIDY) $(MAKE) --no-print-directory held-chosen $(if $(SINCE),&& $(MAKE) --no-print-directory held-alone)

held-lifecycle:
	@$(RUN) -m devcluster down
	@$(PYTEST) $(LIFECYCLE) $(if $(WANTED),-m wanted) $(PYTEST_ARGS) $(NONE_SELECTED)

held-jobs:
	@$(RUN) -m devcluster down
	@$(TIDY) $(MAKE) --no-print-directory held-shared && $(MAKE) --no-print-directory held-alone

.PHONY: held-chosen held-alone held-shared
WANTED := $(if $(GROUP)$(SINCE), and wanted)
held-chosen:
	@$(SHARE) $(PYTEST) $(JOBS) -m '(core or wanted) and not alone' -n 3 --dist loadgroup $(PYTEST_ARGS) $(NONE_SELECTED)

held-alone:
	@$(SHARE) $(PYTEST) $(JOBS) -m 'alone$(WANTED)' $(PYTEST_ARGS) $(NONE_SELECTED)

held-shared:
	@$(SHARE) $(PYTEST) $(JOBS) -m 'not alone$(WANTED)' -n 2 --dist loadgroup $(PYTEST_ARGS) $(NONE_SELECTED)

# Runs of pytest that share a cluster leave it to the next one; TIDY ends it after the last. `make -n` runs lines with $(MAKE), so not there.
SHARE := NESTOR_KEEP=1
TIDY := $(if $(findstring n,$(firstword -$(MAKEFLAGS))),,[ -n "$$NESTOR_KEEP" ] || trap '$(RUN) -m devcluster down' EXIT;)
JOBS = tests/e2e $(addprefix --ignore=,$(LIFECYCLE))
LIFECYCLE := tests/e2e/devcluster/test_cluster.py tests/e2e/devcluster/test_node_stop.py

.PHONY: chaos
chaos: $(VENV)/.ready ## Have users act and everything fail at random for MINUTES (60), by SEED; ends with 1 if anything is lost, doubled or left
	@$(HOLD) $(MAKE) --no-print-directory held-chaos

.PHONY: held-chaos
held-chaos:
	@$(TIDY) $(RUN) -m tests.chaos --seed=$(or $(SEED),1) --minutes=$(or $(MINUTES),60)

.PHONY: bench-overflow
bench-overflow: $(VENV)/.ready ## Measure overflowed pods, fail if a goal is missed: Nestor's share of their time, memory, calls (NAMES="share size fleet demonstration")
	@$(RUN) -m devcluster.build binaries
	@$(RUN) -m benchmarks.overflow $(NAMES)

.PHONY: conformance
conformance: $(VENV)/.ready ## Run Kubernetes' conformance tests and write docs/evidence/conformance.md (MODE=host|shared CLASS=baseline|privileged TESTS=conformance|netpol FOCUS=… AGAIN=failed|all MINUTES=… PROCESSES=…)
	@$(RUN) -m devcluster.build images >/dev/null
	@$(RUN) -m devcluster.conformance build
	@$(HOLD) $(MAKE) --no-print-directory held-conformance

.PHONY: held-conformance
held-conformance:
	@$(TIDY) $(RUN) -m devcluster.conformance run --mode=$(or $(MODE),shared) --class-name=$(or $(CLASS),baseline) \
	  --tests=$(or $(TESTS),conformance) --focus='$(FOCUS)' --again='$(AGAIN)' --minutes=$(or $(MINUTES),0) --processes=$(or $(PROCESSES),6)

.PHONY: bench
bench: $(VENV)/.ready ## Measure pods of nested clusters, fail if a goal is missed; jobs of the embedded cluster (NAMES="starts size life creation churn logs jobs", SECONDS_OF_CHURN=600, COUNT=30 AT_ONCE="1 2 4 8")
	@$(RUN) -m devcluster.build binaries
	@$(HOLD) env $(RUN) -m benchmarks.nested $(NAMES)

.PHONY: scale
scale: $(VENV)/.ready ## Measure one operator with RUNNING (1000) and SUSPENDED (5000) jobs, their nodes and nested clusters played
	@$(RUN) -m devcluster.build binaries
	@$(RUN) -m benchmarks.scale --running=$(or $(RUNNING),1000) --suspended=$(or $(SUSPENDED),5000)

.PHONY: crds
crds: $(VENV)/.ready ## Generate crds/, the chart's copy and docs/reference from the models
	@$(RUN) -m nestor.api.crd crds
	@$(RUN) -m tests.reference

.PHONY: docs
docs: $(VENV)/.ready ## Build the documentation as a site, without dead links
	@NO_MKDOCS_2_WARNING=1 $(RUN) -m mkdocs build --quiet --site-dir $(NESTOR_CACHE)/docs
	@echo "$(NESTOR_CACHE)/docs/index.html; its search needs a server: $(PYTHON) -m http.server -d $(NESTOR_CACHE)/docs"

.PHONY: image
image: $(VENV)/.ready ## Build Nestor's image from the Dockerfile
	@$(RUN) -m devcluster.build image

.PHONY: sbom
sbom: $(VENV)/.ready ## Write what the image consists of, as CycloneDX, to FILE (sbom.cdx.json in the cache)
	@$(RUN) -m devcluster.build.sbom > $(or $(FILE),$(NESTOR_CACHE)/sbom.cdx.json)
	@echo $(or $(FILE),$(NESTOR_CACHE)/sbom.cdx.json)

.PHONY: release
release: $(VENV)/.ready ## Make all files of a release from a clean checkout, in FOLDER (below the cache); publishes nothing (WHAT="chart single schemas")
	@command -v helm >/dev/null || $(RUN) -m devcluster.build binaries
	@$(if $(FOLDER),,rm -rf "$(RELEASE)")
	@NO_MKDOCS_2_WARNING=1 $(RUN) -m devcluster.release "$(RELEASE)" $(WHAT)

RELEASE = $(or $(FOLDER),$(NESTOR_CACHE)/release)

.PHONY: cluster-up
cluster-up: $(VENV)/.ready ## Start only the embedded cluster
	@$(RUN) -m devcluster up

.PHONY: cluster-down
cluster-down: $(VENV)/.ready ## Stop the embedded cluster
	@$(RUN) -m devcluster down

.PHONY: lock
lock: $(VENV)/.ready ## Pin the dependencies of pyproject.toml again, with hashes and without index addresses
	@$(PYTHON) -m uv pip compile -q --upgrade --generate-hashes --no-emit-index-url --no-header --python-version 3.11 pyproject.toml -o requirements/runtime.txt
	@$(PYTHON) -m uv pip compile -q --upgrade --generate-hashes --no-emit-index-url --no-header --python-version 3.11 --extra cli --extra dev pyproject.toml -o requirements/dev.txt

# No prerequisites: the folder's name identifies its requirements, and a fresh checkout's files are newer than any cache.
$(NESTOR_CACHE)/venv-%/.ready:
	@echo "Setting up Python in $(@D)"
	@$(PYTHON3) -c 'import ensurepip' 2>/dev/null || { apt-get update -qq && apt-get install -y -qq --no-install-recommends python3-venv; }
	@rm -rf $(@D) && $(PYTHON3) -m venv $(@D)
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes \
	  -r requirements/$(if $(filter $(VENV),$(@D)),dev,runtime).txt
	@touch $@
