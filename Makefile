# AttestLab: every command a person needs. `make` alone lists them.
#
# Nothing but Python 3.11 or newer, make and a package index is presupposed.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# What is handed on to the command that a target runs, e.g. `make run ARGS="--port 9000"`.
ARGS ?=

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help setup run test check bench access notebooks house lock soak spark stall mutants clean

help:  ## List these targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Our own modules are compiled like those that pip installs: an environment may forbid Python to do it as it runs.
setup: $(STAMP)  ## Create .venv from requirements.lock, with the attestlab command in it
	@$(BIN)/python -m compileall -q attestlab

# The lock holds every package with its hash, the build backend included, so the last step asks no index.
$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "AttestLab needs Python 3.11 or newer; name one with: make setup PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --no-index --no-deps --no-build-isolation --editable .
	@touch $@

run: setup  ## Start the demo: a small seeded world behind one address
	$(BIN)/attestlab demo $(ARGS)

test: setup  ## Run every test, the notebooks among them
	$(BIN)/python -m pytest -n 2 --dist worksteal $(ARGS)
	$(BIN)/python -m pytest --nbval --nbval-current-env notebooks

check: setup  ## Lint, format, types, import contracts, docstring examples
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest --doctest-modules -q attestlab

bench: setup  ## Print one JSON line a figure; ONLY=http|log|verify|access|cli|expiry|fsck|serve|policy|policy_growth for some of them
	$(BIN)/python -m benchmarks $(if $(ONLY),--only $(ONLY)) $(ARGS)

soak: setup  ## Run the long versions of the crash and race stories, in at most 20 minutes
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "(soak or more_in_soak) and not spark" --hypothesis-profile soak $(ARGS)

mutants: setup  ## Plant faults one by one, which the nearest tests must catch; ARGS="--list", ARGS="--whole NAME"
	PYTHONPATH=tests $(BIN)/python -m mutants $(ARGS)

stall: setup  ## Send every route its worst bodies and watch /healthz; ARGS="--only TEXT" for some of them
	$(BIN)/python -m benchmarks.stall $(ARGS)

spark: setup  ## Bring Spark (500 MB, wants a Java) and hold our policies against it
	$(BIN)/python -m pip install --quiet "pyspark>=4.3"
	$(BIN)/python -m pytest -m spark $(ARGS)

house: setup  ## Measure the names, words and structure of the source, and show what is left to mend
	PYTHONPATH=tests $(BIN)/python -m house $(ARGS)

access: setup  ## Write the table of docs/access.md anew from the routes
	$(BIN)/python -m attestlab.cli.access_table docs/access.md

notebooks: setup  ## Execute the notebooks anew, as they are committed
	$(BIN)/jupyter execute --inplace notebooks/*.ipynb

lock: setup  ## Resolve requirements.lock anew, one file for 3.11 to 3.13 (UPGRADE=1 for newer versions)
	$(BIN)/uv pip compile pyproject.toml --extra dev --output-file requirements.lock --quiet $(if $(UPGRADE),--upgrade) \
		--universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate

clean:  ## Remove what was built and cached, .venv included
	rm -rf $(VENV) .demo .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
