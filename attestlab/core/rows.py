"""Fingerprints of rows, by which the audit trail remembers what it left behind.

Whoever changes a row audits the SHA-256 of what the row is now; a row that differs
from the last one audited was changed behind the service's back.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Row, Table, select

from attestlab.core.audit import AuditEvent
from attestlab.core.canonical import canonical, sha256_hex
from attestlab.core.wire import b64url_encode, format_time

MEMBER = "row_sha256"
_audit: Any = AuditEvent.__table__  # type: ignore[attr-defined]  # SQLModel sets it on every table class


def row_sha256(table: Table, row: Mapping[str, Any]) -> str:
    """The fingerprint of a row: SHA-256 (hex) of its columns as canonical JSON.

    Bytes count as base64url, times as they go over the wire, ids as text.
    """
    return sha256_hex(canonical({column.name: _plain(row[column.name]) for column in table.columns}))


def _plain(value: Any) -> Any:
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, bytes):
        return b64url_encode(value)
    if isinstance(value, datetime):
        return format_time(value)
    return value


def unaccounted(
    connection: Connection, table: Table, *, resource_type: str, name: Callable[[Row[Any]], str]
) -> Iterator[tuple[str, str]]:
    """Rows that are not what the trail left behind, as (resource id, what is wrong)."""
    audited = dict(_last_audited(connection, resource_type))
    for row in connection.execution_options(yield_per=500).execute(select(table)):
        resource_id = name(row)
        expected = audited.pop(resource_id, None)
        if expected is None:
            yield resource_id, "the row was never audited"
        elif expected != row_sha256(table, row._mapping):
            yield resource_id, "the row differs from what was audited last"
    for resource_id in audited:
        yield resource_id, "the row was audited and is gone"


def _last_audited(connection: Connection, resource_type: str) -> Iterable[tuple[str, str]]:
    """The last fingerprint of each resource; a later line of the same resource wins."""
    lines = select(_audit.c.resource_id, _audit.c.record).where(_audit.c.resource_type == resource_type)
    for resource_id, record in connection.execute(lines.order_by(_audit.c.tenant_id, _audit.c.seq)):
        fingerprint = json.loads(record)["metadata"].get(MEMBER)
        if fingerprint is not None:
            yield resource_id, fingerprint
