"""Compact JWS (RFC 7515) around exports, and the key that signs for the service itself.

`core.crypto.jws` knows one header; here each format has its own `typ`, which also keeps one sort of token
from passing for another (RFC 8725 section 3.11).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from attestlab.core.crypto import jws, signing
from attestlab.core.crypto.canonical_json import canonical
from attestlab.core.crypto.keyring import Keyring
from attestlab.core.crypto.signing import Algorithm, PrivateKey
from attestlab.core.strict_json import b64url_encode
from attestlab.identity.tokens import thumbprint

STATUS_LIST_KEY_PURPOSE = b"key that signs status lists v1"


def sign_jwt(header: Mapping[str, str], payload: Mapping[str, Any], *, alg: Algorithm, private: PrivateKey) -> str:
    """The compact JWS over a payload; `header` is what stands in it beside `alg`.

    The same bytes each time where the algorithm's signatures are: EdDSA and RS256 to RS512.
    """
    protected = b64url_encode(canonical({"alg": alg.jose, **header}))
    message = jws.signing_input(protected, canonical(payload))
    return f"{message.decode('ascii')}.{b64url_encode(signing.sign(alg, private, message))}"


class ServiceKey:
    """An Ed25519 key with which the service signs for itself, one for each purpose.

    It follows from the key-encryption key, as the keys of shared links do: nothing of it is stored, and
    moving to another key-encryption key exchanges it. What it signs is signed when it is shown, so it
    always holds under the key that is published.
    """

    alg = Algorithm.ED25519

    def __init__(self, keyring: Keyring, purpose: bytes) -> None:
        self._private = Ed25519PrivateKey.from_private_bytes(keyring.keyed_sha256(purpose))
        self.kid = thumbprint(self.alg, self._private.public_key())

    def jwk(self) -> dict[str, str]:
        """The public half."""
        return signing.jwk(self.alg, self._private.public_key(), self.kid)

    def sign(self, payload: Mapping[str, Any], *, typ: str) -> str:
        """The compact JWS over a payload."""
        return sign_jwt({"kid": self.kid, "typ": typ}, payload, alg=self.alg, private=self._private)
