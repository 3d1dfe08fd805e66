"""Row digests.

Every change records the row's SHA-256 in the audit trail, so that a change made outside
the service is detected: the row then differs from its last audited digest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC
from functools import cache
from operator import itemgetter
from secrets import token_hex
from typing import Any

import orjson
from sqlalchemy import Column, Connection, Executable, LargeBinary, Table, select, type_coerce
from sqlalchemy.exc import DBAPIError
from sqlalchemy.types import NullType
from sqlmodel.sql.sqltypes import UTCDateTime

from attestlab.core.crypto.canonical_json import canonical_trusted, sha256_hex
from attestlab.core.db.tables import table_of
from attestlab.core.db.transaction import AnyRow, bind_processor
from attestlab.core.encoding import b64url_encode
from attestlab.core.errors import ValidationFailed
from attestlab.core.records.audit import AuditEvent

METADATA_KEY = "row_sha256"
_STORED = "stored_"
_audit = table_of(AuditEvent)


def row_sha256(table: Table, row: Mapping[str, Any]) -> str:
    """Compute the digest of a row: SHA-256 (hex) of its columns as canonical JSON.

    Bytes are written as base64url, ids as text, times in UTC with all stored digits. A column that a later
    revision added (`since`) is included only if it is not null, so that older digests stay valid.

    Raises:
        KeyError: a column is not in `row`; the value that the database would store is not known yet.
    """
    return sha256_hex(canonical_trusted(_json_row(table, row)))


class RowDigestTemplate:
    """Computes `row_sha256` of rows that differ only in the columns `but`; the shared part is serialized once.

    Args:
        row: any of these rows; its values in the columns `but` are ignored.
    """

    def __init__(self, table: Table, row: Mapping[str, Any], *, but: tuple[str, ...]) -> None:
        self._but = tuple(sorted(but))
        holes = {name: token_hex(16) for name in self._but}
        text = canonical_trusted(_json_row(table, {**row, **dict.fromkeys(but)}) | holes)
        self._parts: list[bytes] = []
        for hole in holes.values():
            part, _, text = text.partition(canonical_trusted(hole))
            self._parts += [part, b""]
        self._parts.append(text)

    def sha256(self, row: Mapping[str, Any]) -> str:
        """Compute the digest of a row; times must be in UTC."""
        parts = self._parts.copy()
        parts[1::2] = [canonical_trusted(row[name]) for name in self._but]
        return sha256_hex(b"".join(parts))


def _json_row(table: Table, row: Mapping[str, Any]) -> dict[str, Any]:
    columns = _columns(table)
    values = dict(zip(columns.all, columns.get_values(row), strict=True))
    for name in columns.bytes:
        if values[name] is not None:
            values[name] = b64url_encode(values[name])
    for name in columns.times:
        if values[name] is not None and values[name].tzinfo is not UTC:
            values[name] = values[name].astimezone(UTC)
    for name in columns.since:
        if values[name] is None:
            del values[name]
    return values


class _Columns:
    """The columns of a table by kind, computed once because every mint digests its row.

    `all` is in the order of serialization. `bytes` need base64url; `times` must be in UTC, where the serializer
    writes them as `isoformat` does. `since` are the nullable columns that a later revision added:
    `sa_column_kwargs={"info": SINCE_0003}`.
    """

    def __init__(self, table: Table) -> None:
        self.all = sorted(column.name for column in table.columns)
        self.get_values = itemgetter(*self.all)
        self.bytes = [column.name for column in table.columns if isinstance(column.type, LargeBinary)]
        self.times = [column.name for column in table.columns if isinstance(column.type, UTCDateTime)]
        self.since = [column.name for column in table.columns if "since" in column.info]


_columns = cache(_Columns)


def find_unaudited(
    connection: Connection, table: Table, *, resource_type: str, name: Callable[[AnyRow], str]
) -> Iterator[tuple[str, str]]:
    """Yield the rows that differ from their last audited digest, as (resource id, problem).

    Holds all digests of the type in memory, some 300 bytes a row.
    """
    audited = dict(_last_digests(connection, resource_type))
    processors = _text_processors(connection, table)
    try:
        for row in _rows(connection, table, processors):
            resource_id = name(row)
            problem = _problem_of(table, row, processors, audited.pop(resource_id, None))
            if problem is not None:
                yield resource_id, problem
    except (ValueError, TypeError, DBAPIError) as error:
        yield table.name, f"a row cannot be read: {error}"
        return
    for resource_id in audited:
        yield resource_id, "the row was audited and is gone"


def find_noncanonical(connection: Connection, table: Table) -> Iterator[str]:
    """Yield the columns with non-canonical values: they read like ours, but queries by value do not find them."""
    processors = _text_processors(connection, table)
    processors = {name: process for name, process in processors.items() if not _is_bytes(table.c[name])}
    if not processors:
        return
    for row in connection.execute(_select_with_stored([table.c[name] for name in processors], table, processors)):
        values = row._mapping
        yield from (name for name, process in processors.items() if process(values[name]) != values[_STORED + name])


def _is_bytes(column: Column[Any]) -> bool:
    return isinstance(column.type, LargeBinary)  # its bind processor changes nothing


def _problem_of(table: Table, row: AnyRow, processors: Mapping[str, Any], expected: str | None) -> str | None:
    if expected is None:
        return "the row was never audited"
    values = dict(row._mapping)
    try:
        is_same = row_sha256(table, values) == expected
    except ValidationFailed:
        is_same = False
    if not is_same or any(process(values[name]) != values[_STORED + name] for name, process in processors.items()):
        return "the row differs from what was audited last"
    return None


def _text_processors(connection: Connection, table: Table) -> dict[str, Callable[[Any], Any]]:
    """Return the bind processors of the columns whose values SQLite stores as text or number.

    There one value has many spellings (an id in capitals, a flag of 2), which read alike but which a query
    by value does not find. The service writes one spelling, so a row with another one was written by others.
    """
    if connection.dialect.name != "sqlite":
        return {}
    processors = {column.name: bind_processor(table, column.name) for column in table.columns}
    return {name: process for name, process in processors.items() if process is not None}


def _rows(connection: Connection, table: Table, names: Iterable[str]) -> Iterator[AnyRow]:
    yield from connection.execute(_select_with_stored(table.c, table, names))


def _select_with_stored(columns: Iterable[Column[Any]], table: Table, names: Iterable[str]) -> Executable:
    """Select the columns, and those in `names` also in their stored spelling."""
    as_stored = [type_coerce(table.c[name], NullType()).label(_STORED + name) for name in names]
    return select(*columns, *as_stored).execution_options(yield_per=500)


def _last_digests(connection: Connection, resource_type: str) -> Iterator[tuple[str, str]]:
    """Yield the audited digests of all resources in order; the last one of a resource is the valid one."""
    entries = select(_audit.c.resource_id, _audit.c.record).where(_audit.c.resource_type == resource_type)
    ordered = entries.order_by(_audit.c.tenant_id, _audit.c.seq).execution_options(yield_per=500)
    for resource_id, record in connection.execute(ordered):
        digest = orjson.loads(record)["metadata"].get(METADATA_KEY)
        if digest is not None:
            yield resource_id, digest
