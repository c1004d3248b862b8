# On a fresh machine only Python 3.10 to 3.13 and make are needed: make demo, make test.

PYTHON ?= python3
VENV ?= .venv
JOBS ?= 2
ARGS ?=
SLOW ?=
WHAT ?= objectives
# An interpreter with CuPy, NumPy, Numba and the like: GPU tests take it as it is.
GPU_PYTHON ?=
SANITIZER ?= compute-sanitizer
TOOLS ?= memcheck racecheck

BIN = $(VENV)/bin
PIP = $(BIN)/python -m pip --disable-pip-version-check --quiet

# One stamp per set of installed things; each is remade when pyproject.toml changes.
MADE = $(VENV)/.made
CORE = $(VENV)/.core
BENCH = $(VENV)/.bench
DEV = $(VENV)/.dev
GPU = $(VENV)/.gpu

# Other files may import what GPU_PYTHON lacks.
GPU_FILES = $(shell grep -rlE --include='test_*.py' 'needs_gpu|import .*\bdevices\b' tests)
# Plugins that it has for others are left out: their warnings would be failures.
GPU_ENV = PYTHONPATH=src$${PYTHONPATH:+:$$PYTHONPATH} RANKFORCE_NEEDS_GPU=1 PYTEST_DISABLE_PLUGIN_AUTOLOAD=1
GPU_PYTEST = $(or $(GPU_PYTHON),$(BIN)/python) -m pytest -m gpu
# Tests that launch each kernel.
SANITIZED = test_forces_are or test_long_lists or test_costs or test_hessians_within_leaves or \
	test_every_metric or test_rows_and_sums or test_several_blocks or test_trees_are_those or \
	test_trees_on_a_gpu or test_other_rows

.PHONY: help demo test test-gpu sanitize-gpu lint format bench clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile

demo: $(CORE) ## train several objectives on a synthetic set and compare them
	@$(BIN)/rankforce demo $(ARGS)

# A file's tests go to one worker: what they share is made once.
test: lint ## check style and types, then run the tests (SLOW=1 for all, ARGS="-k name" for some)
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile $(if $(SLOW),,-m "not slow") $(ARGS)

test-gpu: $(if $(GPU_PYTHON),,$(GPU)) ## run the tests that need an NVIDIA GPU (GPU_PYTHON=python3: with what that one has; ARGS="-p xdist -n 8": several at once)
	$(GPU_ENV) $(GPU_PYTEST) $(GPU_FILES) $(ARGS)

sanitize-gpu: $(if $(GPU_PYTHON),,$(GPU)) ## run each kernel under NVIDIA's compute-sanitizer: memory, then races (TOOLS=racecheck for one)
	for tool in $(TOOLS); do \
		$(GPU_ENV) RANKFORCE_SANITIZES=1 $(SANITIZER) --tool $$tool --error-exitcode 1 \
			$(GPU_PYTEST) -k "$(SANITIZED)" $(GPU_FILES) $(ARGS) || exit 1; \
	done

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

# XGBoost without CUDA has the same files as XGBoost with it: they go before the others come.
$(GPU): pyproject.toml $(MADE)
	@$(PIP) install -e ".[dev,cuda]"
	@$(PIP) --quiet uninstall -y xgboost-cpu xgboost
	@$(PIP) install -e ".[xgboost]"
	@touch $(CORE) $(DEV) $@
