# Two commands do everything on a machine with Python (3.11 or later), pip and make:
#   make demo    installs into .venv and finds a network for a table that comes with scikit-learn
#   make test    installs what development needs, too, and runs every check

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable

.PHONY: demo test clean

demo: $(VENV)/demo.stamp
	@rm -rf runs/demo
	$(BIN)/tabnas search digits --max-parameters 5000 --out runs/demo

test: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest --quiet --numprocesses 2

$(VENV)/demo.stamp: $(VENV)/bin/python pyproject.toml constraints.txt
	$(INSTALL) .
	@touch $@

$(VENV)/dev.stamp: $(VENV)/bin/python pyproject.toml constraints.txt
	$(INSTALL) '.[dev]'
	@touch $@

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

clean:
	rm -rf $(VENV) build dist runs .mypy_cache .pytest_cache .ruff_cache .hypothesis
