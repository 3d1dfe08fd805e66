"""HTTP routes of the inbox: those of consumers, and the delivery by an issuer."""

from uuid import UUID

from attestlab.attestations.inbox.rendering import render_detail, render_item
from attestlab.attestations.inbox.service import Inbox
from attestlab.attestations.inbox.shapes import (
    DeclineIn,
    DeliverIn,
    InboxDeliveryOut,
    InboxItemDetailOut,
    InboxItemOut,
    InboxItemPatch,
    InboxPageOut,
    InboxQuery,
)
from attestlab.consumer.inbox.tables import InboxItemRecord
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import Conflict, NotFound
from attestlab.core.row_rendering import RowRenderer
from attestlab.delivery.share_links import Links
from attestlab.orgs.rules import Caller, ConsumerScope, Realm, Scope
from attestlab.web.paging import decode_id, split_page
from attestlab.web.request import Request
from attestlab.web.response import JSON, RawResponse
from attestlab.web.routing.authorization import Requirement
from attestlab.web.routing.routes import Routes

routes = Routes("inbox")
_LIST = "inbox_items"
_READERS = Requirement(scope=ConsumerScope.CONSUMER_READ, realm=Realm.CONSUMER)
_WRITERS = Requirement(scope=ConsumerScope.CONSUMER_WRITE, realm=Realm.CONSUMER)
_DELIVERERS = Requirement(scope=Scope.ATTESTATIONS_MINT, tenant_only=True)
_render_delivery = RowRenderer(InboxDeliveryOut, InboxItemRecord, delivery_state="state")


@routes.get("/v1/consumer/inbox", scope=_READERS, share_links=True)
def list_inbox_items(request: Request, query: InboxQuery, caller: Caller, inbox: Inbox, links: Links) -> InboxPageOut:
    """List what issuers delivered to the consumer, newest first; without `read_state`, what is unread.

    `total` counts the items of all pages.
    """
    before = decode_id(_LIST, query.cursor)
    found = inbox.page(query.read_state, caller=caller, before=before, limit=query.limit + 1)
    shown, cursor = split_page(found.entries, limit=query.limit, kind=_LIST, position=lambda row: [str(row.id)])
    items = [render_item(entry, links=links, now=request.now) for entry in shown]
    return InboxPageOut(items=items, total=found.total, next_cursor=cursor)


@routes.get("/v1/consumer/inbox/{id}", scope=_READERS, share_links=True)
def get_inbox_item(request: Request, id: UUID, caller: Caller, inbox: Inbox, links: Links) -> InboxItemDetailOut:
    """Get an item of the inbox with its attestation.

    This does not mark it as read. Of a declined item the attestation is null.
    """
    return render_detail(inbox.get(id, caller=caller), links=links, now=request.now)


@routes.patch("/v1/consumer/inbox/{id}", scope=_WRITERS, share_links=True, raises=(Conflict,))
def update_inbox_item(
    request: Request, id: UUID, body: InboxItemPatch, tx: Transaction, caller: Caller, inbox: Inbox, links: Links
) -> InboxItemOut:
    """Mark an item of the inbox as unread, read or archived; its issuer does not see that.

    A declined item stays in the archive, which is a 409 with the reason `declined`.
    """
    entry = inbox.set_read_state(id, body.read_state, caller=caller, tx=tx)
    return render_item(entry, links=links, now=request.now)


@routes.post("/v1/consumer/inbox/{id}/decline", scope=_WRITERS, share_links=True)
def decline_inbox_item(
    request: Request,
    id: UUID,
    body: DeclineIn | None,
    tx: Transaction,
    caller: Caller,
    inbox: Inbox,
    links: Links,
) -> InboxItemOut:
    """Decline an attestation for good: it is archived, and its issuer sees that and the reason.

    The attestation itself stays valid; only its issuer can revoke it.
    """
    reason = None if body is None else body.reason
    return render_item(inbox.decline(id, reason, caller=caller, tx=tx), links=links, now=request.now)


@routes.post(
    "/v1/consumer/inbox/deliver",
    scope=_DELIVERERS,
    status=201,
    existing="The recipient has the attestation already; this is their delivery.",
    raises=(NotFound,),
)
def deliver_attestation(
    body: DeliverIn, tx: Transaction, caller: Caller, inbox: Inbox
) -> InboxDeliveryOut | RawResponse:
    """Deliver an attestation to a further recipient, by e-mail address or by username.

    An address without an account gets an invitation, and the attestation waits for it. A recipient who has it already
    keeps it, and the answer is a 200 with their delivery. An attestation has at most 20 recipients.
    """
    delivered = inbox.deliver(body, caller=caller, tx=tx)
    shown = _render_delivery(delivered.item)
    return shown if delivered.is_new else RawResponse(shown.model_dump_json().encode(), JSON, status=200)
