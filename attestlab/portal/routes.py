"""HTTP routes of an attestation's page, its badge, and its bundle."""

from typing import TYPE_CHECKING
from uuid import UUID

from pydantic import ConfigDict

from attestlab.attestations import rendering as attestation_rendering
from attestlab.attestations.decision_recording import record_decisions
from attestlab.attestations.service import Attestations
from attestlab.attestations.shapes import BundleOut
from attestlab.attestations.verification.shapes import VerifyOut
from attestlab.core.encoding import parse_uuid
from attestlab.core.errors import Conflict, NotFound, PermissionDenied, ValidationFailed
from attestlab.core.shapes import In
from attestlab.delivery.share_links import Links
from attestlab.exports.baking.pictures import PictureFormat
from attestlab.exports.rendering import choose_picture_format, picture_response
from attestlab.exports.service import Exports
from attestlab.log.service import Log
from attestlab.portal.service import Portal
from attestlab.web.executor import Executor
from attestlab.web.media_types import prefers_json
from attestlab.web.request import Request
from attestlab.web.response import HTML, JSON, RawResponse, save_as
from attestlab.web.routing.authorization import PUBLIC
from attestlab.web.routing.routes import Routes

if TYPE_CHECKING:
    from attestlab.portal.layout import Html

routes = Routes("portal")
_SVG = "image/svg+xml"
_VARY_ACCEPT = {"Vary": "Accept"}


class LinkQuery(In, wire_name="share_link_query", source="CONTRACT 5"):
    """Query parameters of a shared link; parameters that mail programs and networks add are ignored."""

    model_config = ConfigDict(extra="ignore")

    k: str | None = None
    """The key of the shared link, which shows the claims. Format: base64url."""


class BadgeLinkQuery(LinkQuery, wire_name="share_link_badge_query", source="UX First page"):
    """Query parameters of the link to an Open Badge: the key, and the format of the picture."""

    format: PictureFormat | None = None
    """The format of the picture; the header Accept chooses when left out. Format: png or svg; default png."""


@routes.get(
    "/a/{id}",
    scope=PUBLIC,
    cache_control="no-store",
    page=True,
    produces={"text/html": str, JSON: VerifyOut},
    headers=("Vary",),
)
async def get_attestation_page(
    request: Request,
    id: str,
    query: LinkQuery,
    portal: Portal,
    attestations: Attestations,
    log: Log,
    links: Links,
    executor: Executor,
) -> RawResponse:
    """Get the public page: the result of `POST /v1/verify` for people, or as JSON if `Accept` prefers it. Not metered.

    With the key of the shared link it shows the claims, and offers the bundle.

    For an unknown or malformed id, the response is a page with the verdict NOT_FOUND and status 404.
    """
    from attestlab.portal import rendering  # imports the template engine, which must not delay the start

    as_json = prefers_json(request.header("Accept"))
    attestation_id = _parse_id(id)
    if attestation_id is None:
        if as_json:
            raise NotFound("attestation", id)
        return _html(rendering.not_found_page(id, at=request.now))
    page_data = await executor.read(lambda: portal.page_data(attestation_id, client_address=request.peer))
    # The error is not raised: the verdict on the page states a denial.
    await record_decisions(executor, attestations, page_data.verified.policy_decisions, what="this look")
    status = 200 if page_data.verified.evidence is not None else 404
    if as_json:
        verification = attestation_rendering.render_verification(page_data.verified, log_id=log.log_id)
        return RawResponse(verification.model_dump_json(by_alias=True).encode(), JSON, _VARY_ACCEPT, status=status)
    key = query.k if links.is_valid_key(attestation_id, query.k) else None
    public_url = links.public_url(attestation_id)
    url = public_url if key is None else links.share_url(attestation_id)
    return _html(rendering.attestation_page(page_data, url=url, public_url=public_url, key=key))


@routes.get(
    "/a/{id}/bundle.json",
    scope=PUBLIC,
    cache_control="no-store",
    page=True,
    produces={JSON: BundleOut},
    headers=("Content-Disposition",),
    raises=(PermissionDenied,),
)
async def get_shared_bundle(
    request: Request,
    id: str,
    query: LinkQuery,
    attestations: Attestations,
    links: Links,
    portal: Portal,
    executor: Executor,
) -> RawResponse:
    """Get the proof bundle as a file, for a client that has the key of the shared link.

    It lacks the private notes of the attestation's tenant: subject reference and metadata. Without the key,
    or with a wrong one, the answer is 404.
    """
    from attestlab.portal import rendering

    attestation_id = _require_shared(id, query, links)
    export = await executor.read(lambda: portal.export(attestation_id, client_address=request.peer))
    denial = await record_decisions(executor, attestations, export.policy_decisions, what="this export")
    if denial is not None:
        raise denial
    bundle_out = rendering.without_private_notes(
        attestation_rendering.render_bundle(export.evidence, export.proofs, export.head, now=request.now)
    )
    content = bundle_out.model_dump_json(by_alias=True, indent=2).encode()
    return RawResponse(content, JSON, save_as(f"attestation-{attestation_id}.json"))


@routes.get(
    "/a/{id}/open-badge",
    scope=PUBLIC,
    cache_control="no-store",
    page=True,
    produces={form.media_type: bytes for form in PictureFormat},
    headers=("Content-Disposition", "Vary"),
    raises=(Conflict, PermissionDenied),
)
async def get_shared_open_badge(
    request: Request, id: str, query: BadgeLinkQuery, links: Links, exports: Exports, executor: Executor
) -> RawResponse:
    """Get the Open Badge as a picture, for a client that has the key of the shared link.

    Without the key, or with a wrong one, the answer is 404; 409 for what is no badge, or not VALID.
    """
    attestation_id = _require_shared(id, query, links)
    form = query.format or choose_picture_format(request.header("Accept"))
    picture = await executor.run_in_thread(
        lambda: exports.baked_badge(attestation_id, form, caller=None, client_address=request.peer)
    )
    return picture_response(picture, attestation_id, form)


@routes.get(
    "/a/{id}/badge.svg",
    scope=PUBLIC,
    cache_control="no-cache",
    page=True,
    produces={_SVG: bytes},
)
async def get_badge(
    request: Request, id: str, portal: Portal, attestations: Attestations, executor: Executor
) -> RawResponse:
    """Get a picture of the current verdict, for other sites to embed, linked to the page.

    A copy of the picture proves nothing, so caches must revalidate it. An unknown id gets a picture with status 404.
    """
    from attestlab.portal.badge import render_badge  # imports the template engine, too

    attestation_id = _parse_id(id)
    if attestation_id is None:
        return _picture(render_badge(None))
    page_data = await executor.read(lambda: portal.page_data(attestation_id, client_address=request.peer))
    await record_decisions(executor, attestations, page_data.verified.policy_decisions, what="this look")
    return _picture(render_badge(page_data))


def _require_shared(id: str, query: LinkQuery, links: Links) -> UUID:
    """Require the key of the shared link; return the attestation's id.

    Raises:
        NotFound: the key is missing or wrong.
    """
    attestation_id = _parse_id(id)
    if attestation_id is None or not links.is_valid_key(attestation_id, query.k):
        raise NotFound("attestation", id)
    return attestation_id


def _parse_id(text: str) -> UUID | None:
    try:
        return parse_uuid(text)
    except ValidationFailed:
        return None


def _picture(html: "Html") -> RawResponse:
    return RawResponse(html.body, _SVG, html.headers, status=html.status)


def _html(html: "Html") -> RawResponse:
    return RawResponse(html.body, HTML, {**html.headers, **_VARY_ACCEPT}, status=html.status)
