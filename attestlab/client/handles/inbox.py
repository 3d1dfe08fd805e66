"""Items of a consumer's inbox: attestations that issuers delivered to them (docs/inbox.md)."""

from __future__ import annotations

from typing import ClassVar, Unpack
from uuid import UUID

from attestlab.attestations.inbox.shapes import InboxItemOut
from attestlab.client import arguments, consumer_cards
from attestlab.client.handles.attestations import AttestationHandle, ExportVerbs, get_attestation
from attestlab.client.handles.base import Handle
from attestlab.client.handles.protections import ProtectionHandle, ProtectionOptions, show_received
from attestlab.client.service_client import ServiceClient, path_of

INBOX = "/v1/consumer/inbox"


class InboxItemHandle(InboxItemOut, ExportVerbs, Handle):
    """An attestation that was delivered to the consumer; `verify`, `bundle`, `badge` and `sd_jwt` are about it."""

    shown_fields: ClassVar = ("id", "issuer_name", "attestation_status", "read_state", "delivery_state")

    def _repr_html_(self) -> str:
        return consumer_cards.draw_inbox_item(self)

    def record(self) -> AttestationHandle:
        """Fetch the attestation itself, with its claims.

        Returns:
            The attestation with its current status.

        Raises:
            NotFound: the item was declined.

        >>> minted = lab.mint(issuer="Canton Archive", schema="course-credit", claims={"student_name": "Ada"})
        >>> delivered = minted.deliver("sofia")
        >>> sofia.inbox[0].record().claims
        {'student_name': 'Ada'}
        """
        return get_attestation(self._client, self.attestation_id)

    def mark(self, read_state: str) -> InboxItemHandle:
        """Mark the item; its issuer does not see that.

        Args:
            read_state: `READ`, `ARCHIVED` or `UNREAD`.

        Returns:
            The item as it is then.

        Raises:
            ValidationFailed: there is no such read state.
            Conflict: the item was declined, which archived it for good.

        >>> minted = lab.mint(issuer="Canton Archive", schema="course-credit", claims={"student_name": "Ada"})
        >>> delivered = minted.deliver("sofia")
        >>> sofia.inbox[0].mark("READ").read_state
        'READ'
        """
        return mark_item(self._client, self.id, read_state)

    def decline(self, reason: str | None = None) -> InboxItemHandle:
        """Decline the attestation for good; its issuer sees that and the reason, at most 1,000 characters.

        Returns:
            The item, DECLINED and ARCHIVED. The attestation stays valid; to decline it again changes nothing.

        Raises:
            ValidationFailed: the reason is too long.

        >>> minted = lab.mint(issuer="Canton Archive", schema="course-credit", claims={"student_name": "Ada"})
        >>> delivered = minted.deliver("sofia")
        >>> sofia.inbox[0].decline("not mine").delivery_state
        'DECLINED'
        """
        return decline_item(self._client, self.id, reason)

    def show(self, title: str, **options: Unpack[ProtectionOptions]) -> ProtectionHandle:
        """Show the credential among the consumer's protections.

        `lab.protections.show` explains the arguments and errors.

        >>> minted = lab.mint(issuer="Canton Archive", schema="course-credit", claims={"student_name": "Ada"})
        >>> delivered = minted.deliver("sofia")
        >>> sofia.inbox[0].show("My course", visibility="unlisted").source
        'received'
        """
        return show_received(self._client, self.attestation_id, title, options)


InboxItemLike = UUID | str | InboxItemHandle


def mark_item(client: ServiceClient, item_id: UUID, read_state: object) -> InboxItemHandle:
    """Set the read state of an item."""
    body = {"read_state": arguments.read_text(read_state, name="read_state")}
    return InboxItemHandle.parse(client, client.patch(f"{INBOX}{path_of(item_id)}", body))


def decline_item(client: ServiceClient, item_id: UUID, reason: str | None) -> InboxItemHandle:
    """Decline the attestation of an item."""
    body = {} if reason is None else {"reason": arguments.read_text(reason, name="reason")}
    return InboxItemHandle.parse(client, client.post(f"{INBOX}{path_of(item_id, 'decline')}", body))
