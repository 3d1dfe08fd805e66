"""Queries of receipts; every query names its columns and binds values as parameters."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import ARRAY, ColumnElement, Connection, Uuid, any_, bindparam, func, or_, select

from attestlab.attestations.evidence_queries import (
    CurrentIssuer,
    CurrentKey,
    EvidenceQuery,
    is_key_of,
    keys,
    leaves,
)
from attestlab.core.db.conditions import holds_text
from attestlab.core.db.foreseen_reads import ForeseenRead
from attestlab.core.db.tables import Execute, fetch_all, fetch_one, table_of
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import NotFound
from attestlab.core.filters import build_conditions
from attestlab.receipts.shapes import ReceiptFilters, SearchReceiptsIn
from attestlab.receipts.tables import Receipt, ReceiptRecord
from attestlab.receipts.types.store import types

receipts = table_of(Receipt)

_COLUMNS = tuple(receipts.c)
PAGE = 500
_EVIDENCE = EvidenceQuery(receipts, ReceiptRecord)
_OWNED = select(*_COLUMNS).where(receipts.c.id == bindparam("id"), receipts.c.tenant_id == bindparam("tenant_id"))
_TAKEN = select(receipts.c.id).where(receipts.c.id == bindparam("id"))
_ALL_TAKEN = select(receipts.c.id).where(receipts.c.id == any_(bindparam("ids", type_=ARRAY(Uuid()))))
_TYPE_STATUS = select(types.c.status).where(types.c.id == bindparam("id"))
_ALL_TYPE_STATUSES = select(types.c.id, types.c.status).where(types.c.id == any_(bindparam("ids", type_=ARRAY(Uuid()))))
_SIGNED = (
    select(*_COLUMNS, keys.c.spki, leaves.c.entry)
    .select_from(
        receipts.outerjoin(keys, is_key_of(receipts)).outerjoin(leaves, leaves.c.index == receipts.c.log_index)
    )
    .order_by(receipts.c.id)
    .execution_options(yield_per=PAGE)
)


class ReceiptEvidence(NamedTuple):
    """A receipt with its issuer, key, log entry, and the plan of its tenant; None is a missing row."""

    row: ReceiptRecord
    issuer: CurrentIssuer | None
    key: CurrentKey | None
    entry: bytes | None
    plan: str | None
    adjustments: str | None
    addons: str | None


class SignedReceipt(NamedTuple):
    """A receipt with the key and the log entry that it is checked against; None is a missing row."""

    row: ReceiptRecord
    spki: bytes | None
    entry: bytes | None


def get(execute: Execute, receipt_id: UUID, *, tenant_id: UUID) -> ReceiptRecord:
    """Get a receipt of the tenant; those of other tenants are not found.

    Raises:
        NotFound: the tenant has no such receipt.
    """
    found = fetch_one(execute(_OWNED, {"id": receipt_id, "tenant_id": tenant_id}), ReceiptRecord)
    if found is None:
        raise NotFound("receipt", receipt_id)
    return found


def find_with_evidence(connection: Connection, receipt_id: UUID) -> ReceiptEvidence | None:
    """Find a receipt of any tenant with its issuer, key and log entry; None if there is none."""
    found = _EVIDENCE.find(connection, receipt_id)
    return None if found is None else ReceiptEvidence._make(found)


def iterate_signed(connection: Connection) -> Iterator[SignedReceipt]:
    """Yield all receipts with their keys and log entries, reading page by page."""
    for row in connection.execute(_SIGNED):
        yield SignedReceipt(ReceiptRecord._make(row[: len(_COLUMNS)]), *row[len(_COLUMNS) :])


def count_signed(tx: Transaction, tenant_id: UUID, kid: str) -> int:
    """Count the receipts that a tenant's key has signed, including those of this transaction."""
    by_key = (receipts.c.tenant_id == tenant_id, receipts.c.kid == kid)
    return int(tx.exec(select(func.count()).select_from(receipts).where(*by_key)).scalar_one())


