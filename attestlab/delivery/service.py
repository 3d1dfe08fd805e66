"""Service for deliveries: send an attestation to its recipient, and deliver pending ones to a new account.

The mails are plain text, without any claim.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.records import audited_write
from attestlab.core.records.actors import Actor, SystemActor
from attestlab.core.records.audited_write import AuditContext
from attestlab.delivery import store
from attestlab.delivery.share_links import Links
from attestlab.delivery.store import DeliveryRecord
from attestlab.issuers import store as issuer_store
from attestlab.mail.rules import MailText
from attestlab.mail.service import Mails
from attestlab.orgs import role_rules
from attestlab.orgs import store as org_store
from attestlab.orgs.role_rules import UserStatus
from attestlab.orgs.rules import Caller

ACTOR = SystemActor("attestlab-delivery")  # completes a delivery when its recipient opens an account


class DeliveryState(StrEnum):
    """PENDING until an account with the address is opened; DELIVERED is final."""

    PENDING = "PENDING"
    DELIVERED = "DELIVERED"


class Deliveries:
    """Deliveries of attestations; the recipient's mail contains the share link."""

    def __init__(self, *, storage: Storage, mails: Mails, links: Links) -> None:
        self.storage = storage
        self.mails = mails
        self.links = links

    def send(
        self,
        tx: Transaction,
        attestation_id: UUID,
        *,
        tenant_id: UUID,
        issuer_id: UUID,
        recipient_email: str,
        actor: Actor,
        at: datetime,
    ) -> None:
        """Send a new attestation to its recipient, in the transaction that issues it.

        A recipient who has an account gets it immediately.
        """
        address = role_rules.normalize_address(recipient_email)
        person = org_store.find_user_by_address(tx.exec, address)
        account = person if person is not None and person.status in (None, UserStatus.ACTIVE) else None
        delivery = DeliveryRecord(
            attestation_id=attestation_id,
            tenant_id=tenant_id,
            issuer_id=issuer_id,
            recipient_email=address,
            user_id=None if account is None else account.id,
            state=(DeliveryState.PENDING if account is None else DeliveryState.DELIVERED).value,
            created_at=at,
            delivered_at=None if account is None else at,
        )
        audited_write.insert(tx, store.deliveries, delivery, AuditContext(tenant_id, actor, "delivery.create", at))
        self._enqueue_mail(tx, delivery)

    def _enqueue_mail(self, tx: Transaction, delivery: DeliveryRecord) -> None:
        issuer = issuer_store.get(tx.exec, delivery.issuer_id, tenant_id=delivery.tenant_id)
        link, recipient = self.links.share_url(delivery.attestation_id), delivery.recipient_email
        if delivery.user_id is not None:
            message = notification_mail(link, issuer_name=issuer.name)
        else:
            message = invitation_mail(link, issuer_name=issuer.name, recipient=recipient)
        self.mails.enqueue(
            tx,
            tenant_id=delivery.tenant_id,
            recipient=recipient,
            subject=message.subject,
            text=message.text,
            at=delivery.created_at,
        )

    def deliver_waiting(self, tx: Transaction, *, user_id: UUID, address: str, at: datetime) -> int:
        """Deliver all pending attestations for the address of a new account; return their number."""
        waiting = store.list_waiting(tx.exec, address)
        changes = {"user_id": user_id, "state": DeliveryState.DELIVERED.value, "delivered_at": at}
        for delivery in waiting:
            context = AuditContext(delivery.tenant_id, ACTOR, "delivery.claim", at)
            audited_write.change(tx, store.deliveries, delivery, changes, context)
        return len(waiting)

    def get(self, attestation_id: UUID, *, caller: Caller) -> DeliveryRecord:
        """Return the delivery of an attestation.

        Raises:
            NotFound: the caller's tenant has no attestation with this id, or it has no recipient.
        """
        with self.storage.read() as connection:
            return store.get_delivery(connection.execute, attestation_id, tenant_id=caller.tenant_id)


def notification_mail(link: str, *, issuer_name: str) -> MailText:
    """Return the mail for a recipient who has an account."""
    return MailText(
        f"{issuer_name} has issued an attestation to you",
        f"{issuer_name} has issued an attestation to you. See it, and check it, here:\n\n"
        f"{link}\n\n"
        "Anyone with this link can see what it says.\n",
    )


def invitation_mail(link: str, *, issuer_name: str, recipient: str) -> MailText:
    """Return the mail for a recipient who has no account."""
    return MailText(
        f"{issuer_name} has issued an attestation to you",
        f"{issuer_name} has issued an attestation to you. See it, and check it, here:\n\n"
        f"{link}\n\n"
        f"It needs no account. Should you open one with the address {recipient}, it will wait for you there, "
        "with all others that were issued to this address.\n",
    )
