"""Fingerprints of rows, by which the audit trail remembers what it left behind.

Whoever changes a row audits the SHA-256 of what the row is now; a row that differs
from the last one audited was changed behind the service's back.
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

from attestlab.core.crypto.canonical_json import canonical_own, sha256_hex
from attestlab.core.db.tables import table_of
from attestlab.core.db.transaction import AnyRow, bind_processor
from attestlab.core.errors import ValidationFailed
from attestlab.core.records.audit import AuditEvent
from attestlab.core.strict_json import b64url_encode

MEMBER = "row_sha256"
_STORED = "stored_"
_audit = table_of(AuditEvent)


def row_sha256(table: Table, row: Mapping[str, Any]) -> str:
    """The fingerprint of a row: SHA-256 (hex) of its columns as canonical JSON.

    Bytes count as base64url, ids as text, times in UTC to the last digit that is stored. A column
    that came `since` counts where it holds something, so that older fingerprints stay good.

    Raises:
        KeyError: a column is not in `row`; what the database would put there is not known yet.
    """
    return sha256_hex(canonical_own(_plain(table, row)))


class RowDigestTemplate:
    """`row_sha256` of rows that differ in the columns `but` alone: what they share is written once.

    Args:
        row: one of them; what it holds in those columns does not matter.
    """

    def __init__(self, table: Table, row: Mapping[str, Any], *, but: tuple[str, ...]) -> None:
        self._but = tuple(sorted(but))
        holes = {name: token_hex(16) for name in self._but}
        text = canonical_own(_plain(table, {**row, **dict.fromkeys(but)}) | holes)
        self._parts: list[bytes] = []
        for hole in holes.values():
            part, _, text = text.partition(canonical_own(hole))
            self._parts += [part, b""]
        self._parts.append(text)

    def sha256(self, row: Mapping[str, Any]) -> str:
        """The fingerprint of a row; times are in UTC."""
        parts = self._parts.copy()
        parts[1::2] = [canonical_own(row[name]) for name in self._but]
        return sha256_hex(b"".join(parts))


def _plain(table: Table, row: Mapping[str, Any]) -> dict[str, Any]:
    columns = _columns(table)
    plain = dict(zip(columns.all, columns.pick(row), strict=True))
    for name in columns.bytes:
        if plain[name] is not None:
            plain[name] = b64url_encode(plain[name])
    for name in columns.times:
        if plain[name] is not None and plain[name].tzinfo is not UTC:
            plain[name] = plain[name].astimezone(UTC)
    for name in columns.since:
        if plain[name] is None:
            del plain[name]
    return plain


class _Columns:
    """The columns of a table, for speed: every mint asks this of its row.

    `all` stand in the order in which they are written. `bytes` the JSON cannot hold as they are; `times` in UTC it
    writes as `isoformat` does. `since` are those that a later revision added, nullable:
    `sa_column_kwargs={"info": SINCE_0003}`.
    """

    def __init__(self, table: Table) -> None:
        self.all = sorted(column.name for column in table.columns)
        self.pick = itemgetter(*self.all)
        self.bytes = [column.name for column in table.columns if isinstance(column.type, LargeBinary)]
        self.times = [column.name for column in table.columns if isinstance(column.type, UTCDateTime)]
        self.since = [column.name for column in table.columns if "since" in column.info]


_columns = cache(_Columns)


def find_unaudited(
    connection: Connection, table: Table, *, resource_type: str, name: Callable[[AnyRow], str]
) -> Iterator[tuple[str, str]]:
    """Rows that are not what the trail left behind, as (resource id, what is wrong).

    All fingerprints of the type are held in memory, some 300 bytes a row.
    """
    audited = dict(_last_audited(connection, resource_type))
    spelled = _spellings(connection, table)
    try:
        for row in _rows(connection, table, spelled):
            resource_id = name(row)
            fault = _fault(table, row, spelled, audited.pop(resource_id, None))
            if fault is not None:
                yield resource_id, fault
    except (ValueError, TypeError, DBAPIError) as fault:
        yield table.name, f"a row cannot be read: {fault}"
        return
    for resource_id in audited:
        yield resource_id, "the row was audited and is gone"


def find_noncanonical(connection: Connection, table: Table) -> Iterator[str]:
    """Columns with values that we would have written in another way: they read as ours, and are not found as ours."""
    spelled = {name: write for name, write in _spellings(connection, table).items() if not _is_bytes(table.c[name])}
    if not spelled:
        return
    for row in connection.execute(_with_spellings([table.c[name] for name in spelled], table, spelled)):
        values = row._mapping
        yield from (name for name, write in spelled.items() if write(values[name]) != values[_STORED + name])


def _is_bytes(column: Column[Any]) -> bool:
    return isinstance(column.type, LargeBinary)  # whose processor changes nothing


def _fault(table: Table, row: AnyRow, spelled: Mapping[str, Any], expected: str | None) -> str | None:
    if expected is None:
        return "the row was never audited"
    values = dict(row._mapping)
    try:
        same = row_sha256(table, values) == expected
    except ValidationFailed:
        same = False
    if not same or any(write(values[name]) != values[_STORED + name] for name, write in spelled.items()):
        return "the row differs from what was audited last"
    return None


def _spellings(connection: Connection, table: Table) -> dict[str, Callable[[Any], Any]]:
    """How values of a type are written that SQLite keeps as text or number.

    There one value has many spellings (an id in capitals, a flag of 2), which read alike and
    are not found alike; a row in another spelling than ours was not written by us.
    """
    if connection.dialect.name != "sqlite":
        return {}
    writers = {column.name: bind_processor(table, column.name) for column in table.columns}
    return {name: writer for name, writer in writers.items() if writer is not None}


def _rows(connection: Connection, table: Table, spelled: Iterable[str]) -> Iterator[AnyRow]:
    yield from connection.execute(_with_spellings(table.c, table, spelled))


def _with_spellings(columns: Iterable[Column[Any]], table: Table, spelled: Iterable[str]) -> Executable:
    """The columns as they read, and beside them those that are spelled as they are stored."""
    as_stored = [type_coerce(table.c[name], NullType()).label(_STORED + name) for name in spelled]
    return select(*columns, *as_stored).execution_options(yield_per=500)


def _last_audited(connection: Connection, resource_type: str) -> Iterator[tuple[str, str]]:
    """The last fingerprint of each resource; a later line of the same resource wins."""
    lines = select(_audit.c.resource_id, _audit.c.record).where(_audit.c.resource_type == resource_type)
    ordered = lines.order_by(_audit.c.tenant_id, _audit.c.seq).execution_options(yield_per=500)
    for resource_id, record in connection.execute(ordered):
        fingerprint = orjson.loads(record)["metadata"].get(MEMBER)
        if fingerprint is not None:
            yield resource_id, fingerprint
