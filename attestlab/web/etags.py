"""Strong entity tags of responses, If-Match and If-None-Match (RFC 9110 sections 8.8.3, 13.1.1 and 13.1.2)."""

from __future__ import annotations

import re
from hashlib import sha256

from attestlab.core.encoding import b64url_encode, quote
from attestlab.core.errors import ValidationFailed
from attestlab.web.response import Response

_TAG_BYTES = 18  # of the digest; 24 characters
_OPAQUE_TAG = re.compile(r'"[\x21\x23-\x7e\x80-\xff]*"')
_ENTITY_TAG = rf"(?:W/)?{_OPAQUE_TAG.pattern}"
_ENTITY_TAGS = re.compile(rf"[ \t]*{_ENTITY_TAG}(?:[ \t]*,[ \t]*{_ENTITY_TAG})*[ \t]*")
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


def is_unchanged(tag: str, if_match: str | None) -> bool:
    """Whether the resource with this tag is the one that a client read, by the If-Match that it sent.

    The client may have read it in a coding, whose name then ends its tag. A weak tag never matches.

    Raises:
        ValidationFailed: the header is neither `*` nor a list of entity tags.

    >>> is_unchanged('"a1"', '"b2", "a1-gzip"'), is_unchanged('"a1"', 'W/"a1"'), is_unchanged('"a1"', "*")
    (True, False, True)
    """
    if if_match is None or if_match.strip() == "*":
        return True
    if _ENTITY_TAGS.fullmatch(if_match) is None:
        message = f'If-Match is * or a list of entity tags, such as "a1b2"; {quote(if_match[:80])} is neither.'
        raise ValidationFailed(message)
    coded = f"{tag[:-1]}-"
    return any(sent == tag or sent.startswith(coded) for sent in re.findall(_ENTITY_TAG, if_match))
