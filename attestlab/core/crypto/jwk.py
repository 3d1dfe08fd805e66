"""Public keys from JSON Web Keys (RFC 7517, 7518 section 6, 8037), as sound as those from SubjectPublicKeyInfo."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from cryptography.hazmat.primitives.asymmetric import ec, rsa

from attestlab.core.crypto import signing
from attestlab.core.crypto.signing import Algorithm, PublicKey
from attestlab.core.encoding import b64url_decode, quote
from attestlab.core.errors import ValidationFailed

_BY_JOSE_NAME: Final = {algorithm.jose: algorithm for algorithm in Algorithm}
_CURVES: Final[Mapping[str, ec.EllipticCurve]] = {
    "P-256": ec.SECP256R1(),
    "P-384": ec.SECP384R1(),
    "P-521": ec.SECP521R1(),
}


def load_jwk(jwk: Mapping[str, object]) -> tuple[Algorithm, PublicKey]:
    """Load a public key and the one algorithm that it is for.

    Raises:
        ValidationFailed: it names no known `alg`, is of another kind, or is no sound key (`signing.load_public`).
    """
    algorithm = _BY_JOSE_NAME.get(str(jwk.get("alg")))
    if algorithm is None:
        raise ValidationFailed(f"The key's alg is {quote(str(jwk.get('alg')))}; known are {', '.join(_BY_JOSE_NAME)}.")
    try:
        raw = _read_key(jwk)
    except ValueError:
        raise ValidationFailed(f"The key of {algorithm} does not have the members that its kty needs.") from None
    return algorithm, signing.load_public(algorithm, raw)


def _read_key(jwk: Mapping[str, object]) -> bytes:
    """Read a key as DER SubjectPublicKeyInfo, or as the raw bytes of Ed25519."""
    if jwk.get("kty") == "OKP" and jwk.get("crv") == "Ed25519":
        return _read_bytes(jwk, "x")
    if jwk.get("kty") == "EC" and (curve := _CURVES.get(str(jwk.get("crv")))) is not None:
        point = ec.EllipticCurvePublicNumbers(_read_number(jwk, "x"), _read_number(jwk, "y"), curve)
        return signing.spki(point.public_key())
    if jwk.get("kty") == "RSA":
        return signing.spki(rsa.RSAPublicNumbers(_read_number(jwk, "e"), _read_number(jwk, "n")).public_key())
    raise ValueError("of no known kind")


def _read_number(jwk: Mapping[str, object], name: str) -> int:
    return int.from_bytes(_read_bytes(jwk, name), "big")


def _read_bytes(jwk: Mapping[str, object], name: str) -> bytes:
    value = jwk.get(name)
    if not isinstance(value, str):
        raise ValueError(name)
    try:
        return b64url_decode(value)
    except ValidationFailed as error:
        raise ValueError(name) from error
