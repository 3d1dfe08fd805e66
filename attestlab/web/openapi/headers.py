"""The response headers of the API, as components of OpenAPI."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from attestlab.web.openapi.vocabulary import DocumentPart

_TEXT = {"type": "string"}
_WHOLE_NUMBER = {"type": "integer", "format": "int64", "minimum": 0}

EVERY_RESPONSE: Final = (
    "X-Request-Id",
    "X-RateLimit-Limit",
    "X-RateLimit-Remaining",
    "X-RateLimit-Reset",
    "X-RateLimit-Policy",
    "Cache-Control",
)
HEADERS: Final[Mapping[str, tuple[str, DocumentPart]]] = {
    "X-Request-Id": (
        "The id of the request, for questions and logs: the caller's own where it sent a valid one.",
        {**_TEXT, "pattern": "^[A-Za-z0-9._-]{1,64}$"},
    ),
    "X-RateLimit-Limit": ("The requests that the tightest limit allows in its window.", _WHOLE_NUMBER),
    "X-RateLimit-Remaining": ("The requests that it still allows now.", _WHOLE_NUMBER),
    "X-RateLimit-Reset": ("The time at which it is full again, in Unix seconds.", _WHOLE_NUMBER),
    "X-RateLimit-Policy": ("That limit as `<requests>;w=<seconds>`.", {**_TEXT, "pattern": "^[0-9]+;w=[0-9]+$"}),
    "Cache-Control": ("How long a cache may store the response (RFC 9111).", _TEXT),
    "ETag": ("The entity tag of the body; send it as If-None-Match to get 304 while it is current (RFC 9110).", _TEXT),
    "Retry-After": ("The seconds to wait before the next attempt.", {"type": "integer", "minimum": 1}),
    "Idempotent-Replayed": ("`true` if this is the stored response to an earlier request with the same key.", _TEXT),
    "Location": (
        "The path of the created object, or of the page found.",
        {**_TEXT, "format": "uri-reference"},
    ),
    "Set-Cookie": (
        "The cookie of a browser's session: HttpOnly, for the pages below its path (RFC 6265).",
        _TEXT,
    ),
    "WWW-Authenticate": ("The two schemes of authentication, `ApiKey` and `Bearer`.", _TEXT),
    "Link": ('The address of the next page with `rel="next"` (RFC 8288); missing at the end.', _TEXT),
    "X-Next-Cursor": ("The cursor of the next page; missing at the end.", _TEXT),
    "Content-Disposition": ("The file name under which a browser stores the response.", _TEXT),
    "Content-Encoding": (
        "`gzip` from 1 kB on, for JSON and files of pages, where Accept-Encoding admits it.",
        _TEXT,
    ),
    "Access-Control-Allow-Origin": ("`*`: pages of any origin may read the response, without credentials.", _TEXT),
    "Access-Control-Expose-Headers": ("The headers that such a page may read.", _TEXT),
    "Vary": ("The request headers that select among representations.", _TEXT),
}


def describe_headers() -> dict[str, DocumentPart]:
    """Describe all response headers as components."""
    return {name: {"description": meaning, "schema": schema} for name, (meaning, schema) in HEADERS.items()}


def refer_to_headers(names: Iterable[str]) -> dict[str, DocumentPart]:
    """Refer to the components of these headers."""
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}
