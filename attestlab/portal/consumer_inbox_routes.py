"""HTTP routes of the pages of a consumer's inbox. They need no script."""

from typing import Final
from urllib.parse import urlencode
from uuid import UUID

from pydantic import ConfigDict, Field

from attestlab.attestations.inbox.service import Inbox
from attestlab.attestations.inbox.shapes import DeclineIn, InboxFilter
from attestlab.consumer.inbox.rules import ReadState
from attestlab.core.errors import Conflict, NotFound, PermissionDenied, ValidationFailed
from attestlab.core.shapes import In
from attestlab.delivery.share_links import Links
from attestlab.orgs.rules import Caller
from attestlab.portal.consumer_session import PageSession, PageSessions
from attestlab.portal.page_forms import (
    PRIVATE_FORM,
    PRIVATE_PAGE,
    FormProblem,
    read_form,
    redirect,
    to_response,
    try_form,
)
from attestlab.portal.protection_forms import create_protection
from attestlab.protections.service import Protections
from attestlab.web.executor import Executor
from attestlab.web.paging import decode_id, split_page
from attestlab.web.request import Request
from attestlab.web.response import RawResponse
from attestlab.web.routing.authorization import PUBLIC
from attestlab.web.routing.routes import Routes

routes = Routes("portal")
_PAGE_SIZE: Final = 50
_LIST: Final = "inbox page"
_READ_STATES: Final = frozenset(state.value for state in ReadState)


class InboxPageQuery(In, source="CONTRACT 11.2"):
    """The query of the page; parameters that mail programs add are ignored."""

    model_config = ConfigDict(extra="ignore")

    read_state: InboxFilter = InboxFilter.UNREAD
    """Which items to list. Format: UNREAD, ALL, READ or ARCHIVED."""
    cursor: str | None = None
    """Where older items begin, from the page before. Format: opaque."""


class InboxItemForm(In, source="CONTRACT 11.2"):
    """What the forms of an item's page send; each field is validated as that of the operation for programs."""

    form_token: str = Field(default="", repr=False)
    """The token of the forms of this session. Format: 43 base64url characters."""
    action: str = ""
    """What to do: the read state to set, to decline the attestation, or to show it.
    Format: UNREAD, READ, ARCHIVED, decline or show.
    """
    reason: str = ""
    """Why the recipient declines it, which its issuer can read. Format: text, at most 1000 characters."""
    title: str = ""
    """How it is called where it is shown. Format: one line, 1-200 characters."""
    visibility: str = ""
    """Who sees it where it is shown. Format: public, unlisted or private."""


@routes.get("/inbox", scope=PUBLIC, **PRIVATE_PAGE, redirect="Without a session: the sign-in page.")
async def get_inbox_page(
    request: Request,
    query: InboxPageQuery,
    page_sessions: PageSessions,
    inbox: Inbox,
    links: Links,
    executor: Executor,
) -> RawResponse:
    """Get the page of a consumer's inbox, newest first, fifty items at a time.

    Without `read_state` it lists what is unread. Programs use `GET /v1/consumer/inbox`.
    """
    session = await executor.read(page_sessions.find, request)
    if session is None:
        return redirect("signin?next=inbox")
    return await executor.read(lambda: _show_list(request, session, query, inbox, links))


@routes.get(
    "/inbox/{id}",
    scope=PUBLIC,
    **PRIVATE_PAGE,
    redirect="Without a session: the sign-in page.",
    raises=(NotFound,),
)
async def get_inbox_item_page(
    request: Request, id: UUID, page_sessions: PageSessions, inbox: Inbox, links: Links, executor: Executor
) -> RawResponse:
    """Get the page of an item of the inbox, which marks an unread one as read.

    A browser that only looks ahead (`Sec-Purpose`), or asks with HEAD, marks nothing.
    """
    session = await executor.read(page_sessions.find, request)
    if session is None:
        return _sign_in_first(id)
    detail = await executor.read(lambda: inbox.get(id, caller=session.caller))
    is_opened = request.method == "GET" and request.header("Sec-Purpose") is None
    if is_opened and detail.entry.read_state == ReadState.UNREAD:
        await executor.write(lambda tx: inbox.set_read_state(id, ReadState.READ, caller=session.caller, tx=tx))
    return await executor.read(lambda: _show_item(request, id, session, inbox, links))


