"""The extras of the package: which one brings a package that the plain install lacks (pyproject.toml).

The plain install verifies offline and is a client. Whatever imports more does so inside `naming_extras`, or behind a
door that is: the public names of `attestlab`, and the commands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from attestlab.core.errors import MissingExtra

EXTRA_OF_MODULE: Final[Mapping[str, str]] = {
    "alembic": "server",
    "argon2": "server",
    "bokeh": "dash",
    "c2pa": "server",
    "defusedxml": "server",
    "dns": "server",
    "duckdb": "lake",
    "email_validator": "server",
    "geoip2fast": "server",
    "gmpy2": "server",
    "idna": "server",
    "jinja2": "server",
    "numpy": "server",
    "pandas": "notebook",
    "panel": "dash",
    "panel_material_ui": "dash",
    "param": "dash",
    "PIL": "server",
    "polars": "notebook",
    "prometheus_client": "server",
    "psycopg": "postgres",
    "pyarrow": "lake",
    "pydantic_settings": "server",
    "pytz": "lake",
    "segno": "server",
    "sqlalchemy": "server",
    "sqlglot": "server",
    "sqlmodel": "server",
    "tomli_w": "server",
    "tornado": "server",
    "z3": "prove",
}


@contextmanager
def naming_extras() -> Iterator[None]:
    """Name the extra of a package that is not installed.

    Raises:
        MissingExtra: the package belongs to an extra.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        missing = explain(error)
        if missing is None:
            raise
        raise missing from error


def explain(error: ModuleNotFoundError) -> MissingExtra | None:
    """Return the error that names the extra of a missing module; None for a module of no extra.

    >>> explain(ModuleNotFoundError("No module named 'z3'", name="z3")).message
    "The package z3 is not installed. Install it: pip install 'attestlab[prove]'"
    """
    module = (error.name or "").partition(".")[0]
    extra = EXTRA_OF_MODULE.get(module)
    return None if extra is None else MissingExtra(module, extra)
