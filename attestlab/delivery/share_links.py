"""The two links to an attestation's public page.

The public link shows only the verdict, because ids are public in the log. The share link adds a key, which opens
the issuer's claims and the bundle that proves them. The key is an HMAC of the id under the keyring, so it need not
be stored and cannot be guessed.
"""

from __future__ import annotations

import hmac
from uuid import UUID

from attestlab.core.crypto.keyring import Keyring
from attestlab.core.encoding import b64url_encode

KEY_BYTES = 16  # 22 characters of base64url


class Links:
    """Creates links that begin with `portal_url`, and verifies share keys."""

    def __init__(self, portal_url: str, keyring: Keyring) -> None:
        self.portal_url = portal_url
        self._keyring = keyring

    def public_url(self, attestation_id: UUID) -> str:
        """Return the public link, which shows the verdict."""
        return f"{self.portal_url}/a/{attestation_id}"

    def share_url(self, attestation_id: UUID) -> str:
        """Return the share link, which shows the verdict, the claims and the bundle."""
        return f"{self.portal_url}{self.share_path(attestation_id)}"

    def share_path(self, attestation_id: UUID) -> str:
        """Return what follows the portal's address in the share link."""
        return f"/a/{attestation_id}?k={self.share_key(attestation_id)}"

    def share_key(self, attestation_id: UUID) -> str:
        """Derive the key that opens the claims on an attestation's page."""
        return b64url_encode(self._keyring.keyed_sha256(b"public page " + attestation_id.bytes)[:KEY_BYTES])

    def is_valid_key(self, attestation_id: UUID, key: str | None) -> bool:
        """Whether `key` is the attestation's share key."""
        return key is not None and hmac.compare_digest(key.encode(), self.share_key(attestation_id).encode())
