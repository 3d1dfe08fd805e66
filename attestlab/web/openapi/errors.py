"""The errors that a route can answer with, derived from its declaration, as components of OpenAPI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Final, NamedTuple

from attestlab.web.openapi.headers import EVERY_RESPONSE, refer_to_headers
from attestlab.web.openapi.vocabulary import DocumentPart
from attestlab.web.problems import STATUS_OF, http_status_of
from attestlab.web.rate_limit.limiter import is_probe
from attestlab.web.response import JSON
from attestlab.web.routing.routes import Route


class ErrorResponse(NamedTuple):
    """An error response that many routes share: the name of its component, and when it is sent."""

    name: str
    description: str
    headers: Sequence[str] = ()


_PAGE: Final = "OrPage"  # the suffix of a component for routes outside of `/v1`
RESPONSES: Final[Mapping[int, ErrorResponse]] = {
    400: ErrorResponse(
        "ValidationError",
        "The request is malformed: its path, query, headers or body. `details.fields` lists each fault with a JSON "
        "Pointer; nothing was changed.",
    ),
    401: ErrorResponse(
        "Unauthenticated",
        "There is no credential (`AUTH_REQUIRED`), or it is malformed, unknown, revoked or expired (`AUTH_INVALID`).",
        ("WWW-Authenticate",),
    ),
    402: ErrorResponse(
        "PlanLimitReached",
        "A cap of the plan is used up: a count of objects (`QUOTA_EXCEEDED`) or the metered use (`BILLING_LIMIT`).",
    ),
    403: ErrorResponse(
        "Forbidden",
        "The caller may not do this. `details` names the missing scope, role or kind of credential, or the reason.",
    ),
    404: ErrorResponse("NotFound", "The object is unknown, or belongs to another tenant; the answer is the same."),
    409: ErrorResponse(
        "Conflict",
        "The present state does not allow the change, or a request with the same Idempotency-Key is still running.",
        ("Retry-After",),
    ),
    410: ErrorResponse("Gone", "The object was public and is not any more; nothing else will have its address."),
    413: ErrorResponse(
        "PayloadTooLarge", "The body, or the file in it, exceeds its limit; `details` has the limit in bytes."
    ),
    415: ErrorResponse("UnsupportedMediaType", "The body has a media type that this operation does not accept."),
    422: ErrorResponse(
        "IdempotencyKeyReused", "The Idempotency-Key was used with another request; `details.reason` says so."
    ),
    429: ErrorResponse(
        "RateLimited",
        "Too many requests. Retry after the time in `Retry-After`, in seconds, or `retry_after_ms`.",
        ("Retry-After",),
    ),
    500: ErrorResponse("InternalError", "The service failed. Quote the request id when you report it."),
    503: ErrorResponse(
        "Unavailable", "The request could not be served now, and changed nothing. Retry later.", ("Retry-After",)
    ),
}


def error_statuses(route: Route) -> list[int]:
    """List the statuses of the errors that a route can answer with."""
    has_body = route.body is not None or route.is_unparsed
    is_keyed = route.idempotency != "none"
    derived = {
        400: True,
        401: route.needs is not None,
        403: route.needs is not None,
        404: bool(route.path_types),
        409: is_keyed,
        413: has_body,
        415: has_body,
        422: is_keyed,
        429: not is_probe(route),
        500: True,
        503: True,
    }
    declared = {http_status_of(kind) for kind in route.raises}
    return sorted({status for status, is_possible in derived.items() if is_possible} | declared)


def refer_to_errors(route: Route) -> dict[str, DocumentPart]:
    """Refer to the component of each error response of a route, by its status.

    Outside of `/v1`, a browser gets a page with the same status.
    """
    form = "" if route.path.startswith("/v1/") else _PAGE
    return {
        str(status): {"$ref": f"#/components/responses/{RESPONSES[status].name}{form}"}
        for status in error_statuses(route)
    }


def describe_errors(schema: DocumentPart, examples: Mapping[str, DocumentPart]) -> dict[str, DocumentPart]:
    """Describe the error responses as components; `schema` is that of the envelope."""
    described: dict[str, DocumentPart] = {}
    for status, response in RESPONSES.items():
        content: DocumentPart = {JSON: {"schema": schema, **_example_of(examples.get(str(status)))}}
        described[response.name] = component = {
            "description": f"{HTTPStatus(status).phrase}: {_list_codes(status)}. {response.description}",
            "headers": refer_to_headers([*EVERY_RESPONSE, *response.headers]),
            "content": content,
        }
        as_page = {**content, "text/html": {"schema": {"type": "string"}}}
        described[response.name + _PAGE] = {**component, "content": as_page}
    return described


def _list_codes(status: int) -> str:
    codes = sorted({kind.code for kind, its_status in STATUS_OF.items() if its_status == status})
    return " or ".join(f"`{code}`" for code in codes)


def _example_of(captured: DocumentPart | None) -> DocumentPart:
    return {} if captured is None else {"example": captured["response"]["body"]}
