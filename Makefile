# `make demo` and `make test` need Python 3.11 or newer and make, nothing else.
PYTHON ?= python3
BIN := .venv/bin
RUNNABLE := .venv/.runnable
READY := .venv/.ready

.PHONY: demo test lint types clean constraints screenshots

$(RUNNABLE): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("Coterie needs Python 3.11 or newer: make PYTHON=python3.11" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

$(READY): $(RUNNABLE)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

demo: $(RUNNABLE)
	$(BIN)/coterie fit src/coterie/demo/support.csv --text message --k 12 --truth theme --time received --by channel --out demo-run --force

test: $(READY)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal

# The pictures in docs/images, of the demo's report; needs Chromium.
screenshots: $(READY) demo
	$(BIN)/python docs/screenshots.py demo-run

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

clean:
	rm -rf .venv demo-run .mypy_cache .ruff_cache .pytest_cache .hypothesis

# Exact versions of everything that an installation from scratch brings.
constraints:
	rm -rf .venv-constraints
	$(PYTHON) -m venv .venv-constraints
	.venv-constraints/bin/python -m pip install --quiet torch==2.13.0 '.[dev]'
	.venv-constraints/bin/python -m pip freeze --exclude coterie | sed 's/+cpu$$//' > constraints.txt
	rm -rf .venv-constraints
