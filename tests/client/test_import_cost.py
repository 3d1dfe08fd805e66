"""What the doors load: the facade over HTTP no database and no server, `import attestlab` next to nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {"attestlab.installation", "duckdb", "numpy", "pandas", "pyarrow", "sqlalchemy", "sqlmodel", "tornado", "z3"}


def loaded_by(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("statement", ["import attestlab; attestlab.connect", "import attestlab; attestlab.Lab"])
def test_the_facade_over_http_loads_neither_database_nor_server(statement: str) -> None:
    assert loaded_by(statement) & HEAVY == set()


def test_importing_the_package_loads_neither_models_nor_client() -> None:
    assert loaded_by("import attestlab") & {*HEAVY, "httpx", "pydantic"} == set()
