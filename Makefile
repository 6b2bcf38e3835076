# The two commands: `make demo` serves the demo site, `make test` runs everything that must pass.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test mutants chromium web-servers postgresql java r docs screenshots bench clean

demo: $(VENV)/.web
	$(BIN)/confide demo demo-site

test: chromium web-servers postgresql java r $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/mkdocs build --strict --quiet --site-dir $(VENV)/site
	$(BIN)/pytest -n 2
	$(BIN)/python mutants/run.py --sample

# Promises broken on purpose: each must make a test fail, or say why it cannot. About ten minutes.
mutants: $(VENV)/.dev
	$(BIN)/python mutants/run.py

# The pages are tested in a real browser.
chromium:
	@command -v chromium >/dev/null || { [ -f /etc/debian_version ] && [ "$$(id -u)" = 0 ] && apt-get update -qq && \
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null; } || \
	{ echo "The tests need the browser Chromium as 'chromium'. On Debian, as root: apt-get install chromium"; exit 1; }

# A site is tested behind the web servers that the documents set up. As root alone: their daemons must not start by themselves.
web-servers:
	@{ command -v nginx && command -v caddy && command -v openssl; } >/dev/null || { [ -f /etc/debian_version ] && [ "$$(id -u)" = 0 ] && \
	apt-get update -qq && RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends nginx-light caddy openssl >/dev/null; } || \
	{ echo "The tests need nginx, caddy and openssl. On Debian, as root: apt-get install nginx-light caddy openssl"; exit 1; }

# An engine is tested on a real PostgreSQL, which the tests start for themselves: that of the package must not start.
postgresql:
	@{ command -v initdb || ls /usr/lib/postgresql/*/bin/initdb; } >/dev/null 2>&1 || { [ -f /etc/debian_version ] && [ "$$(id -u)" = 0 ] && \
	apt-get update -qq && RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql >/dev/null; } || \
	{ echo "The tests need PostgreSQL. On Debian, as root: apt-get install postgresql"; exit 1; }

# Another is tested on a real Spark cluster, which pyspark brings along; Java it does not.
java:
	@command -v java >/dev/null || { [ -f /etc/debian_version ] && [ "$$(id -u)" = 0 ] && apt-get update -qq && \
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends default-jre-headless >/dev/null; } || \
	{ echo "The tests need a Java runtime. On Debian, as root: apt-get install default-jre-headless"; exit 1; }

# The R code that pages show is run, with the packages of Debian's stable release.
r:
	@Rscript -e 'library(httr2); library(jsonlite)' >/dev/null 2>&1 || { [ -f /etc/debian_version ] && [ "$$(id -u)" = 0 ] && \
	apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends r-base-core r-cran-httr2 r-cran-jsonlite >/dev/null; } || \
	{ echo "The tests need R with httr2 and jsonlite. On Debian, as root: apt-get install r-base-core r-cran-httr2 r-cran-jsonlite"; exit 1; }

docs: $(VENV)/.dev
	$(BIN)/mkdocs serve

screenshots: $(VENV)/.dev chromium
	$(BIN)/python scripts/screenshots.py

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/tables.py
	$(BIN)/python benchmarks/neighbours.py
	$(BIN)/python benchmarks/models.py
	$(BIN)/python benchmarks/pages.py
	$(BIN)/python benchmarks/publish.py
	$(BIN)/python benchmarks/simplex.py
	$(BIN)/python benchmarks/mask.py
	$(BIN)/python benchmarks/mask_methods.py
	$(BIN)/python benchmarks/mask_anonymity.py
	$(BIN)/python benchmarks/release.py
	$(BIN)/python benchmarks/querylogs.py
	$(BIN)/python benchmarks/coprivacy.py
	$(BIN)/python benchmarks/measure.py
	$(BIN)/python benchmarks/red_team.py
	$(BIN)/python benchmarks/ingest.py
	$(BIN)/python benchmarks/workload.py
	$(BIN)/python benchmarks/noisy_classes.py
	$(BIN)/python benchmarks/studies.py

clean:
	rm -rf $(VENV) demo-site

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Confide needs Python 3.11 or newer: make PYTHON=python3.12 ..."; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "Python's venv module is missing. On Debian: apt-get install python3-venv"; exit 1; }

$(VENV)/.web: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[web,charts]'
	@touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@
