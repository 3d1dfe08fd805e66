"""Data sets of rows that change, such as issuers: they are read from the records, as of one transaction.

They are not exported, because a part never changes. The rows of a query are written to an unnamed temporary file in
batches and mapped into memory from there, so that a million cases take no more memory than a thousand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from tempfile import NamedTemporaryFile
from typing import NamedTuple
from uuid import UUID

import pyarrow as pa
from sqlalchemy import Connection

from attestlab.billing import lake_rows
from attestlab.core.errors import Unavailable
from attestlab.lake import current_queries
from attestlab.lake.columns import BOOL, NUMBER, TEXT, TIME, WHOLE, Column, list_types

MAX_BATCH_ROWS = 2_000
MAX_BATCH_CHARS = 1 << 22  # of texts; a batch ends with the row that reaches it


@dataclass(frozen=True)
class CurrentRows:
    """Rows of one type as they are now; `read` returns those of a tenant as records, whose fields are the columns."""

    name: str
    declarations: dict[str, Column]
    read: Callable[[Connection, UUID], Iterator[NamedTuple]]

    @cached_property
    def columns(self) -> dict[str, pa.DataType]:
        """The types of the columns in Arrow."""
        return list_types(self.declarations)

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
        "id": Column(TEXT, "The issuer. Format: UUID, 36 characters."),
        "tenant_id": Column(TEXT, "The tenant. Format: UUID, 36 characters."),
        "name": Column(TEXT, "Its name. Format: 1-200 characters. Source: SPEC Issuer."),
        "domain": Column(TEXT, "Its domain. Format: a host name. Source: SPEC Issuer."),
        "legal_name": Column(TEXT, "The name in law. Format: 1-200 characters. Source: SPEC Issuer.", nullable=True),
        "display_name": Column(
            TEXT, "The name that people see. Format: 1-200 characters. Source: SPEC Issuer.", nullable=True
        ),
        "status": Column(TEXT, "Its status now. Format: an issuer status."),
        "trust_tier": Column(TEXT, "How well it is known now. Format: a trust tier."),
        "risk_rating": Column(TEXT, "Its rating now. Format: a risk rating."),
        "jurisdiction": Column(TEXT, "Its country. Format: ISO 3166-1 alpha-2. Source: SPEC Issuer.", nullable=True),
        "revoked_index": Column(WHOLE, "The log entry that revoked it. Format: from 0.", nullable=True),
        "domain_proven_at": Column(
            TIME, "When its present domain was proven. Format: UTC, microseconds.", nullable=True
        ),
        "created_at": Column(TIME, "When it was registered. Format: UTC, microseconds."),
        "updated_at": Column(TIME, "When it last changed. Format: UTC, microseconds."),
    },
    current_queries.select_issuers,
)
POLICIES = CurrentRows(
    "policies",
    {
        "id": Column(TEXT, "The policy. Format: UUID, 36 characters. Source: docs/policies.md."),
        "tenant_id": Column(TEXT, "The tenant. Format: UUID, 36 characters."),
        "name": Column(TEXT, "Its name. Format: 1-128 characters. Source: docs/policies.md."),
        "category": Column(
            TEXT, "The action that it decides about. Format: MINT, VERIFY or BUNDLE_EXPORT. Source: docs/policies.md."
        ),
        "target_type": Column(
            TEXT,
            "The type of the target. Format: ISSUER, VERIFICATION_PROFILE or TENANT_DEFAULT. Source: docs/policies.md.",
        ),
        "target_id": Column(
            TEXT, "The id of the target. Format: UUID, 36 characters. Source: docs/policies.md.", nullable=True
        ),
        "status": Column(TEXT, "Its status now. Format: DRAFT, SHADOW, ACTIVE or ARCHIVED. Source: docs/policies.md."),
        "digest": Column(
            TEXT, "Digest of the newest version. Format: SHA-256, 64 lowercase hex digits. Source: docs/policies.md."
        ),
        "document": Column(TEXT, "The newest version. Format: canonical JSON. Source: docs/policies.md."),
        "version": Column(WHOLE, "The number of the newest version. Format: from 1. Source: docs/policies.md."),
        "active_version": Column(
            WHOLE, "The version that decides. Format: from 1. Source: docs/policies.md.", nullable=True
        ),
        "shadow_version": Column(
            WHOLE, "The version that is only observed. Format: from 1. Source: docs/policies.md.", nullable=True
        ),
        "created_at": Column(TIME, "When it was created. Format: UTC, microseconds."),
        "updated_at": Column(TIME, "When it last changed. Format: UTC, microseconds."),
    },
    current_queries.select_policies,
)
CASES = CurrentRows(
    "cases",
    {
        "id": Column(TEXT, "The case. Format: UUID, 36 characters. Source: docs/risk.md."),
        "tenant_id": Column(TEXT, "The tenant. Format: UUID, 36 characters."),
        "entity_type": Column(
            TEXT,
            "What the case is about. "
            "Format: user, device, ip, document, session, issuer or attestation. "
            "Source: docs/risk.md.",
        ),
        "entity_id": Column(TEXT, "The id of that entity. Format: at most 256 characters. Source: docs/risk.md."),
        "status": Column(TEXT, "Its status now. Format: open or resolved. Source: docs/risk.md."),
        "outcome": Column(
            TEXT,
            "What it turned out to be. Format: fraud, legitimate or inconclusive. Source: docs/risk.md.",
            nullable=True,
        ),
        "note": Column(
            TEXT,
            "What the person who resolved it wrote. Format: at most 2000 characters. Source: docs/risk.md.",
            nullable=True,
        ),
        "resolved_by": Column(TEXT, "Who resolved it. Format: an id. Source: docs/risk.md.", nullable=True),
        "signal_count": Column(WHOLE, "Its signals. Format: from 1. Source: docs/risk.md."),
        "max_score": Column(NUMBER, "The highest score of its signals. Format: from 0 to 100. Source: docs/risk.md."),
        "opened_at": Column(TIME, "When it was opened. Format: UTC, microseconds. Source: docs/risk.md."),
        "resolved_at": Column(
            TIME, "When it was resolved. Format: UTC, microseconds. Source: docs/risk.md.", nullable=True
        ),
    },
    current_queries.select_cases,
)
CHALLENGES = CurrentRows(
    "challenges",
    {
        "id": Column(TEXT, "The decision. Format: UUID, 36 characters. Source: docs/risk.md."),
        "tenant_id": Column(TEXT, "The tenant. Format: UUID, 36 characters."),
        "subject_type": Column(
            TEXT, "The type of the subject. Format: a-z, 0-9 and _, at most 64. Source: docs/risk.md."
        ),
        "subject_id": Column(TEXT, "The subject. Format: at most 256 characters. Source: docs/risk.md."),
        "reason": Column(TEXT, "Why it was challenged. Format: at most 1024 characters. Source: docs/risk.md."),
        "created_by": Column(TEXT, "Who decided. Format: an id. Source: docs/risk.md."),
        "risk_score": Column(
            WHOLE, "The score that led to it. Format: from 0 to 100. Source: docs/risk.md.", nullable=True
        ),
        "challenge_required": Column(
            BOOL, "False if an allow entry names the subject. Format: true or false. Source: docs/risk.md."
        ),
        "created_at": Column(TIME, "When it was recorded. Format: UTC, microseconds."),
    },
    current_queries.select_challenges,
)
INBOX_ITEMS = CurrentRows(
    "inbox_items",
    {
        "id": Column(TEXT, "The delivery. Format: UUID, 36 characters. Source: docs/inbox.md."),
        "tenant_id": Column(TEXT, "The tenant of the issuer. Format: UUID, 36 characters."),
        "attestation_id": Column(TEXT, "The attestation. Format: UUID, 36 characters."),
        "issuer_id": Column(TEXT, "The issuer. Format: UUID, 36 characters."),
        "delivery_state": Column(TEXT, "Its state. Format: PENDING, DELIVERED or DECLINED. Source: docs/inbox.md."),
        "created_at": Column(TIME, "When the issuer named the recipient. Format: UTC, microseconds."),
        "delivered_at": Column(TIME, "When the recipient received it. Format: UTC, microseconds.", nullable=True),
        "declined_at": Column(TIME, "When the recipient declined it. Format: UTC, microseconds.", nullable=True),
    },
    current_queries.select_inbox_items,
)
USAGE = CurrentRows(
    "usage",
    {
        "tenant_id": Column(TEXT, "The tenant. Format: UUID, 36 characters."),
        "day": Column(TIME, "The day, by its start. Format: UTC, microseconds."),
        "resource": Column(TEXT, "What was used. Format: attestations or verifications."),
        "used": Column(WHOLE, "How often. Format: from 1."),
        "plan_limit": Column(WHOLE, "The limit of a day that holds now. Format: count.", nullable=True),
    },
    lake_rows.select_usage,
)
INVOICES = CurrentRows(
    "invoices",
    {
        "id": Column(TEXT, "The invoice. Format: UUID, 36 characters."),
        "tenant_id": Column(TEXT, "The tenant. Format: UUID, 36 characters."),
        "number": Column(TEXT, "Its number for people. Format: eight hexadecimal digits, a hyphen and a count."),
        "status": Column(TEXT, "Its state now. Format: open, paid or void."),
        "period_start": Column(TIME, "When the charged period begins. Format: UTC, microseconds."),
        "period_end": Column(TIME, "When the charged period ends. Format: UTC, microseconds."),
        "currency": Column(TEXT, "The currency. Format: ISO 4217."),
        "amount_minor": Column(WHOLE, "The sum of its lines. Format: the currency's minor unit."),
        "created_at": Column(TIME, "When it was issued. Format: UTC, microseconds."),
    },
    lake_rows.select_invoices,
)
ALL = (ISSUERS, POLICIES, CASES, CHALLENGES, INBOX_ITEMS, USAGE, INVOICES)
