"""The two links to an attestation's public page.

The plain one shows the verdict to anybody: ids stand in the public log. What the issuer states,
and the bundle that proves it, are for those who were given the link with the key. The key is an
HMAC of the id under the keyring, so it need not be stored and cannot be guessed.
"""

from __future__ import annotations

import hmac
from uuid import UUID

from attestlab.core.crypto.keyring import Keyring
from attestlab.core.strict_json import b64url_encode

KEY_BYTES = 16  # 22 characters of base64url


class Links:
    """Makes links that begin with `portal_url`, and tells whether a key opens a page."""

    def __init__(self, portal_url: str, keyring: Keyring) -> None:
        self.portal_url = portal_url
        self._keyring = keyring

    def public_url(self, attestation_id: UUID) -> str:
        """For anybody: the verdict."""
        return f"{self.portal_url}/a/{attestation_id}"

    def share_url(self, attestation_id: UUID) -> str:
        """For whom it may concern: the verdict, the claims, the bundle."""
        return f"{self.public_url(attestation_id)}?k={self.share_key(attestation_id)}"

    def share_key(self, attestation_id: UUID) -> str:
        """What opens the claims of one attestation's page."""
        return b64url_encode(self._keyring.keyed_sha256(b"public page " + attestation_id.bytes)[:KEY_BYTES])

    def is_valid_key(self, attestation_id: UUID, key: str | None) -> bool:
        """Whether somebody shows that key."""
        return key is not None and hmac.compare_digest(key.encode(), self.share_key(attestation_id).encode())
