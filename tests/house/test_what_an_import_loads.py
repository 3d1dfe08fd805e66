"""What starts fast stays fast: an import loads what it needs and no more."""

import subprocess
import sys

import pytest

HEAVY = (
    "alembic",
    "duckdb",
    "httpx",
    "numpy",
    "pandas",
    "panel",
    "pydantic",
    "rich",
    "sqlalchemy",
    "sqlmodel",
    "tomlkit",
    "tornado",
    "z3",
)


def _loaded_by(statement: str) -> set[str]:
    """The heavy packages that a fresh interpreter has loaded after `statement`."""
    code = f"import sys; {statement}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(HEAVY) & set(done.stdout.split())


@pytest.mark.parametrize(
    "statement",
    [
        "import attestlab",
        "import attestlab.cli",
        "import attestlab.offline",
        "from attestlab.attestations import bundle",
    ],
)
def test_the_package_the_command_line_and_the_offline_verifier_load_nothing_heavy(statement: str):
    """`attestlab --help` answers at once, and `verify` needs neither database nor server nor Panel."""
    assert _loaded_by(statement) == set()


def test_a_lab_in_a_notebook_loads_no_web_server():
    """The verbs work without HTTP; only routes, web and app speak Tornado."""
    assert _loaded_by("import attestlab.lab") & {"tornado", "panel", "pandas", "numpy"} == set()


def test_a_server_starts_without_what_only_proofs_and_replays_need():
    """z3 and DuckDB take longer to load than the rest of the service; they wait until somebody asks."""
    assert (
        _loaded_by("import attestlab.serving, attestlab.app") & {"duckdb", "numpy", "pandas", "tomlkit", "z3"} == set()
    )
