"""Rules of the portal: where a visitor may return to, and what a browser proves its session with.

A cookie names a link and the time until which its session holds, under a MAC of the installation. So a GET of the link
stores nothing, and a program that follows the link before its recipient does uses nothing up.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple
from uuid import UUID

from attestlab.core.crypto.keyring import Keyring
from attestlab.core.encoding import b64url_encode
from attestlab.core.errors import ValidationFailed
from attestlab.orgs.origins import is_loopback_origin, normalize_origin

SESSION_TTL: Final = timedelta(minutes=30)
MAX_URL_LENGTH = 2048
# Characters of RFC 3986 alone: browsers repair others, such as a backslash, to an address that we would not see.
_URL = re.compile(r"([A-Za-z]+://[^/?#]+)(?:[/?#][A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]*)?")
_COOKIE_PURPOSE = b"billing portal session\x00"
_FORM_PURPOSE = b"billing portal form\x00"


class PortalSession(NamedTuple):
    """A browser's session: the link that opened it, and when it ends."""

    link_id: UUID
    ends_at: datetime


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


def write_cookie(session: PortalSession, keyring: Keyring) -> str:
    """Write the cookie of a session."""
    claimed = f"{session.link_id.hex}.{int(session.ends_at.timestamp())}"
    return f"{claimed}.{_seal(keyring, _COOKIE_PURPOSE, claimed)}"


def read_cookie(cookie: str, keyring: Keyring) -> PortalSession | None:
    """Read the session of a cookie; None if we did not write it."""
    claimed, _, mac = cookie.rpartition(".")
    if not hmac.compare_digest(mac.encode(), _seal(keyring, _COOKIE_PURPOSE, claimed).encode()):
        return None
    link_id, _, ends_at = claimed.partition(".")
    return PortalSession(UUID(hex=link_id), datetime.fromtimestamp(int(ends_at), UTC))


def form_token(link_id: UUID, keyring: Keyring) -> str:
    """Return the token that the forms of a link's sessions carry, which no page of another site can read."""
    return _seal(keyring, _FORM_PURPOSE, link_id.hex)


def _seal(keyring: Keyring, purpose: bytes, text: str) -> str:
    return b64url_encode(keyring.keyed_sha256(purpose + text.encode()))
