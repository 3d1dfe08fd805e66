"""Queries of items with issuers and attestations; every query names its columns and binds values as parameters."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import FromClause, Select, select, union_all

from attestlab.attestations.store import attestations
from attestlab.consumer.inbox.rules import ReadState
from attestlab.consumer.inbox.store import items
from attestlab.core.db.tables import Execute, fetch_all, fetch_one
from attestlab.core.errors import NotFound
from attestlab.issuers.store import issuers


class InboxEntry(NamedTuple):
    """An item as its recipient sees it; `status` is that of the attestation's row."""

    id: UUID
    issuer_id: UUID
    attestation_id: UUID
    state: str
    read_state: str
    safe_metadata: bytes | None
    created_at: datetime
    updated_at: datetime
    issuer_name: str
    schema_id: str
    status: str
    expiry_at: datetime | None


_ITEM_COLUMNS = InboxEntry._fields[:8]


def page(
    execute: Execute, account_id: UUID, read_states: Iterable[ReadState], *, before: UUID | None, limit: int
) -> list[InboxEntry]:
    """List the items of an account in these read states, newest first, before an item.

    Each state is a range of one index, of which no more rows are read than the page has.
    """
    of_each = [_select_newest(account_id, state, before, limit).subquery() for state in read_states]
    together = union_all(*map(select, of_each)).subquery()
    newest = select(together).order_by(together.c.id.desc()).limit(limit).subquery()
    return fetch_all(execute(_select_entries(newest).order_by(newest.c.id.desc())), InboxEntry)


def get_entry(execute: Execute, item_id: UUID, *, account_id: UUID) -> InboxEntry:
    """Return an item of an account.

    Raises:
        NotFound: the account has no such item.
    """
    query = _select_entries(items).where(items.c.id == item_id, items.c.user_id == account_id)
    entry = fetch_one(execute(query), InboxEntry)
    if entry is None:
        raise NotFound("inbox item", item_id)
    return entry


def _select_newest(account_id: UUID, state: ReadState, before: UUID | None, limit: int) -> Select[tuple[object, ...]]:
    theirs = (items.c.user_id == account_id, items.c.read_state == state.value)
    query = select(*(items.c[name] for name in _ITEM_COLUMNS)).where(*theirs)
    if before is not None:
        query = query.where(items.c.id < before)
    return query.order_by(items.c.id.desc()).limit(limit)


def _select_entries(found: FromClause) -> Select[tuple[object, ...]]:
    """Add the columns of issuers and attestations to items."""
    of_attestation = (attestations.c.schema_id, attestations.c.status, attestations.c.expiry_at)
    return select(*(found.c[name] for name in _ITEM_COLUMNS), issuers.c.name, *of_attestation).select_from(
        found.join(issuers, issuers.c.id == found.c.issuer_id).join(
            attestations, attestations.c.id == found.c.attestation_id
        )
    )
