"""Compact JWS (RFC 7515) with one header for each algorithm and key.

The header is the canonical JSON of `{"alg", "kid"}` and nothing else. A token is never
asked what it is: header and payload are built from what the verifier already knows and
compared byte for byte, so that no token can choose its own algorithm or key.
"""

from __future__ import annotations

from functools import lru_cache

from attestlab.core.crypto import signing
from attestlab.core.crypto.canonical_json import canonical
from attestlab.core.crypto.signing import Algorithm, PrivateKey, PublicKey
from attestlab.core.errors import SignatureInvalid, ValidationFailed
from attestlab.core.strict_json import b64url_decode, b64url_encode


@lru_cache(maxsize=4096)
def protected_header(alg: Algorithm, kid: str) -> str:
    """The one header for this algorithm and key, as base64url."""
    return b64url_encode(canonical({"alg": alg.jose, "kid": kid}))


def signing_input(header_b64: str, payload: bytes) -> bytes:
    """What is signed: `header.payload`, both base64url (RFC 7515 section 5.1)."""
    return f"{header_b64}.{b64url_encode(payload)}".encode("ascii")


def sign_compact(alg: Algorithm, private: PrivateKey, kid: str, payload: bytes) -> str:
    """The compact JWS over `payload`: `header.payload.signature`."""
    signed = signing_input(protected_header(alg, kid), payload)
    return f"{signed.decode('ascii')}.{b64url_encode(signing.sign(alg, private, signed))}"


def verify_compact(alg: Algorithm, public: PublicKey, token: str, *, kid: str, payload: bytes) -> None:
    """Return if `token` is the compact JWS of exactly this algorithm, key and payload.

    Raises:
        SignatureInvalid: another header or payload, a second spelling of either, or a
            signature that does not hold.
    """
    signed = signing_input(protected_header(alg, kid), payload)
    start = f"{signed.decode('ascii')}."
    if not token.startswith(start):
        raise SignatureInvalid(_what_differs(token, start))
    signing.verify(alg, public, _signature(token.removeprefix(start)), signed)


def _signature(text: str) -> bytes:
    if text.endswith("="):
        raise SignatureInvalid("The JWS signature is padded; compact JWS has no padding.")
    try:
        return b64url_decode(text)
    except ValidationFailed as refused:
        raise SignatureInvalid(f"The JWS signature cannot be read: {refused.message}") from None


def _what_differs(token: str, expected: str) -> str:
    if token.count(".") != 2:
        return "A compact JWS has three parts, header.payload.signature."
    if token.partition(".")[0] != expected.partition(".")[0]:
        return 'The JWS header is not the canonical {"alg","kid"} of this algorithm and key.'
    return "The JWS payload is not the statement that was to be signed."
