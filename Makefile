# Needs make and a Python from 3.10 to 3.13, nothing else. Environments are kept in .envs and reused.

PYTHON ?= python3
MATRIX = PYTHONPATH=tests $(PYTHON) -m matrix
SOURCES := $(shell find otel_mcp -name '*.py') pyproject.toml README.md

.DEFAULT_GOAL := help

help:  ## this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

demo: .envs/demo/installed  ## one of each fault, watched live for about 40 seconds
	.envs/demo/bin/otel-mcp demo $(DEMO)

.envs/demo/installed: $(SOURCES)
	$(PYTHON) -m venv .envs/demo
	.envs/demo/bin/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	.envs/demo/bin/python -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps .
	.envs/demo/bin/python -m pip install --quiet --disable-pip-version-check ".[demo,report]"
	touch $@

test:  ## ruff, mypy and the suite on the built wheel: three SDKs on the newest Python here, two on the oldest
	$(MATRIX) $(if $(PYTEST),-- $(PYTEST))

test-matrix:  ## the suite with every Python here and every SDK
	$(MATRIX) --full $(if $(PYTEST),-- $(PYTEST))

test-hosts:  ## every host adapter against its real package, each in its own environment; one: HOST=hermes
	PYTHONPATH=tests $(PYTHON) -m hosts $(HOST) $(if $(PYTEST),--pytest="$(PYTEST)")

faults:  ## each fault of docs/faults.md, without us and with us; writes the table there
	rm -f .envs/faults.jsonl
	FAULTS_SEEN=$(CURDIR)/.envs/faults.jsonl $(MATRIX) --ends -- tests/faults
	PYTHONPATH=tests $(PYTHON) -m faults.page .envs/faults.jsonl

soak:  ## ten minutes of faults, cancellations and teardowns: SOAK_SECONDS=120 in each environment of `test`; one: ONLY=py3.13-mcp2.3
	SOAK_SECONDS=$(or $(SOAK_SECONDS),120) $(MATRIX) $(if $(ONLY),--only $(ONLY)) -- tests/stress tests/faults

bench:  ## every benchmark, into docs/performance.md; one, printed: ONLY=cost, or put there: WRITE=1; LONG=1: a million calls
	PYTHONPATH=tests $(PYTHON) benchmarks $(ONLY) $(if $(LONG),--long) $(if $(QUICK),--quick) $(if $(WRITE),--write)

test-coexistence:  ## beside other instrumentors, each in its own environment; one: PEER=logfire
	PYTHONPATH=tests $(PYTHON) -m coexistence $(PEER) $(if $(PYTEST),--pytest="$(PYTEST)")

test-lowest:  ## the lowest versions that pyproject.toml allows, on the oldest Python here
	PYTHONPATH=tests $(PYTHON) -m bounds lowest $(if $(PYTEST),--pytest="$(PYTEST)")

test-newest:  ## what pip install --upgrade gives today, on the newest Python here
	PYTHONPATH=tests $(PYTHON) -m bounds newest $(if $(PYTEST),--pytest="$(PYTEST)")

check:  ## ruff and mypy only
	$(MATRIX) --check

clean:  ## forget the environments and what was built
	rm -rf .envs build dist

.PHONY: help demo test test-matrix test-hosts test-coexistence test-lowest test-newest faults soak \
	bench check clean
