"""HTTP routes of what a consumer downloads from the page of an inbox item, by the cookie of their session."""

from uuid import UUID

from attestlab.attestations import rendering
from attestlab.attestations.inbox.service import Inbox
from attestlab.attestations.shapes import AttestationOut
from attestlab.core.errors import Conflict, NotFound, PermissionDenied
from attestlab.exports.rendering import SD_JWT
from attestlab.exports.service import Exports
from attestlab.portal.consumer_session import PageSessions
from attestlab.portal.page_forms import redirect
from attestlab.web.executor import Executor
from attestlab.web.request import Request
from attestlab.web.response import JSON, RawResponse, save_as
from attestlab.web.routing.authorization import PUBLIC
from attestlab.web.routing.routes import Routes

routes = Routes("portal")


@routes.get(
    "/inbox/{id}/record.json",
    scope=PUBLIC,
    cache_control="no-store",
    page=True,
    produces={JSON: AttestationOut},
    headers=("Content-Disposition",),
    redirect="Without a session: the sign-in page.",
    raises=(NotFound,),
)
async def download_inbox_record(
    request: Request, id: UUID, page_sessions: PageSessions, inbox: Inbox, executor: Executor
) -> RawResponse:
    """Download the record of an inbox item's attestation, with its current status.

    A declined one is a 404. Programs use `GET /v1/attestations/{id}`.
    """
    session = await executor.read(page_sessions.find, request)
    if session is None:
        return _sign_in_first(id)
    held = (await executor.read(lambda: inbox.get(id, caller=session.caller))).attestation
    if held is None:
        raise NotFound("attestation of the inbox item", id)
    record = rendering.render_attestation(held, now=request.now)
    content = record.model_dump_json(by_alias=True, indent=2).encode()
    return RawResponse(content, JSON, save_as(f"record-{record.id}.json"))


@routes.get(
    "/inbox/{id}/sd-jwt",
    scope=PUBLIC,
    cache_control="no-store",
    page=True,
    produces={SD_JWT: str},
    headers=("Content-Disposition",),
    redirect="Without a session: the sign-in page.",
    raises=(Conflict, NotFound, PermissionDenied),
)
async def download_inbox_sd_jwt(
    request: Request, id: UUID, page_sessions: PageSessions, inbox: Inbox, exports: Exports, executor: Executor
) -> RawResponse:
    """Download an inbox item's attestation as SD-JWT VC, whose holder decides which claims to show.

    A declined one is a 404; one that is not VALID, or whose issuer has no active managed key, a 409. Programs use
    `GET /v1/attestations/{id}/sd-jwt`.
    """
    session = await executor.read(page_sessions.find, request)
    if session is None:
        return _sign_in_first(id)
    attestation_id = (await executor.read(lambda: inbox.get(id, caller=session.caller))).entry.attestation_id
    token = await executor.run_in_thread(
        lambda: exports.sd_jwt(attestation_id, caller=session.caller, client_address=request.peer)
    )
    return RawResponse(token.encode(), SD_JWT, save_as(f"credential-{attestation_id}.sd-jwt"))


def _sign_in_first(item_id: UUID) -> RawResponse:
    return redirect(f"../../signin?next=inbox/{item_id}")
