# `make demo`: environment, install, train on the generated sample, answer a question.
# `make test`: environment, install, ruff, mypy, and the tests that are neither slow nor need data (docs/testing.md).
# `make test-all`: the same and the slow tests; those of real data too, from the folder that CTXZOO_DATA names.
# `make slow`: the slow tests alone. `make data`: those of real data alone.
# `make browser`: those that look at pages, in the Chromium that CHROMIUM names or that is found.
# `make notebooks`: run every notebook in a kernel of its own, and store what it prints and draws.
# `make site`: the pages as a site with a search, in build/site; a link that leads nowhere is an error.
# `make clock`: seconds and megabytes of a newcomer's first steps, from the installation to a service.
# `make house`: files and lines of the parts, and how often a training is described in the older ways.
# `make resolve`: whether the versions of constraints.txt, and the lowest, can be installed with every supported Python.
# `make release`: wheel and source distribution in dist/, each tried in empty environments of the Pythons that are here.
# `make constraints`: write constraints.txt anew, with the versions that it has wherever they still fit.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
# Tests of a file mostly stay together, for its fixtures; who has nothing left takes the last tests of another.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal

# Files of bytecode are kept, whatever the environment says: asserts of all tests are written anew else, in each process.
unexport PYTHONDONTWRITEBYTECODE

# Threads that wait spin no longer, as in ctxzoo/openmp.py; a value that is set, or a policy, wins.
ifndef OMP_WAIT_POLICY
export GOMP_SPINCOUNT ?= 1000
endif

.PHONY: help demo check test test-all slow data browser lint docs notebooks site clock house resolve release constraints clean

help:
	@grep -E '^# `' Makefile | sed 's/^# //'

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	@touch $(INSTALLED)

demo: $(INSTALLED)
	$(BIN)/python recipes/squad_bidaf.py --dataset sample --extensions word_features --optimizer adamw \
		--learning_rate 0.002 --warmup_steps 100 --ema_decay 0.99 --batch_size 32 --epochs 2

check: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Every test is in exactly one of `test`, `slow`, `data` and `browser` (tests/suite/test_selection.py).
test: check
	$(PYTEST) -m "not slow and not data and not browser"

slow: $(INSTALLED)
	$(PYTEST) -m "slow and not data and not browser"

data: $(INSTALLED)
	$(PYTEST) -m "data and not browser"

browser: $(INSTALLED)
	$(PYTEST) -m browser

test-all: check
	$(PYTEST)

lint: $(INSTALLED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/mypy

docs: $(INSTALLED)
	$(BIN)/python -m reports.tables README.md recipes/README.md docs/*.md docs/*/*.md
	$(BIN)/python -m ctxzoo.cli.renew

notebooks: $(INSTALLED)
	$(BIN)/python -m reports.notebooks

site: $(INSTALLED)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict
	@echo "$(BIN)/python -m http.server --directory build/site    shows it at http://localhost:8000"

# The installation is its first step.
clock:
	$(PYTHON) benchmarks/newcomers_clock.py --environment $(VENV) --extras dev
	@touch $(INSTALLED)

house: $(INSTALLED)
	@$(BIN)/python -m reports.house

resolve: $(INSTALLED)
	UV=$(abspath $(BIN))/uv .ci/resolve

release: $(INSTALLED)
	UV=$(abspath $(BIN))/uv BIN=$(abspath $(BIN)) .ci/release

constraints: $(INSTALLED)
	$(BIN)/uv pip compile --quiet --universal --python-version 3.10 --only-binary :all: --no-annotate --extra dev \
		--custom-compile-command "make constraints" --output-file constraints.txt pyproject.toml

clean:
	rm -rf $(VENV) .ci-venv build dist .mypy_cache .ruff_cache .pytest_cache
