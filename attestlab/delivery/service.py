"""Service for deliveries: give an attestation to its recipients, and pending ones to a new account.

Each delivery is an item of the recipient's inbox. The mails are plain text, without any claim.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from attestlab.consumer.accounts.addresses import require_unclaimed
from attestlab.consumer.accounts.invitations import invite
from attestlab.consumer.inbox import rules
from attestlab.consumer.inbox import store as inbox_store
from attestlab.consumer.inbox.counts import count_item
from attestlab.consumer.inbox.rules import DeliveryState, ReadState
from attestlab.consumer.inbox.tables import InboxItemRecord
from attestlab.core.clock import Clock
from attestlab.core.db.foreseen_reads import ForeseenRead
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Foreseen, Transaction
from attestlab.core.errors import NotFound
from attestlab.core.ids import new_id
from attestlab.core.records import audited_write
from attestlab.core.records.actors import Actor
from attestlab.core.records.audited_write import AuditContext
from attestlab.delivery import recipients, waiting
from attestlab.delivery.recipients import PEOPLE, Recipient
from attestlab.delivery.share_links import Links
from attestlab.delivery.waiting import ACTOR, WaitingAddress
from attestlab.issuers import store as issuer_store
from attestlab.issuers.keys import KEYS_CHANGED
from attestlab.mail.rules import MailText, name_in_subject
from attestlab.mail.service import Mails
from attestlab.orgs import role_rules
from attestlab.orgs.rules import Caller
from attestlab.orgs.store import ADDRESSES_CHANGED

ISSUER_NAMES = ForeseenRead("issuer names", find=issuer_store.find_name, find_all=issuer_store.find_names)


@dataclass(frozen=True)
class NewDelivery:
    """An attestation to deliver; `safe_metadata` is a JSON object for the recipient."""

    attestation_id: UUID
    tenant_id: UUID
    issuer_id: UUID
    actor: Actor
    at: datetime
    safe_metadata: bytes | None = field(default=None, repr=False)


class Delivered(NamedTuple):
    """The item of a recipient; `is_new` is false if the recipient had it before."""

    item: InboxItemRecord
    is_new: bool


def foresee_delivery(foreseen: Foreseen, recipient_email: str, *, issuer_id: UUID) -> None:
    """Name the person and the issuer that the delivery of a mint will read."""
    PEOPLE.foresee(foreseen, role_rules.normalize_address(recipient_email))
    ISSUER_NAMES.foresee(foreseen, issuer_id)


class Deliveries:
    """Deliveries of attestations; the recipient's mail contains the share link."""

    def __init__(self, *, storage: Storage, clock: Clock, mails: Mails, links: Links) -> None:
        self.storage = storage
        self.clock = clock
        self.mails = mails
        self.links = links
        self._has_rest = True  # an earlier process may have left one

    def send(self, tx: Transaction, delivery: NewDelivery, *, recipient_email: str) -> InboxItemRecord:
        """Send a new attestation to its recipient, in the transaction that issues it.

        A recipient who has an account gets it immediately.
        """
        address = role_rules.normalize_address(recipient_email)
        return self._add(tx, delivery, recipients.find_by_address(tx, address, at=delivery.at))

    def deliver(
        self, tx: Transaction, delivery: NewDelivery, *, recipient_email: str | None, username: str | None
    ) -> Delivered:
        """Deliver an attestation to a further recipient, by address or by username.

        A recipient who has it already, by whichever address or name, gets it once.

        Raises:
            ValidationFailed: mail cannot be delivered to the address.
            NotFound: no account has the username.
            Conflict: the attestation has as many recipients as it may have.
        """
        if username is not None:
            recipient = recipients.find_by_username(tx, username)
        else:
            address = role_rules.normalize_address(recipient_email or "", field="/recipient_email")
            recipient = recipients.find_by_address(tx, address, at=delivery.at)
        known = inbox_store.list_recipients(tx.exec, delivery.attestation_id)
        for item in known:
            if _is_for(item, recipient):
                return Delivered(item, is_new=False)
        rules.require_room(len(known))
        return Delivered(self._add(tx, delivery, recipient), is_new=True)

    def _add(self, tx: Transaction, delivery: NewDelivery, recipient: Recipient) -> InboxItemRecord:
        has_account = recipient.account_id is not None
        item = InboxItemRecord(
            id=new_id(delivery.at),
            attestation_id=delivery.attestation_id,
            tenant_id=delivery.tenant_id,
            issuer_id=delivery.issuer_id,
            recipient_email=recipient.address if recipient.username is None else None,
            user_id=recipient.account_id,
            state=(DeliveryState.DELIVERED if has_account else DeliveryState.PENDING).value,
            created_at=delivery.at,
            delivered_at=delivery.at if has_account else None,
            username=recipient.username,
            safe_metadata=delivery.safe_metadata,
            declined_at=None,
            decline_reason=None,
            read_state=ReadState.UNREAD.value,
            updated_at=delivery.at,
        )
        context = AuditContext(delivery.tenant_id, delivery.actor, "delivery.create", delivery.at)
        audited_write.insert(tx, inbox_store.items, item, context)
        if recipient.account_id is not None:
            count_item(tx, recipient.account_id, ReadState.UNREAD)
        self._enqueue_mail(tx, item, recipient)
        return item

    def _enqueue_mail(self, tx: Transaction, item: InboxItemRecord, recipient: Recipient) -> None:
        issuer_name, link = _get_issuer_name(tx, item), self._mailed_link(item.attestation_id)
        address = recipient.address
        if item.user_id is not None or recipient.is_invited:  # who joins a team by its mail needs no second account
            inbox_item = f"{self.mails.portal_url}/inbox/{item.id}" if recipient.has_inbox else None
            message = notification_mail(link, inbox_item, issuer_name=issuer_name)
        else:
            invitation = invite(
                tx,
                address,
                portal_url=self.mails.portal_url,
                tenant_id=item.tenant_id,
                actor=ACTOR,
                at=item.created_at,
            )
            message = invitation_mail(link, invitation, issuer_name=issuer_name, recipient=address)
        self.mails.enqueue(
            tx,
            tenant_id=item.tenant_id,
            recipient=address,
            subject=message.subject,
            text=message.text,
            at=item.created_at,
        )

    def _mailed_link(self, attestation_id: UUID) -> str:
        return f"{self.mails.portal_url}{self.links.share_path(attestation_id)}"

    def open_account(self, tx: Transaction, *, user_id: UUID, address: str, at: datetime) -> int:
        """Deliver all pending attestations for the address of a new account, however that comes to be.

        Raises:
            Conflict: the address is a further one of a consumer's.
        """
        require_unclaimed(tx.exec, address)
        return self.deliver_waiting(tx, user_id=user_id, address=address, at=at)

    def deliver_waiting(self, tx: Transaction, *, user_id: UUID, address: str, at: datetime) -> int:
        """Deliver all pending attestations for an address that an account now has; return the number of new items.

        Of very many, the first `waiting.MAX_AT_ONCE` are delivered at once, and the server's sweeper delivers the rest.
        """
        tx.cache[ADDRESSES_CHANGED] = True
        batch = waiting.deliver_batch(tx, WaitingAddress(address, user_id), at=at, limit=waiting.MAX_AT_ONCE)
        if batch.has_more:
            tx.after_commit(self._note_rest)
        return batch.new

    def _note_rest(self) -> None:
        self._has_rest = True

    def find_rest(self) -> WaitingAddress | None:
        """Find an account's address for which more waits than was delivered at once.

        Once there is none, this process looks no more until `deliver_waiting` leaves a rest.
        """
        if not self._has_rest:
            return None
        self._has_rest = False
        with self.storage.read() as connection:
            awaited = waiting.find_awaited(connection.execute)
        self._has_rest = self._has_rest or awaited is not None
        return awaited

    def deliver_rest(self, tx: Transaction, *, awaited: WaitingAddress, at_most: int) -> bool:
        """Deliver at most `at_most` of what waits for an account's address; returns whether more waits for it.

        An account that lost the address in the meantime gets nothing.
        """
        if waiting.find_awaited(tx.exec, awaited.address) != awaited:
            return False
        return waiting.deliver_batch(tx, awaited, at=self.clock.now(), limit=at_most).has_more

    def list_recipients(self, attestation_id: UUID, *, caller: Caller) -> list[InboxItemRecord]:
        """List the deliveries of an attestation, oldest first: there is at least one.

        Raises:
            NotFound: the caller's tenant has no attestation with this id, or it has no recipient.
        """
        with self.storage.read() as connection:
            items = inbox_store.list_recipients(connection.execute, attestation_id)
        if not items or items[0].tenant_id != caller.tenant_id:
            raise NotFound("delivery of attestation", attestation_id)
        return items


