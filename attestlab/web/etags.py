"""Strong entity tags from the bytes of an answer, and If-None-Match (RFC 9110 sections 8.8.3 and 13.1.2)."""

from __future__ import annotations

import re
from hashlib import sha256

from attestlab.core.strict_json import b64url_encode
from attestlab.web.response import Response

_TAG_BYTES = 18  # of the digest; 24 characters
_OPAQUE_TAG = re.compile(r'"[\x21\x23-\x7e\x80-\xff]*"')
_OF_BODY = ("Content-Type", "Content-Length")


def strong_etag(body: bytes) -> str:
    """The tag of a representation: equal tags, equal bytes."""
    return f'"{b64url_encode(sha256(body).digest()[:_TAG_BYTES])}"'


def apply_if_none_match(answer: Response, if_none_match: str | None) -> Response:
    """The answer to a GET with its tag; 304 without a body where the client already has it.

    A refusal has no tag: a condition counts only where the answer would be a success (RFC 9110 section 13.2.1).
    """
    if answer.status >= 300:
        return answer
    tag = answer.headers.get("ETag") or strong_etag(answer.body)
    headers = {**answer.headers, "ETag": tag}
    if if_none_match is None or not _matches(if_none_match, tag):
        return answer._replace(headers=headers)
    return Response(304, {name: value for name, value in headers.items() if name not in _OF_BODY}, b"")


def _matches(if_none_match: str, tag: str) -> bool:
    # If-None-Match compares weakly: a `W/` before a tag makes no difference.
    return if_none_match.strip() == "*" or tag in _OPAQUE_TAG.findall(if_none_match)
