"""JWT signing of exports as compact JWS (RFC 7515), and the service's own signing key.

`core.crypto.jws` supports one header only; here each format has its own `typ`, which also prevents one kind of
token from being accepted as another (RFC 8725 section 3.11).
"""

from __future__ import annotations

from collections.abc import Mapping

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from attestlab.core.crypto import jws, signing
from attestlab.core.crypto.canonical_json import canonical
from attestlab.core.crypto.keyring import Keyring
from attestlab.core.crypto.signing import Algorithm, PrivateKey
from attestlab.core.encoding import b64url_encode
from attestlab.identity.tokens import thumbprint

STATUS_LIST_KEY_PURPOSE = b"key that signs status lists v1"


def sign_jwt(header: Mapping[str, str], payload: Mapping[str, object], *, alg: Algorithm, private: PrivateKey) -> str:
    """Sign a payload as compact JWS; `header` holds the header members other than `alg`.

    The result is deterministic for algorithms with deterministic signatures: EdDSA and RS256 to RS512.
    """
    protected = b64url_encode(canonical({"alg": alg.jose, **header}))
    message = jws.signing_input(protected, canonical(payload))
    return f"{message.decode('ascii')}.{b64url_encode(signing.sign(alg, private, message))}"


class ServiceKey:
    """An Ed25519 key of the service itself, one for each purpose.

    It is derived from the key-encryption key, like the keys of shared links: it is not stored, and another
    key-encryption key replaces it. The service signs on each request, so a signature always verifies under
    the key that is published.
    """

    alg = Algorithm.ED25519

    def __init__(self, keyring: Keyring, purpose: bytes) -> None:
        self._private = Ed25519PrivateKey.from_private_bytes(keyring.keyed_sha256(purpose))
        self.kid = thumbprint(self.alg, self._private.public_key())

    def jwk(self) -> dict[str, str]:
        """The public key as a JWK."""
        return signing.jwk(self.alg, self._private.public_key(), self.kid)

    def sign(self, payload: Mapping[str, object], *, typ: str) -> str:
        """Sign a payload as compact JWS."""
        return sign_jwt({"kid": self.kid, "typ": typ}, payload, alg=self.alg, private=self._private)