def find_log_index(execute: Execute, receipt_id: UUID) -> int | None:
    """Return the log index of the mint of a receipt of any tenant, or None."""
    index: int | None = execute(select(receipts.c.log_index).where(receipts.c.id == receipt_id)).scalar()
    return index


def find_taken_id(execute: Execute, receipt_id: UUID) -> bool:
    """Return whether a receipt of any tenant has this id."""
    return execute(_TAKEN, {"id": receipt_id}).first() is not None


def find_taken_ids(execute: Execute, receipt_ids: Collection[UUID]) -> dict[UUID, bool]:
    """Find those of these ids that a receipt of any tenant has, on PostgreSQL."""
    return dict.fromkeys(execute(_ALL_TAKEN, {"ids": list(receipt_ids)}).scalars(), True)


def find_type_status(execute: Execute, type_id: UUID) -> str | None:
    """Return the status of a version of a receipt type."""
    status: str | None = execute(_TYPE_STATUS, {"id": type_id}).scalar()
    return status


def find_type_statuses(execute: Execute, type_ids: Collection[UUID]) -> dict[UUID, str]:
    """Return the statuses of these versions of receipt types, on PostgreSQL."""
    return {row[0]: row[1] for row in execute(_ALL_TYPE_STATUSES, {"ids": list(type_ids)})}


TAKEN_IDS = ForeseenRead("taken receipt ids", find=find_taken_id, find_all=find_taken_ids)
TYPE_STATUSES = ForeseenRead("statuses of receipt types", find=find_type_status, find_all=find_type_statuses)


def page(
    execute: Execute, criteria: ReceiptFilters, *, tenant_id: UUID, before: int | None, offset: int, limit: int
) -> Sequence[ReceiptRecord]:
    """List the tenant's receipts in descending order of log index, below `before`."""
    query = select(*_COLUMNS).where(*_conditions(criteria, tenant_id))
    if before is not None:
        query = query.where(receipts.c.log_index < before)
    newest_first = query.order_by(receipts.c.log_index.desc()).limit(limit).offset(offset)
    return fetch_all(execute(newest_first), ReceiptRecord)


def search(execute: Execute, criteria: SearchReceiptsIn, *, tenant_id: UUID) -> tuple[Sequence[ReceiptRecord], int]:
    """Find the tenant's receipts, newest first, and count all that match."""
    conditions = _conditions(criteria, tenant_id)
    if criteria.q is not None:
        conditions.append(_mentions(criteria.q))
    newest_first = select(*_COLUMNS).where(*conditions).order_by(receipts.c.log_index.desc())
    found = fetch_all(execute(newest_first.limit(criteria.limit).offset(criteria.offset)), ReceiptRecord)
    total = execute(select(func.count()).select_from(receipts).where(*conditions)).scalar_one()
    return found, int(total)


def _conditions(criteria: ReceiptFilters, tenant_id: UUID) -> list[ColumnElement[bool]]:
    return [receipts.c.tenant_id == tenant_id, *build_conditions(criteria, receipts.c)]


def _mentions(text: str) -> ColumnElement[bool]:
    """Look for a text in what people name a receipt by, and in its metadata."""
    in_json = json.dumps(text, ensure_ascii=False)[1:-1]  # as the metadata writes it
    wanted = {"subject": text, "receipt_type": text, "extra": in_json}
    return or_(*(holds_text(receipts.c[name], value) for name, value in wanted.items()))


def find_outdated(tx: Transaction, *, now: datetime, limit: int) -> Sequence[ReceiptRecord]:
    """Find up to `limit` receipts of all tenants whose payloads are kept no longer, earliest first."""
    due = (receipts.c.redacted_at.is_(None), receipts.c.retain_until <= now)
    query = select(*_COLUMNS).where(*due).order_by(receipts.c.retain_until).limit(limit)
    return fetch_all(tx.exec(query), ReceiptRecord)
