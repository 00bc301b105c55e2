# `make run` and `make test` need Python 3.11 or newer and nothing else: they make .venv and install into it.

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

export PYTHONDONTWRITEBYTECODE :=  # tests start hundreds of interpreters, which would all compile the same modules
MAKEFLAGS += --jobs=3  # the checks, and what only the tests need, side by side
WORKERS := $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) * 3 / 2 + 1)))  # many tests wait for processes

.PHONY: help run test test-all quick quick-tests check lint types-Linux types-Windows types-Darwin format bench fuzz simulate docs screenshots clean

help:  ## Show this.
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

run: .venv/.runtime  ## Start everything on this machine, and have an Agent show you around.
	$(BIN)/a2c up --tour $(ARGS)

test: check .venv/.javascript .venv/.environments .venv/.programs  ## Check the code, then run every test.
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

test-all: check .venv/.javascript .venv/.environments .venv/.programs .venv/.ocr  ## The same with text recognition.
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

quick: lint types-Linux quick-tests  ## Lint, types, and the tests without processes and network, in less than a minute.

quick-tests: .venv/.development
	$(BIN)/python -m pytest -n logical --quick $(ARGS)

check: lint types-Linux types-Windows types-Darwin  ## Lint, formatting, types on Linux, Windows and macOS.

lint: .venv/.development
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types-Linux: .venv/.development
	$(BIN)/pyright --pythonplatform Linux

# Only what users run: tests and benchmarks may need POSIX.
types-Windows types-Darwin: types-%: .venv/.development
	$(BIN)/pyright --pythonplatform $* a2c_smcp a2c_documents

format: .venv/.development  ## Format the code and mend what can be mended.
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/.development  ## Measure the Server against a bare relay.
	$(BIN)/python -m benchmarks $(ARGS)

fuzz: .venv/.development  ## Send random and mutated frames to the wire core; ARGS=0 for ever.
	$(BIN)/python -m tests.wire.fuzzing $(or $(ARGS),1000000)

simulate: .venv/.development  ## Run random histories of a cluster; ARGS="--seeds 100000" for as many as you like.
	$(BIN)/python -m tests.simulation $(ARGS)

docs: .venv/.docs  ## Write docs/reference/ from the code, and build site/; ARGS=serve shows it while you write.
	$(BIN)/python -m scripts.docs_reference
	$(BIN)/python -m scripts.docs_terminal
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs $(or $(ARGS),build)

screenshots: .venv/.programs  ## Photograph the pages of the console for the docs; see scripts/docs_console.py for ARGS.
	$(BIN)/python -m scripts.docs_console $(ARGS)

clean:  ## Remove what the other commands made.
	rm -rf .venv site tests/js/node_modules .pytest_cache .ruff_cache .hypothesis

.venv/bin/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed (make PYTHON=/path/to/python)" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(PIP) install --upgrade 'pip>=25.1'

.venv/.runtime: .venv/bin/python pyproject.toml constraints.txt
	@echo "installing into .venv, which takes a minute the first time …"
	$(PIP) install --constraint constraints.txt --editable '.[documents]'
	@touch $@

.venv/.docs: .venv/.runtime
	$(PIP) install --constraint constraints.txt --group docs
	@touch $@

.venv/.development: .venv/.runtime
	$(PIP) install --constraint constraints.txt --group dev
	@touch $@

.venv/.ocr: .venv/.development
	$(PIP) install --constraint constraints.txt --editable '.[documents,ocr]'
	@touch $@

.venv/.javascript: .venv/.development tests/js/package.json
	$(BIN)/python scripts/js_dependencies.py
	@touch $@

.venv/.programs: .venv/.development scripts/programs.py
	$(BIN)/python scripts/programs.py
	@touch $@

.venv/.environments: .venv/.development scripts/environments.py
	$(BIN)/python scripts/environments.py
	@touch $@
