"""Row digests.

Every change records the row's SHA-256 in the audit trail, so that a change made outside
the service is detected: the row then differs from its last audited digest.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from operator import itemgetter
from typing import Final

from sqlalchemy import LargeBinary, Table
from sqlmodel.sql.sqltypes import UTCDateTime

from attestlab.core.crypto.canonical_json import canonical_trusted, sha256_hex
from attestlab.core.encoding import b64url_encode

METADATA_KEY = "row_sha256"
UNDIGESTED: Final = {"info": {"digested": False}}


def row_sha256(table: Table, row: Mapping[str, object]) -> str:
    """Compute the digest of a row: SHA-256 (hex) of its columns as canonical JSON.

    Bytes are written as base64url, ids as text, times in UTC with all stored digits. A column that a later
    revision added (`since`) is included only if it is not null, so that older digests stay valid. A column that is
    UNDIGESTED is left out: a key that the audit entry names anyway, or what may change without an audit entry.

    Raises:
        KeyError: a column is not in `row`; the value that the database would store is not known yet.
    """
    return sha256_hex(canonical_trusted(_json_row(table, row)))


def _json_row(table: Table, row: Mapping[str, object]) -> dict[str, object]:
    columns = _columns(table)
    values = dict(zip(columns.all, columns.get_values(row), strict=True))
    for name in columns.bytes:
        if isinstance(value := values[name], bytes):
            values[name] = b64url_encode(value)
    for name in columns.times:
        if isinstance(at := values[name], datetime) and at.tzinfo is not UTC:
            values[name] = at.astimezone(UTC)
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
        digested = [column for column in table.columns if column.info.get("digested", True)]
        self.all = sorted(column.name for column in digested)
        self.get_values = itemgetter(*self.all)
        self.bytes = [column.name for column in digested if isinstance(column.type, LargeBinary)]
        self.times = [column.name for column in digested if isinstance(column.type, UTCDateTime)]
        self.since = [column.name for column in digested if "since" in column.info]


_columns = cache(_Columns)
