"""Data sets of rows that change, such as issuers: they are read from the records, as of one transaction.

They are not exported, because a part never changes. The rows of a query are written to an unnamed temporary file in
batches and mapped into memory from there, so that a million cases take no more memory than a thousand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from tempfile import NamedTemporaryFile
from typing import NamedTuple
from uuid import UUID

import pyarrow as pa
from sqlalchemy import Connection

from attestlab.core.errors import Unavailable
from attestlab.lake import store
from attestlab.lake.datasets import BOOL, NUMBER, TEXT, TIME, WHOLE, make_columns

MAX_BATCH_ROWS = 2_000
MAX_BATCH_CHARS = 1 << 22  # of texts; a batch ends with the row that reaches it


@dataclass(frozen=True)
class CurrentRows:
    """Rows of one type as they are now; `read` returns those of a tenant as records, whose fields are `columns`."""

    name: str
    columns: dict[str, pa.DataType]
    read: Callable[[Connection, UUID], Iterator[NamedTuple]]

    def table(self, connection: Connection, tenant_id: UUID) -> pa.Table:
        """Return the rows of a tenant, in memory that is mapped from a file without a name.

        Raises:
            Unavailable: the folder for temporary files takes no more.
        """
        schema = pa.schema(list(self.columns.items()))
        return _map_batches(schema, _make_batches(schema, self.read(connection, tenant_id)))


def _make_batches(schema: pa.Schema, rows: Iterator[NamedTuple]) -> Iterator[pa.RecordBatch]:
    while batch := list(_take_batch(rows)):
        columns = {name: [_to_value(getattr(row, name)) for row in batch] for name in schema.names}
        yield pa.record_batch(columns, schema=schema)


def _take_batch(rows: Iterator[NamedTuple]) -> Iterator[NamedTuple]:
    chars = 0
    for row in islice(rows, MAX_BATCH_ROWS):
        yield row
        chars += sum(len(value) for value in row if type(value) is str)
        if chars >= MAX_BATCH_CHARS:
            return


def _to_value(value: object) -> object:
    return str(value) if type(value) is UUID else value


def _map_batches(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> pa.Table:
    """Write batches to a file, map it and remove its name; the table keeps the file's content alive."""
    try:
        with NamedTemporaryFile(prefix="attestlab-rows-") as file:
            with pa.ipc.new_file(file, schema) as writer:
                for batch in batches:
                    writer.write_batch(batch)
            file.flush()
            with pa.memory_map(file.name) as mapped:
                return pa.ipc.open_file(mapped).read_all()
    except OSError as error:
        message = f"The server's folder for temporary files takes no more: {error.strerror}. Retry later."
        raise Unavailable(message) from error


ISSUERS = CurrentRows(
    "issuers",
    {
        **make_columns(TEXT, "id tenant_id name domain legal_name display_name"),
        **make_columns(TEXT, "status trust_tier risk_rating jurisdiction"),
        "revoked_index": WHOLE,
        **make_columns(TIME, "domain_proven_at created_at updated_at"),
    },
    store.select_issuers,
)
POLICIES = CurrentRows(
    "policies",
    {
        **make_columns(TEXT, "id tenant_id name category target_type target_id status digest document"),
        **make_columns(WHOLE, "version active_version shadow_version"),
        **make_columns(TIME, "created_at updated_at"),
    },
    store.select_policies,
)
CASES = CurrentRows(
    "cases",
    {
        **make_columns(TEXT, "id tenant_id entity_type entity_id status outcome note resolved_by"),
        "signal_count": WHOLE,
        "max_score": NUMBER,
        **make_columns(TIME, "opened_at resolved_at"),
    },
    store.select_cases,
)
CHALLENGES = CurrentRows(
    "challenges",
    {
        **make_columns(TEXT, "id tenant_id subject_type subject_id reason created_by"),
        "risk_score": WHOLE,
        "challenge_required": BOOL,
        "created_at": TIME,
    },
    store.select_challenges,
)
ALL = (ISSUERS, POLICIES, CASES, CHALLENGES)
