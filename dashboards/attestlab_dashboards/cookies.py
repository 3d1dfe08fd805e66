"""The cookie of a browser session: the session's refresh token, sealed by AES-256-GCM (NIST SP 800-38D).

The key is of the service, which derives it from its own and hands it to each process of the dashboards. So a person
stays signed in when this process or the service starts again, and the cookie opens nothing at the service itself.
"""

from __future__ import annotations

import re
import secrets
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from attestlab.core.encoding import b64url_decode, b64url_encode
from attestlab.core.errors import ValidationFailed

KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12
_FORM: Final = re.compile(r"[A-Za-z0-9_-]{40,400}")
_BOUND_TO: Final = b"attestlab dashboards cookie v1"


class CookieSeal:
    """Seals refresh tokens for cookies; without a key of the service, cookies are for this process alone."""

    def __init__(self, key: bytes | None = None) -> None:
        self._cipher = AESGCM(key or secrets.token_bytes(KEY_BYTES))

    def seal(self, refresh_token: str) -> str:
        """Seal a token; each result is another one."""
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return b64url_encode(nonce + self._cipher.encrypt(nonce, refresh_token.encode(), _BOUND_TO))

    def unseal(self, cookie: str) -> str | None:
        """Return the token of a cookie; None if it is not one of ours, or was sealed with another key.

        >>> seal = CookieSeal(bytes(32))
        >>> seal.unseal(seal.seal("rt_demo")), seal.unseal("x" * 60), CookieSeal().unseal(seal.seal("rt_demo"))
        ('rt_demo', None, None)
        """
        if not _FORM.fullmatch(cookie):
            return None
        try:
            sealed = b64url_decode(cookie, field="cookie")
            return self._cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], _BOUND_TO).decode()
        except (InvalidTag, ValidationFailed):
            return None
