"""HTTP routes of the page on which consumers protect their work. Only the hashing of a file needs a script."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlencode

from pydantic import ConfigDict, Field

from attestlab.core.encoding import parse_uuid
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
from attestlab.protections.shapes import ProtectionPatch, ProtectionRevocationIn, ProtectionsQuery
from attestlab.web.executor import Executor
from attestlab.web.paging import decode_id, split_page
from attestlab.web.request import Request
from attestlab.web.response import RawResponse
from attestlab.web.routing.authorization import PUBLIC
from attestlab.web.routing.routes import Routes

routes = Routes("portal")
_PAGE_SIZE: Final = 50
_LIST: Final = "protect page"
_SIGN_IN_FIRST: Final = "signin?next=protect"
_CONTENT_FIELDS: Final = (
    *("content_hash", "title", "description", "content_type", "category", "visibility"),
    *("file_name", "file_size"),
)


class ProtectPageQuery(In, source="CONTRACT 11.3"):
    """The query of the page; parameters that other programs add are ignored."""

    model_config = ConfigDict(extra="ignore")

    cursor: str | None = None
    """Where older protections begin, from the page before. Format: opaque."""


class ProtectForm(In, source="CONTRACT 11.3"):
    """What the forms of the page send; each field is validated as that of the operation for programs."""

    form_token: str = Field(default="", repr=False)
    """The token of the forms of this session. Format: 43 base64url characters."""
    action: str = ""
    """What to do: protect content, change who sees a protection, revoke or remove it.
    Format: create, change, revoke or remove.
    """
    id: str = ""
    """The protection to change, revoke or remove. Format: UUID, 36 characters."""
    reason: str = ""
    """Why it is revoked; the log contains only a commitment to it. Format: text, 1-1000 characters."""
    content_hash: str = ""
    """Hash of the content. Format: SHA-256, 64 hex digits of either case."""
    title: str = ""
    """What the owner calls it. Format: one line, 1-200 characters."""
    description: str = ""
    """What the owner says about it. Format: text, at most 2000 characters."""
    content_type: str = ""
    """What it is. Format: image, video, audio, document or other, or a MIME type."""
    category: str = ""
    """The owner's own grouping. Format: 1-64 of a-z 0-9 _ -."""
    visibility: str = ""
    """Who can see it. Format: public, unlisted or private."""
    file_name: str = ""
    """The file's name, which only the owner sees. Format: text, 1-255 characters."""
    file_size: str = ""
    """The file's size, which only the owner sees. Format: bytes, in digits."""

    def content(self) -> Mapping[str, str]:
        """Return the fields of a new protection, as they were sent."""
        return {name: getattr(self, name) for name in _CONTENT_FIELDS}


@routes.get("/protect", scope=PUBLIC, **PRIVATE_PAGE, redirect="Without a session: the sign-in page.")
async def get_protect_page(
    request: Request,
    query: ProtectPageQuery,
    page_sessions: PageSessions,
    protections: Protections,
    links: Links,
    executor: Executor,
) -> RawResponse:
    """Get the page on which a consumer protects content, with the list of their protections, newest first.

    A script computes the SHA-256 of a file and never sends the file; without it, the SHA-256 is pasted.
    """
    session = await executor.read(page_sessions.find, request)
    if session is None:
        return redirect(_SIGN_IN_FIRST)
    return await executor.read(lambda: _show(request, session, query, protections, links))


@routes.post(
    "/protect",
    scope=PUBLIC,
    **PRIVATE_FORM,
    status=303,
    redirect="It is done: the page again. Without a session: the sign-in page.",
    raises=(Conflict, NotFound, PermissionDenied),
)
async def send_protect_form(
    request: Request,
    body: ProtectForm,
    page_sessions: PageSessions,
    protections: Protections,
    links: Links,
    executor: Executor,
) -> RawResponse:
    """Protect content, change who sees a protection, revoke or remove it, with a form of the page.

    A form without the token of the session gets 403. The page says what is wrong. Programs use
    `/v1/consumer/protections` and the paths below it.
    """
    session = await executor.read(page_sessions.find, request)
    if session is None:
        return redirect(_SIGN_IN_FIRST)
    page_sessions.require_own_form(request, session, body.form_token)
    problem = await try_form(_do(request, body, session.caller, protections, executor))
    if problem is None:
        return redirect("protect")
    return await executor.read(
        lambda: _show(request, session, ProtectPageQuery(), protections, links, sent=body.content(), problem=problem)
    )


async def _do(
    request: Request, body: ProtectForm, caller: Caller, protections: Protections, executor: Executor
) -> None:
    """Do what a form asks for.

    Raises:
        ValidationFailed: the action is none of the page's, or a field is wrong.
    """
    if body.action == "create":
        await create_protection(request, body.content(), caller=caller, protections=protections, executor=executor)
    elif body.action == "change":
        patch = read_form(ProtectionPatch, {"visibility": body.visibility})
        protection_id = parse_uuid(body.id)
        await executor.write(lambda tx: protections.update(protection_id, patch, caller=caller, tx=tx))
    elif body.action == "revoke":
        reason = read_form(ProtectionRevocationIn, {"reason": body.reason}).reason
        protection_id = parse_uuid(body.id)
        await executor.write(lambda tx: protections.revoke(protection_id, reason=reason, caller=caller, tx=tx))
    elif body.action == "remove":
        protection_id = parse_uuid(body.id)
        await executor.write(lambda tx: protections.delete(protection_id, caller=caller, tx=tx))
    else:
        raise ValidationFailed.of("/action", "enum", "Send this form with one of its buttons.")


def _show(
    request: Request,
    session: PageSession,
    query: ProtectPageQuery,
    protections: Protections,
    links: Links,
    *,
    sent: Mapping[str, str] | None = None,
    problem: FormProblem | None = None,
) -> RawResponse:
    from attestlab.portal import protection_pages  # imports the template engine, which must not delay the start

    before = decode_id(_LIST, query.cursor)
    found, _ = protections.page(ProtectionsQuery(), caller=session.caller, before=before, limit=_PAGE_SIZE + 1)
    shown, cursor = split_page(found, limit=_PAGE_SIZE, kind=_LIST, position=lambda each: [str(each.row.id)])
    page = protection_pages.protect_page(
        shown,
        session=session,
        sent=sent or {},
        problem=problem,
        next_query=None if cursor is None else urlencode({"cursor": cursor}),
        links=links,
        now=request.now,
    )
    return to_response(page)
