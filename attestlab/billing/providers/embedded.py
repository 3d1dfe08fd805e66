"""The embedded provider: a portal of our own that charges no money, for the sandbox."""

from __future__ import annotations

import hashlib
import secrets
from typing import Final

from attestlab.billing.providers.provider import LINK_TTL, OpenedPortal, PortalOrder
from attestlab.core.encoding import b64url_encode

PAGE_PATH: Final = "/billing/portal"
_TOKEN_BYTES = 32


class EmbeddedProvider:
    """Opens our own page; subscriptions are in our own records alone."""

    is_embedded = True

    def __init__(self, portal_url: str) -> None:
        self.portal_url = portal_url

    def open_portal(self, order: PortalOrder) -> OpenedPortal:
        """Make a link with a new token, of which we keep the SHA-256."""
        token = b64url_encode(secrets.token_bytes(_TOKEN_BYTES))
        url = f"{self.portal_url}{PAGE_PATH}?token={token}"
        return OpenedPortal(url, order.at + LINK_TTL, link_sha256=hash_token(token))


def hash_token(token: str) -> bytes:
    """Hash the token of a link."""
    return hashlib.sha256(token.encode()).digest()
