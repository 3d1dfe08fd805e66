# AttestLab: the commands for development and operation. `make` without a target lists them.
#
# They need only Python 3.11 or newer, make and a package index.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Runs tests by what they cost, tries again alone what failed, and names chance (tests/gate).
GATE = PYTHONPATH=tests $(BIN)/python -m gate
STAMP := $(VENV)/.installed
RUN_STAMP := $(VENV)/.installed-for-run
INSTALL = $(PYTHON) .ci/install.py $(VENV)
# Extra arguments for the command that a target runs, such as `make run ARGS="--port 9000"`.
ARGS ?=
# The shard that `make shard` runs.
N ?=

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
# Names with an underscore are parts of other targets.
.PHONY: lab_user check_rules check_types check_examples help setup run quick test shard all check bench access examples reference notebooks lab house lock spark clients stall mutants shots clean

help:  ## List these targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Compile our own modules as installers do for the ones they install: some environments forbid Python to do it at run time.
setup: $(STAMP)  ## Create .venv from requirements.lock, with the attestlab command in it
	@$(BIN)/python -m compileall -q attestlab

# The locks hold every package with its hash, including the build backend, so that installing the project queries no index.
$(STAMP): requirements.lock pyproject.toml .ci/install.py
	@$(INSTALL) requirements.lock
	@touch $(RUN_STAMP) $@

# What the demo needs: a third of all packages.
$(RUN_STAMP): requirements-run.lock pyproject.toml .ci/install.py
	@$(INSTALL) requirements-run.lock
	@touch $@

run: $(RUN_STAMP)  ## Start the demo server with a small seeded world
	@$(BIN)/python -m compileall -q attestlab
	$(BIN)/attestlab demo $(ARGS)

quick: setup  ## Run the tests that cost next to nothing and the changed test files, in a minute
	@$(GATE) quick $(ARGS)

test: setup  ## Run every cheap test and one of each dear kind, in 5 minutes
	@$(GATE) test $(ARGS)

shard: setup  ## Run one part of the dear tests, the soak and the notebooks, in 6 minutes: N=0, or the one that HEAD's hash chooses
	@$(GATE) shard $(if $(N),--number $(N)) $(ARGS)

all: setup  ## Run everything, in an hour, and list what each test costs in tests/costs.tsv
	@$(GATE) all $(ARGS)

# Types and examples take a minute each on one processor.
check: setup  ## Check lint rules, format, types, import contracts and docstring examples
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target check_rules check_types check_examples

check_rules:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

check_types:
	$(BIN)/mypy

check_examples:
	PYTHONPATH=tests $(BIN)/python -m pytest -p no:nbval -p support.docstring_examples --doctest-modules -q attestlab dashboards

bench: setup  ## Run the benchmarks, one JSON line per figure; ONLY=http|log|verify|access|cli|expiry|fsck|serve|policy|policy_growth|detection|detection_data|risk|risk_lake|risk_backfill|login_backfill|facade|dashboards|views|webhooks|postgresql|waits|people|agents selects a group
	$(BIN)/python -m benchmarks $(if $(ONLY),--only $(ONLY)) $(ARGS)

mutants: setup  ## Run mutation tests: plant faults that the nearest tests must catch; ARGS="--list", ARGS="--whole NAME"
	PYTHONPATH=tests $(BIN)/python -m mutants $(ARGS)

stall: setup  ## Send every route its worst bodies and measure /healthz; ARGS="--only TEXT" selects routes
	$(BIN)/python -m benchmarks.stall $(ARGS)

spark: setup  ## Install Spark (500 MB, needs Java) and compare our policies with it
	$(BIN)/python -m pip install --quiet "pyspark>=4.3"
	$(BIN)/python -m pytest -m spark $(ARGS)

clients: setup  ## Install two generators of HTTP clients (300 MB), and let their clients mint and verify
	$(PYTHON) -m venv .clients
	.clients/bin/python -m pip install --quiet --requirement tests/generated_clients/requirements.txt
	$(BIN)/python -m pytest -m clients tests/generated_clients $(ARGS)

shots: setup  ## Take 20 screenshots of the dashboards with Chromium, into build/shots; ARGS="FOLDER", or ARGS=--readme for the README
	PYTHONPATH=tests $(BIN)/python -m support.dashboards.shots $(ARGS)

house: setup  ## Measure names, words and structure of the source, and list the remaining findings
	PYTHONPATH=tests $(BIN)/python -m house $(ARGS)

access: setup  ## Regenerate the table in docs/access.md from the routes
	$(BIN)/python -m attestlab.cli.access_table docs/access.md

reference: setup  ## Regenerate docs/python-reference.md, data/dictionary.csv, the addresses in docs/dashboards.md, and the types of the async twin
	$(BIN)/python -m attestlab.cli.python_reference docs/python-reference.md
	$(BIN)/python -m attestlab.cli.data_dictionary data/dictionary.csv
	$(BIN)/python -m attestlab_dashboards.address_table docs/dashboards.md
	$(BIN)/python -m attestlab.cli.async_types attestlab/client/asynchronous/typed_lab.pyi
	$(BIN)/ruff format --quiet attestlab/client/asynchronous/typed_lab.pyi

examples: setup  ## Capture the examples of the API reference from a real server
	PYTHONPATH=tests $(BIN)/python -m support.api_tour

notebooks: setup  ## Execute the notebooks and store their outputs, as they are committed
	$(BIN)/jupyter nbconvert --to notebook --execute --inplace --ExecutePreprocessor.record_timing=False --ExecutePreprocessor.store_widget_state=False notebooks/*.ipynb

# JupyterLab refuses to run as root. In a container it is often the only user, so the remedy comes before the setup.
lab_user:
	@if [ "$$(id -u)" = 0 ] && [ -z "$(findstring --allow-root,$(ARGS))" ]; then \
		echo 'JupyterLab refuses to run as root. If this is a container of your own: make lab ARGS="$(strip --allow-root $(ARGS))"' >&2; \
		exit 2; fi

lab: lab_user setup  ## Open JupyterLab on the notebooks; it sends nothing to other hosts
	$(BIN)/jupyter lab --notebook-dir=notebooks --LabApp.news_url=None --LabApp.extension_manager=readonly \
		--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate \
		--LabApp.app_settings_dir=notebooks/settings $(ARGS)

# Of requirements.lock, requirements-run.lock is what the extra `demo` and the build backend need.
LOCK = --output-file $(1) --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate
lock: setup  ## Resolve requirements.lock, one file for Python 3.11 to 3.13 (UPGRADE=1 for newer versions), and its part for `make run`
	$(BIN)/uv pip compile pyproject.toml --extra dev $(if $(UPGRADE),--upgrade) $(call LOCK,requirements.lock)
	printf 'editables\nhatchling\n' | $(BIN)/uv pip compile pyproject.toml - --extra demo --upgrade \
		--constraints requirements.lock $(call LOCK,requirements-run.lock)

clean:  ## Remove build results and caches, including .venv
	rm -rf $(VENV) .clients .demo .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
