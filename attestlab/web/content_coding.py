"""Content coding (RFC 9110 section 8.4): large JSON is sent as gzip to clients that accept it.

Compression reveals by its length whether a text that an attacker chose repeats a secret next to it (BREACH). So
routes whose responses contain secrets, keys of share links included, are never compressed, nor are pages for people.
Fixed bodies, such as the scripts and styles of pages, have neither; they are compressed once and kept.
"""

from __future__ import annotations

import gzip
import re
from http import HTTPStatus
from typing import Final

from attestlab.web.response import Response, add_vary
from attestlab.web.routing.routes import Route

MIN_BYTES: Final = 1024  # below, head and packet weigh as much
INLINE_BYTES: Final = 16 * 1024  # about a third of a millisecond; larger bodies are compressed in a thread
TAG_SUFFIX: Final = "-gzip"  # of the entity tag: other bytes have another tag (RFC 9110 section 8.8.3.3)
_LEVEL = 5
_BEST_LEVEL = 9  # of what is compressed once
_JSON = re.compile(r"application/(?:[a-z0-9.-]+\+)?json(?:;|$)")
_TEXT = re.compile(r"(?:text/(?:css|javascript|plain)|image/svg\+xml)(?:;|$)")
_MAX_KEPT = 32  # more than there are files; a careless proxy lets clients choose the path prefix in openapi.json
_kept: dict[bytes, bytes] = {}  # the fixed bodies, which are a few files, and what gzip makes of them
_CODING = re.compile(r"\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*(?:;\s*[qQ]\s*=\s*([01](?:\.[0-9]{0,3})?)\s*)?")


def is_json(content_type: str) -> bool:
    """Whether a media type is JSON, or another format in its syntax."""
    return _JSON.match(content_type) is not None


def is_text(media_type: str) -> bool:
    """Whether a media type is JSON, or that of a script, style, drawing or plain text."""
    return is_json(media_type) or _TEXT.match(media_type) is not None


def may_compress(route: Route) -> bool:
    """Whether no response of the route has a secret that its length could reveal."""
    return route.fixed or not (route.secret or route.page or route.share_links)


def is_compressible(route: Route, response: Response) -> bool:
    """Whether the response has a form as gzip, so that the request's Accept-Encoding selects between two."""
    if not may_compress(route) or response.pieces is not None or len(response.body) < MIN_BYTES:
        return False
    media_type = response.headers.get("Content-Type", "")
    if route.fixed:
        return response.status == HTTPStatus.OK and is_text(media_type)  # its errors are those of a page
    return is_json(media_type)


def accepts_gzip(accept_encoding: str | None) -> bool:
    """Whether an Accept-Encoding header admits gzip; a header that is malformed or missing does not.

    >>> [accepts_gzip(each) for each in ("gzip, deflate", "*;q=0.5", "gzip;q=0, *", "identity", "", None)]
    [True, True, False, False, False, False]
    """
    weights = {}
    for part in (accept_encoding or "").split(","):
        if (coding := _CODING.fullmatch(part)) is not None:
            weights[coding[1].lower()] = float(coding[2] or 1)
    return weights.get("gzip", weights.get("x-gzip", weights.get("*", 0))) > 0


def negotiate(route: Route, response: Response, accept_encoding: str | None) -> tuple[Response, bool]:
    """Choose the form of a response: return it with the `Vary` that the choice implies, and whether gzip is chosen."""
    if not is_compressible(route, response):
        return response, False
    return add_vary(response, "Accept-Encoding"), accepts_gzip(accept_encoding)


def compress(response: Response) -> Response:
    """Compress the body; equal bodies give equal bytes."""
    return _encode(response, gzip.compress(response.body, _LEVEL, mtime=0))


def compress_once(response: Response) -> Response:
    """Compress a fixed body as well as gzip can, and keep the result as long as the process runs.

    Once there are more bodies than files, the further ones are compressed as any other.
    """
    if response.body not in _kept:
        if len(_kept) >= _MAX_KEPT:
            return compress(response)
        _kept[response.body] = gzip.compress(response.body, _BEST_LEVEL, mtime=0)
    return _encode(response, _kept[response.body])


def is_kept(body: bytes) -> bool:
    """Whether a fixed body was compressed before."""
    return body in _kept


def _encode(response: Response, body: bytes) -> Response:
    return response._replace(headers={**response.headers, "Content-Encoding": "gzip"}, body=body)
