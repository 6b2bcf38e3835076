# The two commands: `make demo` serves the demo site, `make test` runs everything that must pass.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SHARED_DATA := ../shared/data

.PHONY: demo test lint docs bench clean

demo: $(VENV)/.web
	$(BIN)/confide demo demo-site

test: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/mkdocs build --strict --quiet --site-dir $(VENV)/site
	$(BIN)/pytest -n 2 $(if $(wildcard $(SHARED_DATA)/README.md),,-m "not reference")

docs: $(VENV)/.dev
	$(BIN)/mkdocs serve

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/tables.py
	$(BIN)/python benchmarks/models.py

clean:
	rm -rf $(VENV) demo-site

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Confide needs Python 3.11 or newer: make PYTHON=python3.12 ..."; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "Python's venv module is missing. On Debian: apt-get install python3-venv"; exit 1; }

$(VENV)/.web: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[web]'
	@touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@
