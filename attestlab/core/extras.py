"""The extras of the package: the packages that each one brings to a plain install (pyproject.toml).

The plain install verifies offline and is a client. A door that needs more calls `require_extra` before it does
anything; other code that imports a package of an extra does so inside `naming_extras`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from typing import Final

from attestlab.core.errors import MissingExtra

INCLUDED: Final[Mapping[str, tuple[str, ...]]] = {
    "server": ("lake", "prove"),
    "postgres": ("server",),
    "stripe": ("server",),
    "biscuit": ("server",),
    "notebook": ("dash",),
    "dash": ("server",),
    "demo": ("biscuit", "dash"),
}
"""The extras that an extra includes."""

PACKAGES: Final[Mapping[str, Mapping[str, str]]] = {
    "lake": {"duckdb": "duckdb", "pyarrow": "pyarrow", "pytz": "pytz"},
    "prove": {"z3-solver": "z3"},
    "server": {
        "alembic": "alembic",
        "argon2-cffi": "argon2",
        "c2pa-python": "c2pa",
        "defusedxml": "defusedxml",
        "dnspython": "dns",
        "email-validator": "email_validator",
        "geoip2fast": "geoip2fast",
        "gmpy2": "gmpy2",
        "idna": "idna",
        "jinja2": "jinja2",
        "jsonschema-rs": "jsonschema_rs",
        "markdown-it-py": "markdown_it",
        "markupsafe": "markupsafe",
        "nh3": "nh3",
        "numpy": "numpy",
        "pillow": "PIL",
        "prometheus-client": "prometheus_client",
        "pydantic-settings": "pydantic_settings",
        "segno": "segno",
        "sqlalchemy": "sqlalchemy",
        "sqlglot": "sqlglot",
        "sqlmodel": "sqlmodel",
        "tomli-w": "tomli_w",
        "tornado": "tornado",
    },
    "postgres": {"psycopg": "psycopg"},
    "stripe": {"stripe": "stripe"},
    "biscuit": {"biscuit-python": "biscuit_auth"},
    "notebook": {
        "anywidget": "anywidget",
        "holoviews": "holoviews",
        "hvplot": "hvplot",
        "ipykernel": "ipykernel",
        "jupyterlab": "jupyterlab",
        "matplotlib": "matplotlib",
        "pandas": "pandas",
        "polars": "polars",
        "traitlets": "traitlets",
        "xlsxwriter": "xlsxwriter",
    },
    "dash": {
        "bokeh": "bokeh",
        "pandas": "pandas",
        "panel": "panel",
        "panel-material-ui": "panel_material_ui",
        "param": "param",
    },
    "demo": {},
}
"""The packages of each extra without those of the extras that it includes, with the module that each installs."""

PLAIN: Final[Mapping[str, str]] = {
    "cryptography": "cryptography",
    "httpcore": "httpcore",
    "httpx": "httpx",
    "orjson": "orjson",
    "pydantic": "pydantic",
    "python-ulid": "ulid",
    "rfc8785": "rfc8785",
    "rich": "rich",
    "typer": "typer",
}
"""The packages of a plain install, with the module that each installs."""


@contextmanager
def naming_extras() -> Iterator[None]:
    """Name the package that is not installed, and its extra.

    Raises:
        MissingExtra: the package belongs to an extra, or to a plain install.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        missing = explain(error)
        if missing is None:
            raise
        raise missing from error


@cache
def require_extra(extra: str) -> None:
    """Require every package of an extra, at the cost of a look into the folders of packages.

    Raises:
        MissingExtra: some are not installed; the message names all of them.
    """
    missing = list_missing(extra)
    if missing:
        raise MissingExtra(missing, extra)


def list_missing(extra: str) -> list[str]:
    """List the packages of an extra, and of those that it includes, that are not installed."""
    return sorted(package for package, module in list_packages(extra).items() if find_spec(module) is None)


def list_packages(extra: str) -> dict[str, str]:
    """List the packages of an extra, and of those that it includes, with the module that each installs."""
    included = [list_packages(each) for each in INCLUDED.get(extra, ())]
    return {package: module for part in (PACKAGES[extra], *included) for package, module in part.items()}


def explain(error: ModuleNotFoundError) -> MissingExtra | None:
    """Return the error that names the package of a missing module; None for a module that no package here installs.

    >>> explain(ModuleNotFoundError("No module named 'z3'", name="z3")).message
    "The package z3-solver is not installed. Install it: pip install 'attestlab[prove]'"
    """
    module = (error.name or "").partition(".")[0]
    for extra, packages in PACKAGES.items():
        named = [package for package, installs in packages.items() if installs == module]
        if named:
            return MissingExtra(sorted({*named, *list_missing(extra)}), extra)
    plain = [package for package, installs in PLAIN.items() if installs == module]
    return MissingExtra(plain, None) if plain else None


def find_package(module: str) -> str:
    """Find the package that installs a module, which most name like it.

    >>> find_package("PIL.Image"), find_package("cryptography.exceptions")
    ('pillow', 'cryptography')
    """
    top = module.partition(".")[0]
    for packages in (PLAIN, *PACKAGES.values()):
        for package, installs in packages.items():
            if installs == top:
                return package
    return top
