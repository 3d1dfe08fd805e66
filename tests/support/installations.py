"""Installations made once in a test process and copied for each test: records, keyring, guard and counters.

Copies of one installation have the same log, log key, operator and API key. A test of two installations that
must differ makes one of them with `Installation.init`.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from sqlalchemy.engine import make_url

from attestlab.core.clock import Clock, SystemClock
from attestlab.installation import Installation
from attestlab.orgs.service import InitResult
from attestlab.settings import Settings
from support.databases import (
    RECORDS,
    copy_sqlite_file,
    create_postgres_database,
    database_name,
    replace_postgres_database,
    temporary_postgres_database,
)

NO_NAME_SERVER = "127.0.0.1:1"  # which a test asks for names, unless it says otherwise


@dataclass(frozen=True)
class InstallationTemplate:
    """A closed installation: its data folder, its records on either engine, and the credentials of its owner."""

    data: Path
    made: InitResult
    postgres_url: str | None = None
    template: str = ""

    @classmethod
    def in_folder(cls, folder: Path, clock: Clock, *, postgres_url: str | None = None) -> InstallationTemplate:
        """Make one, with its records in `folder` or on a PostgreSQL server."""
        url = create_postgres_database(postgres_url) if postgres_url else f"sqlite:///{folder / RECORDS}"
        lab, made = Installation.init(Settings(data=folder / "data", database_url=url), clock=clock)
        lab.close()
        return cls(folder / "data", made, postgres_url, database_name(url) if postgres_url else "")

    @contextmanager
    def copy_to(self, folder: Path) -> Iterator[Settings]:
        """The settings of a copy, whose records end with the block where they are not in `folder`."""
        shutil.copytree(self.data, folder / "data")
        if self.postgres_url is None:
            yield self._settings(folder, copy_sqlite_file(self.data.with_name(RECORDS), folder))
            return
        with temporary_postgres_database(self.postgres_url, template=self.template) as url:
            yield self._settings(folder, url)

    @staticmethod
    def _settings(folder: Path, url: str) -> Settings:
        return Settings(data=folder / "data", database_url=url, dns_server=NO_NAME_SERVER)

    @contextmanager
    def open_in(self, folder: Path, clock: Clock) -> Iterator[Installation]:
        """An open copy, which knows its operator.

        It is closed also when a check after the test fails: a later test would be blamed for its connections.
        """
        with self.copy_to(folder) as settings, closing(Installation.open(settings, clock=clock)) as lab:
            lab.operator = lab.orgs.service_caller(self.made.tenant.tenant_id)  # type: ignore[attr-defined]
            yield lab


@cache
def _template_of_today(postgres_url: str | None = None) -> InstallationTemplate:
    """An installation of the system's clock, for servers in processes of their own."""
    folder = Path(mkdtemp(prefix="attestlab-prepared-"))
    _prepared.append(folder)
    return InstallationTemplate.in_folder(folder, SystemClock(), postgres_url=postgres_url)


_prepared: list[Path] = []


def install(data: Path, database_url: str) -> dict[str, str]:
    """Put a copied installation on empty records at `database_url`; return the credentials of its owner."""
    url = make_url(database_url)
    is_sqlite = url.get_backend_name() == "sqlite"
    server_url = None if is_sqlite else database_url.replace(f"/{database_name(database_url)}?", "/postgres?")
    prepared = _template_of_today(server_url)
    shutil.copytree(prepared.data, data, dirs_exist_ok=True)  # the file of SQLite may be in this folder
    if server_url is None:
        shutil.copy(prepared.data.with_name(RECORDS), str(url.database))
    else:
        replace_postgres_database(server_url, database_name(database_url), template=prepared.template)
    return prepared.made.public()


def remove_template() -> None:
    """Remove what was prepared outside of pytest's folders."""
    for folder in _prepared:
        shutil.rmtree(folder)