def _is_for(item: InboxItemRecord, recipient: Recipient) -> bool:
    """Whether an item is of this recipient: of the account, or of the address or username that the issuer named."""
    if recipient.account_id is not None and item.user_id == recipient.account_id:
        return True
    if recipient.username is not None:
        return item.username == recipient.username
    return item.recipient_email == recipient.address


def _get_issuer_name(tx: Transaction, item: InboxItemRecord) -> str:
    """Return the issuer's name, read once for the mints of a group unless one of them changes issuers."""
    name = None if KEYS_CHANGED in tx.cache else ISSUER_NAMES.get(tx, item.issuer_id)
    return name or issuer_store.get(tx.exec, item.issuer_id, tenant_id=item.tenant_id).name


def notification_mail(link: str, inbox_item: str | None, *, issuer_name: str) -> MailText:
    """Return the mail for a recipient who has an account, or gets one by the invitation to a team.

    `inbox_item` is the address of the item; a person of a team has no inbox.
    """
    own = f"You find it in your inbox, too, where you can decline it:\n\n{inbox_item}\n\n" if inbox_item else ""
    return MailText(
        f"{name_in_subject(issuer_name)} has issued an attestation to you",
        f"{issuer_name} has issued an attestation to you. See it, and check it, here:\n\n"
        f"{link}\n\n"
        f"{own}"
        f"Anyone with {'the first' if inbox_item else 'this'} link can see what it says.\n",
    )


def invitation_mail(link: str, invitation: str, *, issuer_name: str, recipient: str) -> MailText:
    """Return the mail for a recipient who has no account; the link `invitation` opens one with their address alone."""
    return MailText(
        f"{name_in_subject(issuer_name)} has issued an attestation to you",
        f"{issuer_name} has issued an attestation to you. See it, and check it, here:\n\n"
        f"{link}\n\n"
        f"You need no account to see it. An account with the address {recipient} keeps it for you, with all others "
        "that were issued to this address. Open one here, within 30 days:\n\n"
        f"{invitation}\n\n"
        "This second link is for you alone: do not forward it. If you expected none of this, do nothing.\n",
    )
