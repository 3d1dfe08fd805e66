"""Compact JWS (RFC 7515) with one header for each algorithm and key.

The header is the canonical JSON of `{"alg", "kid"}` and nothing more. The verifier does not
parse a token's header or payload: it builds both from what it already knows and compares
them byte for byte, so that a token cannot choose its own algorithm or key.
"""

from __future__ import annotations

from functools import lru_cache

from attestlab.core.crypto import signing
from attestlab.core.crypto.canonical_json import canonical
from attestlab.core.crypto.signing import Algorithm, PrivateKey, PublicKey
from attestlab.core.encoding import b64url_decode, b64url_encode
from attestlab.core.errors import SignatureInvalid, ValidationFailed


@lru_cache(maxsize=4096)
def protected_header(alg: Algorithm, kid: str) -> str:
    """Return the only valid header for this algorithm and key, as base64url."""
    return b64url_encode(canonical({"alg": alg.jose, "kid": kid}))


def signing_input(header_b64: str, payload: bytes) -> bytes:
    """Return the JWS signing input: `header.payload`, both base64url (RFC 7515 section 5.1)."""
    return f"{header_b64}.{b64url_encode(payload)}".encode("ascii")


def sign_compact(alg: Algorithm, private: PrivateKey, kid: str, payload: bytes) -> str:
    """Sign `payload` as a compact JWS: `header.payload.signature`."""
    signed = signing_input(protected_header(alg, kid), payload)
    return f"{signed.decode('ascii')}.{b64url_encode(signing.sign(alg, private, signed))}"


def verify_compact(alg: Algorithm, public: PublicKey, token: str, *, kid: str, payload: bytes) -> None:
    """Verify that `token` is the compact JWS of exactly this algorithm, key and payload.

    Raises:
        SignatureInvalid: the header or payload differs, even in spelling only, or the
            signature is not valid.
    """
    signed = signing_input(protected_header(alg, kid), payload)
    start = f"{signed.decode('ascii')}."
    if not token.startswith(start):
        raise SignatureInvalid(_describe_difference(token, start))
    signing.verify(alg, public, _signature(token.removeprefix(start)), signed)


def _signature(text: str) -> bytes:
    if text.endswith("="):
        raise SignatureInvalid("The JWS signature is padded; compact JWS has no padding.")
    try:
        return b64url_decode(text)
    except ValidationFailed as error:
        raise SignatureInvalid(f"The JWS signature cannot be read: {error.message}") from None


def _describe_difference(token: str, expected: str) -> str:
    if token.count(".") != 2:
        return "A compact JWS has three parts, header.payload.signature."
    if token.partition(".")[0] != expected.partition(".")[0]:
        return 'The JWS header is not the canonical {"alg","kid"} of this algorithm and key.'
    return "The JWS payload is not the expected statement."
