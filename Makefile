# On a fresh machine only Python 3.10 to 3.13 and make are needed: make demo, make test.

PYTHON ?= python3
VENV ?= .venv
JOBS ?= 2
ARGS ?=
SLOW ?=
WHAT ?= objectives

BIN = $(VENV)/bin
PIP = $(BIN)/python -m pip --disable-pip-version-check --quiet

# One stamp per set of installed things; each is remade when pyproject.toml changes.
MADE = $(VENV)/.made
CORE = $(VENV)/.core
BENCH = $(VENV)/.bench
DEV = $(VENV)/.dev

.PHONY: help demo test lint format bench clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' Makefile

demo: $(CORE) ## train several objectives on a synthetic set and compare them
	@$(BIN)/rankforce demo $(ARGS)

# A file's tests go to one worker: what they share is made once.
test: lint ## check style and types, then run the tests (SLOW=1 for all, ARGS="-k name" for some)
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile $(if $(SLOW),,-m "not slow") $(ARGS)

lint: $(DEV) ## check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(DEV) ## rewrite the code in the project's style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(BENCH) ## measure beside the peers: WHAT=objectives, gpu, goals, diagnostics, reading, training, trees, quality, networks, evaluation, results, scale, scoring, exports, serving, cluster, cluster_plan or xgboost_gpu
	$(BIN)/python benchmarks/$(WHAT).py $(ARGS)

clean: ## remove the environment, caches and build outputs
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

$(MADE):
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(0 if (3, 10) <= v <= (3, 13) else "rankforce needs Python 3.10 to 3.13, and $(PYTHON) is %d.%d: choose another with make PYTHON=..." % v)'
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { echo "$(PYTHON) cannot make virtual environments: install its venv module (python3-venv on Debian)" >&2; exit 1; }
	@echo "making the environment $(VENV), which takes a minute the first time"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install "pip>=21.3"
	@touch $@

$(CORE): pyproject.toml $(MADE)
	@$(PIP) install -e .
	@touch $@

$(BENCH): pyproject.toml $(MADE)
	@$(PIP) install -e ".[bench]"
	@touch $(CORE) $@

$(DEV): pyproject.toml $(MADE)
	@$(PIP) install -e ".[dev]"
	@touch $(CORE) $@
