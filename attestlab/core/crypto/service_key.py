"""The service's own signing keys, each derived from the key-encryption key for one purpose."""

from __future__ import annotations

from collections.abc import Mapping

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from attestlab.core.crypto import jws, signing
from attestlab.core.crypto.keyring import Keyring
from attestlab.core.crypto.signing import Algorithm


class ServiceKey:
    """An Ed25519 key of the service itself, one for each purpose.

    It is derived from the key-encryption key, like the keys of shared links: it is not stored, and another
    key-encryption key replaces it. The service signs on each request, so a signature always verifies under
    the key that is published.
    """

    alg = Algorithm.ED25519

    def __init__(self, keyring: Keyring, purpose: bytes) -> None:
        self._private = Ed25519PrivateKey.from_private_bytes(keyring.keyed_sha256(purpose))
        self.kid = signing.thumbprint(self.alg, self._private.public_key())

    def jwk(self) -> dict[str, str]:
        """The public key as a JWK."""
        return signing.jwk(self.alg, self._private.public_key(), self.kid)

    def sign(self, payload: Mapping[str, object], *, typ: str) -> str:
        """Sign a payload as compact JWS."""
        return jws.sign_jwt({"kid": self.kid, "typ": typ}, payload, alg=self.alg, private=self._private)
