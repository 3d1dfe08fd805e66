"""Strong entity tags computed from a response's bytes, and If-None-Match (RFC 9110 sections 8.8.3 and 13.1.2)."""

from __future__ import annotations

import re
from hashlib import sha256

from attestlab.core.encoding import b64url_encode
from attestlab.web.response import Response

_TAG_BYTES = 18  # of the digest; 24 characters
_OPAQUE_TAG = re.compile(r'"[\x21\x23-\x7e\x80-\xff]*"')
_OF_BODY = ("Content-Type", "Content-Length")


def strong_etag(body: bytes) -> str:
    """Compute the strong entity tag of a representation: equal tags mean equal bytes."""
    return f'"{b64url_encode(sha256(body).digest()[:_TAG_BYTES])}"'


def apply_if_none_match(answer: Response, if_none_match: str | None, *, suffix: str = "") -> Response:
    """Add the entity tag to a GET's response, and turn it into a 304 without a body if the client has it already.

    `suffix` distinguishes the tag of another form of the same body, such as gzip.
    An error has no tag: a condition is evaluated only where the response would be a success (RFC 9110 section 13.2.1).
    """
    if answer.status >= 300:
        return answer
    tag = f'{(answer.headers.get("ETag") or strong_etag(answer.body))[:-1]}{suffix}"'
    headers = {**answer.headers, "ETag": tag}
    if if_none_match is None or not _matches(if_none_match, tag):
        return answer._replace(headers=headers)
    return Response(304, {name: value for name, value in headers.items() if name not in _OF_BODY}, b"")


def _matches(if_none_match: str, tag: str) -> bool:
    # If-None-Match uses weak comparison: a `W/` before a tag is ignored.
    return if_none_match.strip() == "*" or tag in _OPAQUE_TAG.findall(if_none_match)
