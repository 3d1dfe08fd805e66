"""`attestlab.open`: a lab on an installation of this machine or of a database, in this process."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import cast
from uuid import UUID

import httpx

from attestlab.client.arguments import is_folder, is_uuid
from attestlab.client.lab import Lab
from attestlab.client.service_client import LocalRows, ServiceClient
from attestlab.client.service_errors import LabClosed
from attestlab.core.db.urls import database_url, names_database
from attestlab.core.encoding import quote
from attestlab.core.errors import ValidationFailed
from attestlab.core.extras import require_extra
from attestlab.core.json_types import SqlParameters
from attestlab.core.urls import quote_url
from attestlab.embedded.service_thread import ServiceThread
from attestlab.embedded.transport import EmbeddedTransport
from attestlab.installation import Installation
from attestlab.lake import store as lake_store
from attestlab.orgs import store as org_store
from attestlab.settings import PREFIX, Settings

_HOST = "http://in.process"
_RECORDS = "records.db"
KEY_HEADER = "X-API-Key"


class EmbeddedDoor:
    """The door to an installation in this process; its labs act for any tenant, because they hold its keys."""

    def __init__(
        self, installation: Installation, *, place: str | None = None, on_closed: Callable[[], None] = lambda: None
    ) -> None:
        self.installation = installation
        self.place = place or str(installation.settings.data)
        self.public_url = installation.portal_url
        self._service = ServiceThread(installation)
        uncompressed = {"Accept-Encoding": "identity"}  # no wire between the two is worth the time
        self.http = httpx.Client(
            transport=EmbeddedTransport(self._service), base_url=_HOST, timeout=None, headers=uncompressed
        )
        # A lab that a program forgets to close is closed when the interpreter exits.
        self._finalizer = weakref.finalize(self, _close, self._service, self.http, installation, on_closed)

    def headers_of(self, tenant: UUID | str | None) -> Mapping[str, str]:
        """Return the headers of a request for a tenant; by default the operator's."""
        return {KEY_HEADER: str(self._find_tenant(tenant))}

    def open_local_rows(
        self, headers: Mapping[str, str], query: str, parameters: object, frames: Mapping[str, object]
    ) -> LocalRows | None:
        """Open the rows of a query for the tenant that the headers name; None for a person who signed in."""
        if KEY_HEADER not in headers:
            return None
        self._require_open()
        from attestlab.embedded import local_rows  # loads pyarrow and DuckDB, at the first rows

        caller = self.installation.orgs.service_caller(UUID(headers[KEY_HEADER]))
        given = cast(SqlParameters, parameters)
        return local_rows.open_local_rows(self.installation.lake(caller), query, given, frames)

    def close(self) -> None:
        """Commit what was accepted, stop the service's thread, and close the installation."""
        self._finalizer()

    def _require_open(self) -> None:
        if not self._finalizer.alive:
            raise LabClosed

    def _find_tenant(self, tenant: UUID | str | None) -> UUID:
        self._require_open()
        with self.installation.storage.read() as connection:
            if tenant is None:
                return lake_store.get_operator_id(connection)
            if isinstance(tenant, str) and not is_uuid(tenant):
                return org_store.find_tenant_by_name(connection.execute, tenant)
            return org_store.get_tenant(connection.execute, UUID(str(tenant))).id


def open_lab(folder_or_url: str | PathLike[str], *, data: str | PathLike[str] | None = None) -> Lab:
    """Open an installation in this process; a context manager.

    Args:
        folder_or_url: the data folder of an installation, or the SQLite or PostgreSQL URL of its records.
        data: with a URL, the folder of its key, head guard and lake; by default `ATTESTLAB_DATA`, or the folder of
            the SQLite file.

    Returns:
        The lab of this process; leaving its `with` block, or `close`, ends the service in it.

    Raises:
        ValidationFailed: there is no installation; the message names the remedy.
        KeyringMismatch: the records are sealed under another key-encryption key.
        MissingExtra: a package of the extra `server` is not installed.

    >>> import attestlab
    >>> with attestlab.open("lab") as lab:
    ...     print(lab.me().tenant_name)
    Operator
    """
    require_extra("server")
    return serve(Installation.open(_read_settings(folder_or_url, data)))


def serve(installation: Installation, *, place: str | None = None, on_closed: Callable[[], None] = lambda: None) -> Lab:
    """Open a lab on an open installation, which it closes; `on_closed` runs after that.

    `place` is how the lab names itself; by default the data folder.
    """
    door = EmbeddedDoor(installation, place=place, on_closed=on_closed)
    client = ServiceClient(
        door.http,
        headers=door.headers_of(None),
        place=door.place,
        public_url=door.public_url,
        open_local_rows=door.open_local_rows,
    )
    return Lab(door, client)


def _close(
    service: ServiceThread, http: httpx.Client, installation: Installation, on_closed: Callable[[], None]
) -> None:
    try:
        service.close()
        http.close()
    finally:
        installation.close()
        on_closed()


def _read_settings(place: object, data: object) -> Settings:
    if not isinstance(place, str | PathLike) or not isinstance(data, str | PathLike | None):
        wrong = place if not isinstance(place, str | PathLike) else data
        raise ValidationFailed(
            f"A value of type {type(wrong).__name__} is no folder. Pass a path, or the URL of a database."
        )
    text = fspath(place)
    if isinstance(text, bytes):
        raise ValidationFailed("Pass the folder as text, not as bytes.")
    scheme, colon, _ = text.partition("://")
    if not colon and not names_database(text):
        return _settings_of_folder(text, data)
    if scheme in ("http", "https"):
        shown = quote_url(text)
        raise ValidationFailed(f"{shown} is a service. Connect to it: attestlab.connect({shown}, api_key).")
    return _settings_of_database(text, data)


def _settings_of_folder(text: str, data: object) -> Settings:
    folder = _expand(text)
    if data is not None:
        raise ValidationFailed("`data` belongs to a database URL. Pass the folder alone.")
    if not is_folder(folder):
        raise ValidationFailed(
            f"There is no folder {quote(text)}. Create an installation: attestlab init --data {text}"
        )
    url = os.environ.get(f"{PREFIX}DATABASE_URL")
    if (folder / _RECORDS).is_file() or not url:
        _require_records(folder / _RECORDS, folder)
        return Settings(data=folder, database_url=None)
    return Settings(data=folder, database_url=url)


def _settings_of_database(url: str, data: object) -> Settings:
    chosen = str(data) if data is not None else os.environ.get(f"{PREFIX}DATA")
    parsed = database_url(url)
    is_sqlite = parsed.get_backend_name() == "sqlite"
    if is_sqlite:
        file = Path(parsed.database or "")
        _require_records(file, file.parent)
        chosen = chosen or str(file.parent)
    if not chosen:
        raise ValidationFailed(
            "Which folder has the installation's key and head guard? Pass data=folder, or set ATTESTLAB_DATA."
        )
    folder = _expand(chosen)
    if not is_folder(folder):
        raise ValidationFailed(f"There is no folder {quote(chosen)}. Pass the data folder of the installation.")
    return Settings(data=folder, database_url=url)


def _expand(text: str) -> Path:
    try:
        return Path(text).expanduser()
    except RuntimeError as error:  # a home that is not known
        raise ValidationFailed(f"There is no folder {quote(text)}: {error}") from None


def _require_records(file: Path, folder: Path) -> None:
    """Require a file of records, because opening a missing one would create it.

    Raises:
        ValidationFailed: there is none.
    """
    if not file.is_file():
        raise ValidationFailed(
            f"There is no installation in {quote(str(folder))}. Create one: attestlab init --data {folder}"
        )
