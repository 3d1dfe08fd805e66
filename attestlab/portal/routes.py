"""The HTTP door of the public page."""

from typing import TYPE_CHECKING
from uuid import UUID

from pydantic import ConfigDict

from attestlab.attestations import rendering as attestation_rendering
from attestlab.attestations.routes import record_decisions
from attestlab.attestations.service import Export
from attestlab.core.errors import NotFound, ValidationFailed
from attestlab.core.shapes import In
from attestlab.core.strict_json import parse_uuid
from attestlab.portal import assets
from attestlab.portal.rules import wants_json
from attestlab.web.request import Request
from attestlab.web.response import JSON, RawResponse
from attestlab.web.routing.authorization import PUBLIC
from attestlab.web.routing.routes import Routes

if TYPE_CHECKING:
    from attestlab.portal.rendering import Html

routes = Routes("portal")
_IMMUTABLE = "public, max-age=31536000, immutable"
_VARY_ACCEPT = {"Vary": "Accept"}


class LinkQuery(In):
    """What a shared link holds beside the id; what mail programs and networks add to links means nothing."""

    model_config = ConfigDict(extra="ignore")

    k: str | None = None


@routes.get("/a/{id}", scope=PUBLIC, cache_control="no-store", page=True)
async def page(request: Request, id: str, query: LinkQuery) -> RawResponse:
    """The public page: what `POST /v1/verify` answers, for people; as JSON where `Accept` asks for it. Not metered.

    With the key of the shared link it shows the claims, and offers the bundle.

    An unknown id is a page that says NOT_FOUND, with 404; so is one that cannot be an id.
    """
    from attestlab.portal import rendering  # with the template engine, which a start must not wait for

    as_json = wants_json(request.header("Accept"))
    attestation_id = _parse_id(id)
    if attestation_id is None:
        if as_json:
            raise NotFound("attestation", id)
        return _html(rendering.not_found_page(id, at=request.now))
    seen = await request.application.read(lambda: request.lab.portal.page_data(attestation_id))
    await record_decisions(
        request, seen.verified.policy_decisions, what="this look"
    )  # what they deny, the verdict says
    status = 200 if seen.verified.row is not None else 404
    if as_json:
        told = attestation_rendering.render_verification(seen.verified, log_id=request.lab.log_id)
        return RawResponse(told.model_dump_json(by_alias=True).encode(), JSON, _VARY_ACCEPT, status=status)
    links = request.lab.links
    if links.is_valid_key(attestation_id, query.k):
        return _html(rendering.attestation_page(seen, url=links.share_url(attestation_id), key=query.k))
    return _html(rendering.attestation_page(seen, url=links.public_url(attestation_id), key=None))


@routes.get("/a/{id}/bundle.json", scope=PUBLIC, cache_control="no-store", page=True)
async def bundle(request: Request, id: str, query: LinkQuery) -> RawResponse:
    """The proof bundle as a file, for whoever has the key of the shared link."""
    from attestlab.portal import rendering

    attestation_id = _parse_id(id)
    if attestation_id is None or not request.lab.links.is_valid_key(attestation_id, query.k):
        raise NotFound("attestation", id)
    found: Export = await request.application.read(lambda: request.lab.portal.export(attestation_id))
    if (refusal := await record_decisions(request, found.policy_decisions, what="this export")) is not None:
        raise refusal
    told = rendering.without_private_notes(
        attestation_rendering.render_bundle(found.row, found.proofs, found.head, now=request.now)
    )
    named = {"Content-Disposition": f'attachment; filename="attestation-{found.row.id}.json"'}
    return RawResponse(told.model_dump_json(by_alias=True, indent=2).encode(), JSON, named)


@routes.get("/a/assets/{name}", scope=PUBLIC, cache_control=_IMMUTABLE, page=True)
def asset(request: Request, name: str) -> RawResponse:
    """A file of the page; its name changes with its content."""
    from attestlab.portal import rendering

    found = assets.ASSETS.get(name)
    if found is None:
        raise NotFound("asset", name)
    return RawResponse(found.content, found.media_type, rendering.NOTHING_ALLOWED)


def _parse_id(text: str) -> UUID | None:
    try:
        return parse_uuid(text)
    except ValidationFailed:
        return None


def _html(shown: "Html") -> RawResponse:
    return RawResponse(shown.body, "text/html; charset=utf-8", {**shown.headers, **_VARY_ACCEPT}, status=shown.status)
