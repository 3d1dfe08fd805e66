"""What a consumer's account has in its inbox: exported with it, and erased when it is deleted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import update

from attestlab.consumer.accounts.store import PersonalAccount
from attestlab.consumer.inbox import store
from attestlab.consumer.inbox.counts import count_item, get_counts
from attestlab.consumer.inbox.rules import ReadState
from attestlab.consumer.inbox.tables import InboxItemRecord
from attestlab.core.db.tables import Execute
from attestlab.core.db.transaction import Transaction
from attestlab.core.encoding import format_time
from attestlab.core.json_types import JsonValue


class InboxPart:
    """The inbox of an account."""

    name = "inbox"

    def export(self, execute: Execute, account: PersonalAccount) -> list[Mapping[str, JsonValue]]:
        """Return all items, oldest first."""
        return list(map(_export_item, store.list_items(execute, account.id)))

    def erase(self, tx: Transaction, account: PersonalAccount, at: datetime) -> None:
        """Forget what the account read; an item stays the issuer's record of its delivery, which no account reads."""
        for item in store.list_items(tx.exec, account.id):
            count_item(tx, account.id, ReadState(item.read_state), by=-1)
            count_item(tx, account.id, ReadState.UNREAD)
        theirs = store.items.c.user_id == account.id
        tx.exec(update(store.items).where(theirs).values(read_state=ReadState.UNREAD.value, updated_at=at))

    def count_unread(self, execute: Execute, account: PersonalAccount) -> int:
        """Return the number of unread items."""
        return get_counts(execute, account.id)[ReadState.UNREAD]


def _export_item(item: InboxItemRecord) -> Mapping[str, JsonValue]:
    return {
        "id": str(item.id),
        "attestation_id": str(item.attestation_id),
        "issuer_id": str(item.issuer_id),
        "recipient_email": item.recipient_email,
        "username": item.username,
        "delivery_state": item.state,
        "read_state": item.read_state,
        "safe_metadata": None if item.safe_metadata is None else json.loads(item.safe_metadata),
        "decline_reason": item.decline_reason,
        "created_at": format_time(item.created_at),
        "updated_at": format_time(item.updated_at),
    }
