"""HTTP routes of the first page, its search, the API reference, and the files at fixed addresses."""

from pydantic import ConfigDict

from attestlab.core.encoding import b64url_decode
from attestlab.core.errors import NotFound, SignatureInvalid, ValidationFailed
from attestlab.core.shapes import In
from attestlab.delivery.share_links import Links
from attestlab.exports.badge_credential import VerifiedBadge
from attestlab.exports.baking import pictures
from attestlab.exports.service import Exports
from attestlab.portal import assets, site_files
from attestlab.portal.page_forms import to_response
from attestlab.portal.rules import MAX_SEARCH_CHARS, SearchTerm, parse_search
from attestlab.portal.search import SearchResult
from attestlab.portal.service import Portal
from attestlab.settings import Settings
from attestlab.web.executor import Executor
from attestlab.web.request import Request
from attestlab.web.response import HTML, RawResponse
from attestlab.web.routing.authorization import PUBLIC
from attestlab.web.routing.routes import Routes

routes = Routes("portal")
_IMMUTABLE = "public, max-age=31536000, immutable"
_DAILY = "public, max-age=86400"
_TEXT = "text/plain; charset=utf-8"
_ICON = "image/x-icon"
_HTML_BODY = {"text/html": str}
_TEXT_BODY = {"text/plain": str}


class SearchQuery(In, wire_name="page_search_query", source="UX First page"):
    """The query parameters of a search; parameters that other programs add are ignored."""

    model_config = ConfigDict(extra="ignore")

    q: str = ""
    """What to find. Format: an id, a link, an index of the log or a SHA-256; at most 500 characters are read."""
    file: str | None = None
    """Present if the SHA-256 is that of a file that a browser hashed: then it is never taken for that of a log entry.
    Format: any text, such as 1.
    """


class BadgeForm(In, wire_name="page_badge_form", source="UX First page"):
    """What the form of the first page sends: a picture that holds an Open Badge."""

    content_b64url: str = ""
    """The picture, PNG or SVG, whose Open Badge to verify. Format: base64url, at most 768,000 bytes decoded."""


@routes.get("/", scope=PUBLIC, cache_control="no-store", page=True, produces=_HTML_BODY)
async def get_first_page(request: Request, portal: Portal, executor: Executor) -> RawResponse:
    """Get the first page: a search box, and the state of the log.

    It shows the newest signed head, the new entries of each of the last 90 days, and the witnesses. It needs no script.
    """
    from attestlab.portal import front_page  # imports the template engine, which must not delay the start

    overview = await executor.run_in_thread(portal.overview, request.now)  # the first one looks at ninety days
    return to_response(front_page.front_page(overview, now=request.now))


@routes.get(
    "/find",
    scope=PUBLIC,
    cache_control="no-store",
    page=True,
    produces=_HTML_BODY,
    redirect="`q` names one attestation: its page.",
    raises=(NotFound,),
)
async def find_attestation(request: Request, query: SearchQuery, portal: Portal, executor: Executor) -> RawResponse:
    """Find what `q` names: an attestation's id or link, an index of the log, or the SHA-256 of a document.

    Redirects with 303 to the attestation's page if it is one; several are listed; 404 if nothing is known. Programs
    use `GET /v1/log/lookup`.
    """
    from attestlab.portal import front_page

    term = parse_search(query.q[:MAX_SEARCH_CHARS])
    result = await executor.read(lambda: portal.find(term, is_file=query.file is not None))
    if result.attestation_id is not None:
        return RawResponse(b"", HTML, {"Location": _page_address(result, term)}, status=303)
    return to_response(front_page.found_page(term, result, now=request.now, is_file=query.file is not None))


@routes.post(
    "/find",
    scope=PUBLIC,
    cache_control="no-store",
    page=True,
    web_form=True,
    idempotency="none",
    produces=_HTML_BODY,
    redirect="The issuer signed the badge: the page of its attestation.",
)
async def find_badge(body: BadgeForm, exports: Exports, executor: Executor) -> RawResponse:
    """Verify the Open Badge in a picture, and find its attestation. Not metered.

    Redirects with 303 to the attestation's page, which has the verdict, once a published key of the issuer verifies
    the badge; otherwise the page says why it is not valid. Programs use `POST /v1/open-badges/verify`.
    """
    from attestlab.portal import front_page

    try:
        badge = await executor.run_in_thread(_verify_picture, body.content_b64url, exports)
    except SignatureInvalid as error:
        return to_response(front_page.badge_page(error.message, is_read=True))
    except ValidationFailed as error:
        return to_response(front_page.badge_page(error.message, is_read=False))
    return RawResponse(b"", HTML, {"Location": f"a/{badge.attestation_id}"}, status=303)


@routes.get("/docs", scope=PUBLIC, cache_control="no-cache", page=True, produces=_HTML_BODY)
def get_api_reference() -> RawResponse:
    """Get the API reference for people.

    It shows `/openapi.json` in a viewer that is part of the service and loads nothing from other hosts.
    """
    from attestlab.portal import reference  # imports the template engine, too

    return to_response(reference.reference_page())


@routes.get(
    "/assets/{name}",
    scope=PUBLIC,
    cache_control=_IMMUTABLE,
    page=True,
    fixed=True,
    produces={"text/css": str, "text/javascript": str, "image/svg+xml": bytes, _ICON: bytes, "text/plain": str},
)
def get_page_asset(name: str) -> RawResponse:
    """Get a file of the pages; its name changes with its content.

    A style sheet, script, icon or licence, to be cached for a year; nothing else is served here.
    """
    from attestlab.portal import layout  # imports the template engine, too

    found = assets.find_asset(name)
    return RawResponse(found.content, found.media_type, layout.NOTHING_ALLOWED)


@routes.get("/favicon.ico", scope=PUBLIC, cache_control=_DAILY, page=True, produces={_ICON: bytes})
def get_favicon() -> RawResponse:
    """Get the icon of the site.

    Browsers look for it at this address whenever something without an icon is opened.
    """
    from attestlab.portal import layout

    found = assets.read_asset("favicon.ico")
    return RawResponse(found.content, found.media_type, layout.NOTHING_ALLOWED)


@routes.get("/robots.txt", scope=PUBLIC, cache_control=_DAILY, page=True, produces=_TEXT_BODY)
def get_robots_txt() -> RawResponse:
    """Get what crawlers should leave out (RFC 9309).

    Pages of attestations are not listed, so that crawlers can read that these forbid indexing.
    """
    return RawResponse(site_files.ROBOTS_TXT.encode(), _TEXT)


@routes.get(
    "/.well-known/security.txt",
    scope=PUBLIC,
    cache_control=_DAILY,
    page=True,
    produces=_TEXT_BODY,
    raises=(NotFound,),
)
def get_security_txt(request: Request, settings: Settings, links: Links) -> RawResponse:
    """Get the address to which weaknesses are reported (RFC 9116).

    It is a 404 if the operator has set no contact; the file expires after half a year.
    """
    if settings.security_contact is None:
        raise NotFound("security contact", "of this service")
    text = site_files.security_txt(settings.security_contact, portal_url=links.portal_url, now=request.now)
    return RawResponse(text.encode(), _TEXT)


def _verify_picture(content_b64url: str, exports: Exports) -> VerifiedBadge:
    return exports.verify_badge(pictures.read_credential(b64url_decode(content_b64url, field="/content_b64url")))


def _page_address(result: SearchResult, term: SearchTerm) -> str:
    """Build the address of an attestation's page, relative to the search; a pasted link keeps its share key."""
    page = f"a/{result.attestation_id}"
    return page if term.key is None else f"{page}?k={term.key}"
