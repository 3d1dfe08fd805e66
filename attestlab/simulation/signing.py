"""The key that signs simulation reports: compact JWS (RFC 7515), Ed25519.

It follows from the key-encryption key, as that of status lists does: nothing of it is stored, and moving to another
key-encryption key exchanges it. A report is signed when it is shown, so it always holds under the key that is
published; its digest never changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from attestlab.core import signing
from attestlab.core.keyring import Keyring
from attestlab.core.signing import Algorithm
from attestlab.exports.securing import signed
from attestlab.identity.tokens import thumbprint

TYP = "simulation-report+jws"
_PURPOSE = b"key that signs simulation reports v1"


@dataclass(frozen=True)
class Kept:
    """A report that was kept, and its signature under the key of today; `digest` is what an activation names."""

    digest: str
    content: dict[str, Any]
    signature: str


class ReportKey:
    """Signs reports; `jwk` is what they are verified with."""

    alg = Algorithm.ED25519

    def __init__(self, keyring: Keyring) -> None:
        self._private = Ed25519PrivateKey.from_private_bytes(keyring.keyed_sha256(_PURPOSE))
        self.kid = thumbprint(self.alg, self._private.public_key())

    def jwk(self) -> dict[str, str]:
        """The public half."""
        return signing.jwk(self.alg, self._private.public_key(), self.kid)

    def sign(self, report: Mapping[str, Any]) -> str:
        """The compact JWS whose payload is the report's canonical JSON."""
        return signed({"kid": self.kid, "typ": TYP}, report, alg=self.alg, private=self._private)
