"""`lab.inbox`: what issuers delivered to the consumer."""

from __future__ import annotations

from typing import Unpack

from attestlab.attestations.inbox.shapes import InboxQuery
from attestlab.client import arguments
from attestlab.client.analysis.listing import Listing
from attestlab.client.collections.base import Collection
from attestlab.client.collections.filters import InboxFilterArgs
from attestlab.client.handles.inbox import INBOX, InboxItemHandle, InboxItemLike, decline_item, mark_item
from attestlab.client.own_examples import name_in_examples
from attestlab.client.service_client import ServiceClient


@name_in_examples("inbox")
class InboxCollection(Collection[InboxItemHandle]):
    """What issuers delivered to the consumer, newest first; a loop and an index have what is UNREAD.

    It needs a consumer's key, or a consumer who signed in (`lab.as_`). `lab.attestations` lists the attestations
    themselves.
    """

    noun = "an inbox item"
    path = INBOX
    query = InboxQuery

    def __init__(self, client: ServiceClient) -> None:
        super().__init__(client, InboxItemHandle)

    def list(self, *, limit: int | None = None, **filters: Unpack[InboxFilterArgs]) -> Listing[InboxItemHandle]:
        """List the items of a read state, newest first.

        Args:
            limit: how many at most; all by default.
            filters: `read_state` is `UNREAD` by default, `READ`, `ARCHIVED` or `ALL`.

        Returns:
            The items, which are read page by page when they are wanted; that marks none of them.

        Raises:
            ValidationFailed: there is no such filter or read state.
            PermissionDenied: the caller is no consumer; when the items are read.

        >>> minted = lab.mint(issuer="Canton Archive", schema="course-credit", claims={"student_name": "Ada"})
        >>> delivered = minted.deliver("sofia")
        >>> [item.issuer_name for item in sofia.inbox.list(read_state="ALL", limit=1)]
        ['Canton Archive']
        """
        return self._list(limit, filters)

    def mark(self, item: InboxItemLike, read_state: str) -> InboxItemHandle:
        """Mark an item as read, archived or unread; its issuer does not see that.

        Args:
            item: the item or its id.
            read_state: `READ`, `ARCHIVED` or `UNREAD`.

        Returns:
            The item as it is then.

        Raises:
            NotFound: the consumer has no such item.
            ValidationFailed: there is no such read state.
            Conflict: the item was declined, which archived it for good.

        >>> minted = lab.mint(issuer="Canton Archive", schema="course-credit", claims={"student_name": "Ada"})
        >>> delivered = minted.deliver("sofia")
        >>> sofia.inbox.mark(sofia.inbox[0], "ARCHIVED").read_state
        'ARCHIVED'
        """
        return mark_item(self._client, arguments.read_id(item, self.noun), read_state)

    def decline(self, item: InboxItemLike, reason: str | None = None) -> InboxItemHandle:
        """Decline an attestation for good: it is archived, and its issuer sees that and the reason.

        Args:
            item: the item or its id.
            reason: for the issuer, at most 1,000 characters.

        Returns:
            The item, DECLINED. The attestation stays valid; to decline it again changes nothing.

        Raises:
            NotFound: the consumer has no such item.
            ValidationFailed: the reason is too long.

        >>> minted = lab.mint(issuer="Canton Archive", schema="course-credit", claims={"student_name": "Ada"})
        >>> delivered = minted.deliver("sofia")
        >>> sofia.inbox.decline(sofia.inbox[0], "not mine").read_state
        'ARCHIVED'
        """
        return decline_item(self._client, arguments.read_id(item, self.noun), reason)
