"""Database URLs: of an SQLite file, or of PostgreSQL with the psycopg driver."""

from __future__ import annotations

import re
from contextlib import suppress

from sqlalchemy import make_url
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError

from attestlab.core.errors import ValidationFailed
from attestlab.core.urls import quote_url

_FORMS = "Pass sqlite:///path/to/records.db, or postgresql://user:password@host:port/name."
_DRIVERS = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg"}  # by scheme
_SCHEME = re.compile(r"([a-z]+)(?:\+[a-z0-9]+)?://", re.IGNORECASE)  # with a driver, which is chosen here


def database_url(url: str) -> URL:
    """Parse a database URL: of an SQLite file, or of PostgreSQL with the psycopg driver.

    `postgres://`, which hosting services write, is PostgreSQL; case does not matter (RFC 3986 section 3.1).

    Raises:
        ValidationFailed: it is no URL, or that of another database. The message never has its password.
    """
    found = _SCHEME.match(url)
    driver = None if found is None else _DRIVERS.get(found[1].lower())
    rest = "" if found is None else url[found.end() :]
    with suppress(ArgumentError, ValueError):
        if driver is not None and (driver != "sqlite" or not rest or rest.startswith("/")):
            return make_url(f"{driver}://{rest}")
    raise ValidationFailed(f"{quote_url(url)} is no database URL. {_FORMS}")


def names_database(text: str) -> bool:
    """Whether a text begins like a database URL, also like one that is not."""
    return text.partition(":")[0].lower() in _DRIVERS
