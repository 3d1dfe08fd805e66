"""Compact JWS (RFC 7515): signing with any header, verification with exactly one.

Attestations and access tokens have the canonical JSON of `{"alg", "kid"}` as their header and nothing more. The
verifier does not parse a token's header: it builds header and payload from what it already knows and compares
them byte for byte, so that a token cannot choose its own algorithm or key.

Exports and what agents sign are verified by others. Their headers name a `typ` too, which prevents one kind of token
from being accepted as another (RFC 8725 section 3.11).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from attestlab.core.crypto import signing
from attestlab.core.crypto.canonical_json import canonical
from attestlab.core.crypto.signing import Algorithm, PrivateKey, PublicKey
from attestlab.core.encoding import b64url_decode, b64url_encode, quote
from attestlab.core.errors import SignatureInvalid, ValidationFailed
from attestlab.core.strict_json import parse_json

_NOT_COMPACT = "A compact JWS has three parts, header.payload.signature."
_MAX_TYPED_HEADER_LENGTH = 1024  # base64url characters


class TypedToken(NamedTuple):
    """A compact JWS of one `typ` that names its key; `verify` has yet to check the signature."""

    kid: str
    payload: bytes
    signed: bytes  # the signing input
    signature: bytes

    def verify(self, alg: Algorithm, public: PublicKey) -> None:
        """Verify the signature.

        Raises:
            SignatureInvalid: it is not the key's over this header and payload.
        """
        signing.verify(alg, public, self.signature, self.signed)


@lru_cache(maxsize=4096)
def protected_header(alg: Algorithm, kid: str) -> str:
    """Return the only valid header for this algorithm and key, as base64url."""
    return b64url_encode(canonical({"alg": alg.jose, "kid": kid}))


@lru_cache(maxsize=4096)
def typed_header(alg: Algorithm, kid: str, typ: str) -> str:
    """Return the header of a token of this kind, as base64url."""
    return b64url_encode(canonical({"alg": alg.jose, "kid": kid, "typ": typ}))


def signing_input(header_b64: str, payload: bytes) -> bytes:
    """Return the JWS signing input: `header.payload`, both base64url (RFC 7515 section 5.1)."""
    return f"{header_b64}.{b64url_encode(payload)}".encode("ascii")


def typed_signing_text(alg: Algorithm, kid: str, typ: str, payload: bytes) -> str:
    """Return the text that the owner of key `kid` signs for a token of this kind: its JWS signing input."""
    return signing_input(typed_header(alg, kid, typ), payload).decode("ascii")


def sign_compact(alg: Algorithm, private: PrivateKey, kid: str, payload: bytes) -> str:
    """Sign `payload` as a compact JWS: `header.payload.signature`."""
    return _sign(alg, private, protected_header(alg, kid), payload)


def sign_typed(alg: Algorithm, private: PrivateKey, kid: str, typ: str, payload: bytes) -> str:
    """Sign `payload` as a compact JWS of one `typ`, which `read_typed` reads."""
    return _sign(alg, private, typed_header(alg, kid, typ), payload)


def sign_jwt(header: Mapping[str, str], payload: Mapping[str, object], *, alg: Algorithm, private: PrivateKey) -> str:
    """Sign a JSON payload as compact JWS; `header` holds the header members other than `alg`.

    The result is deterministic for algorithms with deterministic signatures: EdDSA and RS256 to RS512.
    """
    return _sign(alg, private, b64url_encode(canonical({"alg": alg.jose, **header})), canonical(payload))


def split_compact(token: str) -> tuple[str, bytes]:
    """Return the header of a token as it is written, and its payload; neither is verified.

    Raises:
        SignatureInvalid: it does not have three parts, or the payload is not base64url.
    """
    parts = token.split(".")
    if len(parts) != 3:
        raise SignatureInvalid(_NOT_COMPACT)
    try:
        return parts[0], b64url_decode(parts[1])
    except ValidationFailed as error:
        raise SignatureInvalid(f"The JWS payload cannot be read: {error.message}") from None


def read_typed(token: str, *, alg: Algorithm, typ: str) -> TypedToken:
    """Read a token whose header is the canonical `{"alg", "kid", "typ"}` with this algorithm and type.

    Raises:
        SignatureInvalid: it has another header, even in spelling only, or is no compact JWS.
    """
    signed, _, signature = token.rpartition(".")
    header, payload = split_compact(token)
    kid = _read_kid(header, alg, typ)
    return TypedToken(kid, payload, signed.encode("ascii"), _signature(signature))


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


@lru_cache(maxsize=4096)
def _read_kid(header: str, alg: Algorithm, typ: str) -> str:
    if len(header) > _MAX_TYPED_HEADER_LENGTH:
        raise SignatureInvalid(f"The JWS header is longer than {_MAX_TYPED_HEADER_LENGTH} characters.")
    try:
        members = parse_json(b64url_decode(header))
    except ValidationFailed as error:
        raise SignatureInvalid(f"The JWS header cannot be read: {error.message}") from None
    if not isinstance(members, dict):
        raise SignatureInvalid("The JWS header is no object.")
    for name, expected in (("typ", typ), ("alg", alg.jose)):
        if members.get(name) != expected:
            raise SignatureInvalid(f"The JWS header's {name} is {quote(repr(members.get(name)))}, not {expected!r}.")
    kid = members.get("kid")
    if not isinstance(kid, str) or typed_header(alg, kid, typ) != header:
        raise SignatureInvalid('The JWS header is not the canonical {"alg","kid","typ"}, and nothing more.')
    return kid


def _sign(alg: Algorithm, private: PrivateKey, header_b64: str, payload: bytes) -> str:
    signed = signing_input(header_b64, payload)
    return f"{signed.decode('ascii')}.{b64url_encode(signing.sign(alg, private, signed))}"


def _signature(text: str) -> bytes:
    if text.endswith("="):
        raise SignatureInvalid("The JWS signature is padded; compact JWS has no padding.")
    try:
        return b64url_decode(text)
    except ValidationFailed as error:
        raise SignatureInvalid(f"The JWS signature cannot be read: {error.message}") from None


def _describe_difference(token: str, expected: str) -> str:
    if token.count(".") != 2:
        return _NOT_COMPACT
    if token.partition(".")[0] != expected.partition(".")[0]:
        return 'The JWS header is not the canonical {"alg","kid"} of this algorithm and key.'
    return "The JWS payload is not the expected statement."
