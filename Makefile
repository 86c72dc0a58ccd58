# Two commands do everything on a machine with Python (3.11 or later), pip and make:
#   make demo      installs into .venv and finds a network for a table that comes with scikit-learn
#   make test      installs what the tests need, too, and runs what every change must pass
# `make test-all` also runs what starts clusters, browsers, sites, notebooks, processes and experiments.

# Many processes start here. Without compiled modules on disk, each would compile all it imports.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Python compiles the modules that are imported; pip would compile all, for a minute.
INSTALL := $(BIN)/pip install --quiet --no-compile --disable-pip-version-check --constraint constraints.txt --editable

# A search compiles what else searches need, once, while types are checked; else every process of the tests would.
COMPILE := $(BIN)/tabnas search iris --max-parameters 200 --candidates 1 --quiet --out build/kernels >/dev/null 2>&1

# One process more than cores: many tests wait for processes of their own.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(os.cpu_count() + 1)')
PYTEST := $(BIN)/pytest --quiet --numprocesses $(WORKERS) --dist worksteal

.PHONY: demo test test-all docs release browser clean

demo: $(VENV)/demo.stamp
	@rm -rf runs/demo
	$(BIN)/tabnas search digits --max-parameters 5000 --out runs/demo

test: $(VENV)/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@rm -rf build/kernels
	$(COMPILE) & $(BIN)/mypy && wait
	$(PYTEST)

test-all: test $(VENV)/dev.stamp browser
	$(PYTEST) -m slow

# Everything there is to read as one site that needs no server: open site/index.html.
docs: $(VENV)/dev.stamp
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "open site/index.html"

# Wheel and sources, and a search in an empty environment that has the wheel alone.
release: $(VENV)/dev.stamp
	rm -rf dist build/empty
	$(BIN)/hatchling build --directory dist
	$(PYTHON) -m venv build/empty
	build/empty/bin/pip install --quiet --disable-pip-version-check dist/*.whl
	du -sh build/empty
	build/empty/bin/tabnas search digits --max-parameters 5000 --out build/empty/run

# The report is tested in a real browser where one can be had; elsewhere those tests skip and say so.
browser:
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null || \
	{ test "$$(id -u)" = 0 && command -v apt-get >/dev/null && export DEBIAN_FRONTEND=noninteractive && \
	  { apt-get update; apt-get install --yes --no-install-recommends \
	    chromium chromium-driver fonts-dejavu-core; } >/dev/null 2>&1; } || \
	echo "chromium is not installed and cannot be: tests of the report in a browser are skipped"

$(VENV)/demo.stamp: $(VENV)/bin/python pyproject.toml constraints.txt
	$(INSTALL) .
	@touch $@

# The kernels of the engine are compiled while the rest is installed.
$(VENV)/test.stamp: $(VENV)/demo.stamp
	$(BIN)/python -c 'import tabnas.nets.compiled' & $(INSTALL) '.[test]' && wait
	@touch $@

$(VENV)/dev.stamp: $(VENV)/test.stamp
	$(INSTALL) '.[dev]'
	@touch $@

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

clean:
	rm -rf $(VENV) build dist runs site .mypy_cache .pytest_cache .ruff_cache .hypothesis