@routes.post(
    "/inbox/{id}",
    scope=PUBLIC,
    **PRIVATE_FORM,
    status=303,
    redirect="It is done: the inbox, or the list of what is shown. Without a session: the sign-in page.",
    raises=(Conflict, NotFound, PermissionDenied),
)
async def send_inbox_item_form(
    request: Request,
    id: UUID,
    body: InboxItemForm,
    page_sessions: PageSessions,
    inbox: Inbox,
    protections: Protections,
    links: Links,
    executor: Executor,
) -> RawResponse:
    """Archive an item, mark it as unread, decline its attestation, or show it, with a form of its page.

    A form without the token of the session gets 403. Programs use `PATCH /v1/consumer/inbox/{id}`, `.../decline` and
    `POST /v1/consumer/protections`.
    """
    session = await executor.read(page_sessions.find, request)
    if session is None:
        return _sign_in_first(id)
    page_sessions.require_own_form(request, session, body.form_token)
    if body.action == "show":
        problem = await try_form(_show_publicly(request, id, body, session.caller, inbox, protections, executor))
        target = "../protect"
    else:
        problem = await try_form(_file(id, body, session.caller, inbox, executor))
        target = "../inbox"
    if problem is None:
        return redirect(target)
    return await executor.read(lambda: _show_item(request, id, session, inbox, links, problem=problem))


async def _file(item_id: UUID, body: InboxItemForm, caller: Caller, inbox: Inbox, executor: Executor) -> None:
    """Set the read state of an item, or decline its attestation.

    Raises:
        ValidationFailed: the action is none of the page's.
    """
    if body.action == "decline":
        reason = read_form(DeclineIn, {"reason": body.reason or None}).reason
        await executor.write(lambda tx: inbox.decline(item_id, reason, caller=caller, tx=tx))
    elif body.action in _READ_STATES:
        read_state = ReadState(body.action)
        await executor.write(lambda tx: inbox.set_read_state(item_id, read_state, caller=caller, tx=tx))
    else:
        raise ValidationFailed.of("/action", "enum", "Send this form with one of its buttons.")


async def _show_publicly(
    request: Request,
    item_id: UUID,
    body: InboxItemForm,
    caller: Caller,
    inbox: Inbox,
    protections: Protections,
    executor: Executor,
) -> None:
    detail = await executor.read(lambda: inbox.get(item_id, caller=caller))
    sent = {
        "attestation_id": str(detail.entry.attestation_id),
        "title": body.title,
        "visibility": body.visibility,
    }
    await create_protection(request, sent, caller=caller, protections=protections, executor=executor)


def _sign_in_first(item_id: UUID) -> RawResponse:
    return redirect(f"../signin?next=inbox/{item_id}")


def _show_list(
    request: Request, session: PageSession, query: InboxPageQuery, inbox: Inbox, links: Links
) -> RawResponse:
    from attestlab.portal import inbox_pages  # imports the template engine, which must not delay the start

    before = decode_id(_LIST, query.cursor)
    found = inbox.page(query.read_state, caller=session.caller, before=before, limit=_PAGE_SIZE + 1)
    shown, cursor = split_page(found.entries, limit=_PAGE_SIZE, kind=_LIST, position=lambda row: [str(row.id)])
    older = None if cursor is None else urlencode({"read_state": query.read_state.value, "cursor": cursor})
    page = inbox_pages.inbox_page(
        shown, session=session, listed=query.read_state, next_query=older, links=links, now=request.now
    )
    return to_response(page)


def _show_item(
    request: Request,
    item_id: UUID,
    session: PageSession,
    inbox: Inbox,
    links: Links,
    *,
    problem: FormProblem | None = None,
) -> RawResponse:
    from attestlab.portal import inbox_pages

    detail = inbox.get(item_id, caller=session.caller)
    return to_response(inbox_pages.item_page(detail, session=session, problem=problem, links=links, now=request.now))
