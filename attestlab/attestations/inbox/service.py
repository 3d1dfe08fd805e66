"""Service of the inbox: list, read, archive and decline what issuers delivered, and deliver to further recipients."""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

from sqlalchemy import update

from attestlab.attestations import rules as attestation_rules
from attestlab.attestations import store as attestation_store
from attestlab.attestations.inbox import store
from attestlab.attestations.inbox.shapes import DeliverIn, InboxFilter
from attestlab.attestations.inbox.store import InboxEntry
from attestlab.attestations.service import Attestations
from attestlab.attestations.tables import AttestationRecord
from attestlab.attestations.verification.facts import compute_status
from attestlab.consumer.accounts import store as account_store
from attestlab.consumer.inbox import rules
from attestlab.consumer.inbox import store as inbox_store
from attestlab.consumer.inbox.counts import count_item, get_counts
from attestlab.consumer.inbox.rules import DeliveryState, ReadState
from attestlab.consumer.inbox.tables import InboxItemRecord
from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.tables import Execute
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import ValidationFailed
from attestlab.core.records import audit, audited_write
from attestlab.core.records.actors import AnonymousActor
from attestlab.core.records.audit import AuditEntry
from attestlab.core.records.audited_write import AuditContext
from attestlab.delivery.service import Delivered, Deliveries, NewDelivery
from attestlab.orgs.rules import Caller

RECIPIENT = AnonymousActor("recipient")  # the issuer's trail does not tell which accounts are of one person


class InboxPage(NamedTuple):
    """Items of an inbox, and how many there are on all pages."""

    entries: list[InboxEntry]
    total: int


class InboxItemDetail(NamedTuple):
    """An item with its attestation; None once the recipient declined it."""

    entry: InboxEntry
    attestation: AttestationRecord | None


class Inbox:
    """The inbox of each consumer. `tx` is the unit of work to join; without it, a verb commits its own."""

    def __init__(self, *, storage: Storage, clock: Clock, attestations: Attestations, deliveries: Deliveries) -> None:
        self.storage = storage
        self.clock = clock
        self.attestations = attestations
        self.deliveries = deliveries

    def page(
        self,
        listed: InboxFilter = InboxFilter.UNREAD,
        *,
        caller: Caller,
        before: UUID | None = None,
        limit: int = 50,
    ) -> InboxPage:
        """List the caller's items of some read states, newest first, and count them.

        Raises:
            NotFound: the caller is no consumer.
        """
        with self.storage.read() as connection:
            account_id = _get_account_id(connection.execute, caller)
            counts = get_counts(connection.execute, account_id)
            entries = store.page(connection.execute, account_id, listed.read_states, before=before, limit=limit)
        return InboxPage(entries, sum(counts[state] for state in listed.read_states))

    def get(self, item_id: UUID, *, caller: Caller) -> InboxItemDetail:
        """Return an item of the caller with its attestation; this does not change its read state.

        Raises:
            NotFound: the caller has no such item.
        """
        with self.storage.read() as connection:
            account_id = _get_account_id(connection.execute, caller)
            entry = store.get_entry(connection.execute, item_id, account_id=account_id)
        is_declined = entry.state == DeliveryState.DECLINED
        attestation = None if is_declined else self.attestations.get(entry.attestation_id, caller=caller)
        return InboxItemDetail(entry, attestation)

    def set_read_state(
        self, item_id: UUID, read_state: ReadState, *, caller: Caller, tx: Transaction | None = None
    ) -> InboxEntry:
        """Set the read state of an item; only the recipient knows it, so the issuer's audit trail has nothing of it.

        Raises:
            NotFound: the caller has no such item.
            Conflict: the caller declined it, which archived it for good.
        """
        with self.storage.write(tx) as tx:
            account_id = _get_account_id(tx.exec, caller)
            item = inbox_store.get_item(tx.exec, item_id, account_id=account_id)
            rules.require_not_declined(DeliveryState(item.state))
            if item.read_state != read_state:
                changes = {"read_state": read_state.value, "updated_at": self.clock.now()}
                tx.exec(update(inbox_store.items).where(inbox_store.items.c.id == item_id).values(changes))
                self._record(tx, item, read_state, caller, "inbox_item.update")
            return store.get_entry(tx.exec, item_id, account_id=account_id)

    def decline(
        self, item_id: UUID, reason: str | None = None, *, caller: Caller, tx: Transaction | None = None
    ) -> InboxEntry:
        """Decline an attestation for good: it is archived, and the issuer sees it. To decline it again changes nothing.

        Raises:
            NotFound: the caller has no such item.
        """
        with self.storage.write(tx) as tx:
            account_id = _get_account_id(tx.exec, caller)
            item = inbox_store.get_item(tx.exec, item_id, account_id=account_id)
            if item.state != DeliveryState.DECLINED:
                now = self.clock.now()
                changes = {
                    "state": DeliveryState.DECLINED.value,
                    "declined_at": now,
                    "decline_reason": reason,
                    "read_state": ReadState.ARCHIVED.value,
                    "updated_at": now,
                }
                context = AuditContext(item.tenant_id, RECIPIENT, "delivery.decline", now)
                audited_write.change(tx, inbox_store.items, item, changes, context)
                self._record(tx, item, ReadState.ARCHIVED, caller, "inbox_item.decline")
            return store.get_entry(tx.exec, item_id, account_id=account_id)

    def _record(
        self, tx: Transaction, item: InboxItemRecord, read_state: ReadState, caller: Caller, action: str
    ) -> None:
        """Count an item in its new read state, and record the change in the consumer's own audit trail."""
        assert item.user_id is not None  # it is of the caller's account
        count_item(tx, item.user_id, ReadState(item.read_state), by=-1)
        count_item(tx, item.user_id, read_state)
        audit.record(
            tx,
            AuditEntry(
                tenant_id=caller.tenant_id,
                actor=caller,
                action=action,
                resource_type="inbox_item",
                resource_id=str(item.id),
                at=self.clock.now(),
                metadata={"read_state": read_state.value},
            ),
        )

    def deliver(self, body: DeliverIn, *, caller: Caller, tx: Transaction | None = None) -> Delivered:
        """Deliver a VALID attestation of the caller's tenant to a recipient, who gets it and a mail once.

        Raises:
            ValidationFailed: the body does not name one recipient, or its metadata are too long.
            NotFound: the tenant has no such attestation, or no account has the username.
            Conflict: the attestation is not VALID, or has as many recipients as it may have.
        """
        if (body.recipient_email is None) == (body.username is None):
            message = "Name the recipient by recipient_email or by username: one of them."
            raise ValidationFailed.of("/recipient_email", "one_recipient", message)
        metadata = None if body.safe_metadata is None else rules.encode_safe_metadata(body.safe_metadata)
        with self.storage.write(tx) as tx:
            now = self.clock.now()
            row = attestation_store.get_for_update(tx, body.attestation_id, tenant_id=caller.tenant_id)
            attestation_rules.require_valid(compute_status(row, now=now))
            delivery = NewDelivery(row.id, row.tenant_id, row.issuer_id, caller, now, metadata)
            return self.deliveries.deliver(tx, delivery, recipient_email=body.recipient_email, username=body.username)


def _get_account_id(execute: Execute, caller: Caller) -> UUID:
    return account_store.get_account_of(execute, caller.tenant_id).id
