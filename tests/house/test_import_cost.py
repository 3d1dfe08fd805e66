"""What starts fast stays fast: an import loads what it needs and no more."""

import subprocess
import sys

import pytest
from house import structure

HEAVY = (
    "PIL",
    "alembic",
    "c2pa",
    "defusedxml",
    "duckdb",
    "httpcore",
    "httpx",
    "numpy",
    "pandas",
    "panel",
    "pydantic",
    "rich",
    "sqlalchemy",
    "sqlmodel",
    "tomli_w",
    "tornado",
    "z3",
)


def _loaded_by(statement: str) -> set[str]:
    """The heavy packages that a fresh interpreter has loaded after `statement`."""
    return set(HEAVY) & _list_modules_after(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "import attestlab",
        "import attestlab.cli.main",
        "import attestlab.cli.commands",
        "import attestlab.cli.verify",
        "from attestlab.attestations.bundle import bundle",
        "from attestlab.webhooks import verify",
        "import attestlab.webhooks.http_transport",
    ],
)
def test_package_cli_and_offline_verifier_load_no_heavy_library(statement: str):
    """`attestlab --help` answers at once, and `verify` needs neither database nor server nor Panel."""
    assert _loaded_by(statement) == set()


def test_verify_loads_no_parser_of_commands_and_its_help_no_verifier():
    """Typer takes longer to load than a verification takes to run, and the verifier longer than the help."""
    run = "sys.argv = ['attestlab', 'verify', {!r}]; import atexit; atexit.register(lambda: print(*sys.modules))"
    code = f"import sys; {run}; from attestlab.cli.main import main; main()"
    bundle, shown = (
        subprocess.run([sys.executable, "-c", code.format(each)], capture_output=True, text=True).stdout.split()
        for each in ("no-such-bundle.json", "--help")
    )

    assert "typer" not in bundle
    assert "attestlab.attestations.bundle.bundle" in bundle
    assert "typer" in shown
    assert "attestlab.attestations.bundle.bundle" not in shown


def test_installation_in_a_notebook_loads_no_web_server():
    """The verbs work without HTTP; only routes, web and app speak Tornado."""
    assert _loaded_by("import attestlab.installation") & {"tornado", "panel", "pandas", "numpy"} == set()


def test_server_on_sqlite_loads_no_unneeded_library():
    """Each of these takes from a hundredth to a second of the start."""
    loaded = subprocess.run(
        [sys.executable, "-c", "import sys, attestlab.cli.serve; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    later = {
        "alembic",
        "duckdb",
        "email_validator",
        "httpcore",
        "httpx",
        "jinja2",
        "numpy",
        "pandas",
        "panel",
        "psycopg",
    }
    later |= {"PIL", "c2pa", "defusedxml", "sqlglot", "tomli_w", "z3"}

    assert set(loaded) & (later | {"sqlalchemy.dialects.postgresql"}) == set()


CONTEXTS = {
    "attestlab --help": "import attestlab.cli.commands",
    "attestlab serve": "import attestlab.cli.serve",
    "a lab in a notebook": "import attestlab.client.lab",
}
IN_PROCESSES_OF_THEIR_OWN = {"attestlab.lake.export_process", "attestlab.server.long_write_jobs"}
"""Modules that run in a process which has not loaded what the server has."""


def test_a_late_import_delays_something():
    """A reader looks for imports at the top; one inside of a function buys a start that is quicker."""
    loaded = {name: _list_modules_after(statement) for name, statement in CONTEXTS.items()}

    delays_nothing = [
        f"{place}: move it to the top, since {' and '.join(contexts)} has loaded it"
        for place, module, targets in structure.late_targets()
        if module not in IN_PROCESSES_OF_THEIR_OWN
        and (contexts := [name for name in CONTEXTS if module in loaded[name]])
        and all(targets <= loaded[name] for name in contexts)
    ]

    assert delays_nothing == []


def _list_modules_after(statement: str) -> frozenset[str]:
    code = f"import sys; {statement}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return frozenset(done.stdout.split())


def test_the_process_of_the_dashboards_starts_without_what_no_first_page_needs():
    """Each of these takes a tenth of a second to load or more, and the first person waits for the process."""
    unneeded = {"alembic", "c2pa", "duckdb", "holoviews", "matplotlib", "pandas", "pyarrow", "sqlmodel", "z3"}

    assert _list_modules_after("import attestlab_dashboards.server") & unneeded == set()
