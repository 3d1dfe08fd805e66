"""Queries of receipt types; every query names its columns and binds values as parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from sqlalchemy import ColumnElement, Select, func, select

from attestlab.core.db.tables import Execute, fetch_all, fetch_one, table_of
from attestlab.core.errors import NotFound
from attestlab.core.filters import build_conditions
from attestlab.receipts.types.rules import TypeReference, TypeStatus
from attestlab.receipts.types.shapes import ReceiptTypesQuery
from attestlab.receipts.types.tables import ReceiptType, ReceiptTypeRecord

types = table_of(ReceiptType)
TYPES_CHANGED: Final = "receipt types changed"  # in a transaction's cache once it deprecated a version


def find_receipt_type(
    execute: Execute, tenant_id: UUID, name: str, version: str | None = None
) -> ReceiptTypeRecord | None:
    """Return a version of a tenant's type in any state, or its newest active version if none is named."""
    which = types.c.status == TypeStatus.ACTIVE.value if version is None else types.c.version == version
    return _find_newest(execute, tenant_id, name, which)


def get(execute: Execute, tenant_id: UUID, reference: TypeReference) -> ReceiptTypeRecord:
    """Return the named version of a tenant's type, or its newest one in any state.

    Raises:
        NotFound: the tenant has no such type, or no such version of it.
    """
    conditions = [] if reference.version is None else [types.c.version == reference.version]
    row = _find_newest(execute, tenant_id, reference.name, *conditions)
    if row is None:
        raise NotFound("receipt type", reference)
    return row


def find_newest(execute: Execute, tenant_id: UUID, name: str) -> ReceiptTypeRecord | None:
    """Return the newest version of a tenant's type, in any state."""
    return _find_newest(execute, tenant_id, name)


def list_active(execute: Execute, tenant_id: UUID, reference: TypeReference) -> Sequence[ReceiptTypeRecord]:
    """List the active versions that a reference names, newest first: without a version, all of the type."""
    query = _select_of(tenant_id, reference.name).where(types.c.status == TypeStatus.ACTIVE.value)
    if reference.version is not None:
        query = query.where(types.c.version == reference.version)
    return fetch_all(execute(query), ReceiptTypeRecord)


def count_active_names(execute: Execute, tenant_id: UUID) -> int:
    """Count the tenant's types that have an active version."""
    mine = (types.c.tenant_id == tenant_id, types.c.status == TypeStatus.ACTIVE.value)
    return int(execute(select(func.count(types.c.name.distinct())).where(*mine)).scalar_one())


def page(
    execute: Execute, tenant_id: UUID, query: ReceiptTypesQuery, *, before: UUID | None, offset: int, limit: int
) -> Sequence[ReceiptTypeRecord]:
    """List a tenant's types, newest first: every version, or of each name the newest one that the filters admit."""
    found = select(*types.c).where(types.c.tenant_id == tenant_id, *build_conditions(query, types.c))
    if query.versions != "all":
        found = found.where(_is_newest(query))
    if before is not None:
        found = found.where(types.c.id < before)
    return fetch_all(execute(found.order_by(types.c.id.desc()).offset(offset).limit(limit)), ReceiptTypeRecord)


def _is_newest(query: ReceiptTypesQuery) -> ColumnElement[bool]:
    later = types.alias("later")
    same = (later.c.tenant_id == types.c.tenant_id, later.c.name == types.c.name)
    higher = (later.c.ordinal > types.c.ordinal, *build_conditions(query, later.c))
    return ~select(later.c.id).where(*same, *higher).exists()


def _find_newest(
    execute: Execute, tenant_id: UUID, name: str, *conditions: ColumnElement[bool]
) -> ReceiptTypeRecord | None:
    return fetch_one(execute(_select_of(tenant_id, name).where(*conditions).limit(1)), ReceiptTypeRecord)


def _select_of(tenant_id: UUID, name: str) -> Select[tuple[object, ...]]:
    mine = (types.c.tenant_id == tenant_id, types.c.name == name)
    return select(*types.c).where(*mine).order_by(types.c.ordinal.desc())
