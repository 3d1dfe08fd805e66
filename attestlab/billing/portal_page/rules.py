"""Rules of the portal: where a visitor may return to, and what a browser proves its session with."""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import timedelta
from typing import Final

from attestlab.core.errors import ValidationFailed
from attestlab.orgs.origins import is_loopback_origin, normalize_origin

SESSION_TTL: Final = timedelta(minutes=30)
MAX_URL_LENGTH = 2048
# Characters of RFC 3986 alone: browsers repair others, such as a backslash, to an address that we would not see.
_URL = re.compile(r"([A-Za-z]+://[^/?#]+)(?:[/?#][A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]*)?")


def require_return_url(url: str, *, origins: Collection[str], is_sandbox: bool) -> str:
    """Require that a visitor who leaves the portal comes to a site of the tenant; returns the URL.

    `origins` are those that the tenant's organizations list. In the sandbox, http on the local machine needs no list.

    Raises:
        ValidationFailed: the URL is not absolute https, or its origin is not listed.

    >>> require_return_url("https://app.example/billing?a=1", origins=["https://app.example"], is_sandbox=False)
    'https://app.example/billing?a=1'
    """
    found = _URL.fullmatch(url) if len(url) <= MAX_URL_LENGTH else None
    if found is None:
        raise _refuse("url", "return_url must be an absolute https URL of at most 2,048 characters of RFC 3986.")
    origin = normalize_origin(found[1], "/return_url", allow_loopback=is_sandbox)
    if origin not in origins and not is_loopback_origin(origin):
        message = (
            f"The origin {origin} is not one of your organizations' return_origins. Add it with PATCH /v1/orgs/{{id}}."
        )
        raise _refuse("origin", message)
    return url


def _refuse(code: str, message: str) -> ValidationFailed:
    return ValidationFailed.of("/return_url", code, message)
