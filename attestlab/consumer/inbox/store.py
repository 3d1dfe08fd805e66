"""Queries of the inbox; every query names its columns and binds values as parameters."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import Select, select

from attestlab.consumer.inbox.rules import DeliveryState
from attestlab.consumer.inbox.tables import InboxItem, InboxItemRecord
from attestlab.core.db.tables import Execute, fetch_all, fetch_one, table_of
from attestlab.core.errors import NotFound
from attestlab.orgs.store import users

items = table_of(InboxItem)


def get_item(execute: Execute, item_id: UUID, *, account_id: UUID) -> InboxItemRecord:
    """Return an item of an account.

    Raises:
        NotFound: the account has no such item.
    """
    query = select(*items.c).where(items.c.id == item_id, items.c.user_id == account_id)
    item = fetch_one(execute(query), InboxItemRecord)
    if item is None:
        raise NotFound("inbox item", item_id)
    return item


def find_item(execute: Execute, attestation_id: UUID, *, account_id: UUID) -> InboxItemRecord | None:
    """Return the item of an attestation that was delivered to an account, unless the account declined it."""
    held = (items.c.attestation_id == attestation_id, items.c.user_id == account_id)
    query = select(*items.c).where(*held, items.c.state == DeliveryState.DELIVERED.value)
    return fetch_one(execute(query), InboxItemRecord)


def select_held(tenant_id: UUID) -> Select[UUID]:
    """Select the ids of the attestations that the account of a consumer's tenant holds: delivered, not declined."""
    account = select(users.c.id).where(users.c.tenant_id == tenant_id).scalar_subquery()
    return select(items.c.attestation_id).where(
        items.c.user_id == account, items.c.state == DeliveryState.DELIVERED.value
    )


def list_recipients(execute: Execute, attestation_id: UUID) -> list[InboxItemRecord]:
    """List the items of an attestation, one for each recipient, oldest first."""
    query = select(*items.c).where(items.c.attestation_id == attestation_id)
    return fetch_all(execute(query.order_by(items.c.created_at, items.c.id)), InboxItemRecord)


def list_waiting(execute: Execute, address: str, *, limit: int) -> list[InboxItemRecord]:
    """List the first `limit` items that wait for an account with this address, oldest first."""
    waits = (items.c.recipient_email == address, items.c.state == DeliveryState.PENDING.value)
    return fetch_all(execute(select(*items.c).where(*waits).order_by(items.c.id).limit(limit)), InboxItemRecord)


def list_known(execute: Execute, address: str, *, account_id: UUID) -> set[UUID]:
    """List the attestations that wait for an address, and that an account has an item of already."""
    theirs = items.alias()
    waits = (items.c.recipient_email == address, items.c.state == DeliveryState.PENDING.value)
    query = select(items.c.attestation_id).join(theirs, theirs.c.attestation_id == items.c.attestation_id)
    return set(execute(query.where(*waits, theirs.c.user_id == account_id)).scalars())


def list_items(execute: Execute, account_id: UUID) -> list[InboxItemRecord]:
    """List all items of an account, oldest first."""
    return fetch_all(
        execute(select(*items.c).where(items.c.user_id == account_id).order_by(items.c.id)), InboxItemRecord
    )
