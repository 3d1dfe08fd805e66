"""Sessions of browsers at the portal: what their cookie proves, and what their forms carry.

A cookie names a link and the time until which its session holds, under a MAC of the installation. So a GET of the link
stores nothing, and a program that follows the link before its recipient does uses nothing up.
"""

from __future__ import annotations

import hmac
from datetime import UTC, datetime
from typing import NamedTuple
from uuid import UUID

from attestlab.core.crypto.keyring import Keyring
from attestlab.core.encoding import b64url_encode

_COOKIE_PURPOSE = b"billing portal session\x00"
_FORM_PURPOSE = b"billing portal form\x00"


class PortalSession(NamedTuple):
    """A browser's session: the link that opened it, and when it ends."""

    link_id: UUID
    ends_at: datetime


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
