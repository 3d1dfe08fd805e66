"""Items that wait for an address, and the account that has it now: delivered in batches, so that no write takes long.

The account's own write delivers the first batch, the server's sweeper the others.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from sqlalchemy import literal_column, select

from attestlab.consumer.accounts import store as account_store
from attestlab.consumer.inbox import store as inbox_store
from attestlab.consumer.inbox.counts import count_item
from attestlab.consumer.inbox.rules import DeliveryState, ReadState
from attestlab.core.db.tables import Execute
from attestlab.core.db.transaction import Transaction
from attestlab.core.execution.long_verbs import MAX_ROWS_INSIDE
from attestlab.core.records import audited_write
from attestlab.core.records.actors import SystemActor
from attestlab.core.records.audited_write import AuditContext
from attestlab.orgs.store import IS_ACTIVE, users

ACTOR = SystemActor("attestlab-delivery")  # completes a delivery when its recipient opens an account
MAX_AT_ONCE: Final = MAX_ROWS_INSIDE
_CHANGED = ("state", "delivered_at", "updated_at", "user_id")
_IS_WAITING = inbox_store.items.c.state == literal_column(f"'{DeliveryState.PENDING}'")  # as the index has it


class WaitingAddress(NamedTuple):
    """An account and an address of it, for which items wait."""

    address: str
    user_id: UUID


class DeliveredBatch(NamedTuple):
    """How many items of an address were delivered, how many of them are new to the account, and whether more wait."""

    delivered: int
    new: int
    has_more: bool


def find_awaited(execute: Execute, address: str | None = None) -> WaitingAddress | None:
    """Find an address, or this one, for which items wait although an account has it."""
    items, further = inbox_store.items, account_store.addresses
    waiting = select(items.c.recipient_email, users.c.id).where(_IS_WAITING, IS_ACTIVE).limit(1)
    if address is not None:
        waiting = waiting.where(items.c.recipient_email == address)
    primary = waiting.join(users, users.c.email == items.c.recipient_email)
    verified = (
        waiting.join(further, further.c.email == items.c.recipient_email)
        .join(users, users.c.id == further.c.user_id)
        .where(further.c.verified_at.is_not(None), further.c.removed_at.is_(None))
    )
    found = execute(primary).first() or execute(verified).first()
    return None if found is None else WaitingAddress(*found)


def deliver_batch(tx: Transaction, waits: WaitingAddress, *, at: datetime, limit: int) -> DeliveredBatch:
    """Deliver the oldest `limit` items that wait for an address to the account that has it.

    An attestation that the account has already by another address is delivered without a second item.
    """
    waiting = inbox_store.list_waiting(tx.exec, waits.address, limit=limit + 1)
    known = inbox_store.list_known(tx.exec, waits.address, account_id=waits.user_id)
    delivered = [
        item._replace(
            state=DeliveryState.DELIVERED.value,
            delivered_at=at,
            updated_at=at,
            user_id=None if item.attestation_id in known else waits.user_id,
        )
        for item in waiting[:limit]
    ]
    audited_write.change_all(
        tx,
        inbox_store.items,
        delivered,
        _CHANGED,
        lambda item: AuditContext(item.tenant_id, ACTOR, "delivery.claim", at),
    )
    new = sum(item.user_id is not None for item in delivered)
    if new:
        count_item(tx, waits.user_id, ReadState.UNREAD, by=new)
    return DeliveredBatch(len(delivered), new, len(waiting) > limit)
