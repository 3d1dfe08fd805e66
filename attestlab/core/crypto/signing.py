"""Signatures in the ten algorithms of the specification, in the forms of JOSE.

Ed25519 is RFC 8032 (JOSE: RFC 8037), the rest RFC 7518 section 3: ECDSA signatures are
r || s at the full width of the curve, PSS salts are as long as the hash. Public keys
are DER SubjectPublicKeyInfo (RFC 5280, 5480, 8410), for Ed25519 also the raw 32 bytes.

Public keys come from untrusted parties. A key returned by `load_public` has exactly the
algorithm's type, lies on its curve, is not of small order, is long enough, and has a single
encoding. Factorable RSA moduli are rejected once, at registration (`core.crypto.rsa_moduli`).
"""

from __future__ import annotations

import hashlib
import re
from base64 import b64decode
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any, Never, Protocol, TypeAlias

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature

from attestlab.core.crypto.canonical_json import canonical
from attestlab.core.encoding import b64url_encode
from attestlab.core.errors import SignatureInvalid, ValidationFailed

PrivateKey: TypeAlias = ed25519.Ed25519PrivateKey | ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
PublicKey: TypeAlias = ed25519.Ed25519PublicKey | ec.EllipticCurvePublicKey | rsa.RSAPublicKey

RSA_BITS_MADE = 3072  # 128-bit strength (NIST SP 800-57), like P-256 and Ed25519
RSA_BITS_ACCEPTED = range(2048, 8192 + 1)  # the upper end bounds the cost of one verification
# FIPS 186-5 requires an odd exponent above 2^16; the upper end bounds the cost of one verification.
RSA_EXPONENTS_ACCEPTED = range(65537, 2**64, 2)
# Of keys to register; browsers refuse an exponent of more than 33 bits, Go one of more than 31.
RSA_EXPONENTS_REGISTERED = range(65537, 2**31, 2)

PRIVATE = (
    "This is a private key. Treat it as exposed: generate a new key pair, and send only its public key "
    "(raw Ed25519, or DER SubjectPublicKeyInfo)."
)
# How the DER of private keys begins: PKCS #8 (RFC 5958), PKCS #1 (RFC 8017) and SEC 1 (RFC 5915) with a version of
# 0 or 1, which no public key has; encrypted PKCS #8 with an algorithm of PKCS #5 or PKCS #12.
_DER_LENGTH = rb"(?:[\x00-\x7f]|\x81.|\x82..)"
_PRIVATE_DER = re.compile(
    rb"\x30" + _DER_LENGTH + rb"(?:\x02\x01[\x00\x01]"
    rb"|\x30" + _DER_LENGTH + rb"\x06.\x2a\x86\x48\x86\xf7\x0d\x01(?:\x05|\x0c\x01))",
    re.DOTALL,
)
_PRIVATE_PEM = re.compile(rb"-----BEGIN [A-Z0-9 ]*PRIVATE KEY")
_URL_SAFE_TO_STANDARD = str.maketrans("-_", "+/")

_P = 2**255 - 19  # the field of Curve25519
_D = -121665 * pow(121666, -1, _P) % _P
_ORDER_8_Y = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
_SMALL_ORDER_Y = frozenset({0, 1, _P - 1, _ORDER_8_Y, _P - _ORDER_8_Y})


class Algorithm(StrEnum):
    """The signature algorithms, by the names of the specification."""

    ED25519 = "Ed25519"
    ES256 = "ES256"
    ES384 = "ES384"
    ES512 = "ES512"
    RS256 = "RS256"
    RS384 = "RS384"
    RS512 = "RS512"
    PS256 = "PS256"
    PS384 = "PS384"
    PS512 = "PS512"

    @property
    def jose(self) -> str:
        """The `alg` of a JOSE header: EdDSA for Ed25519 (RFC 8037), otherwise the same name."""
        return "EdDSA" if self is Algorithm.ED25519 else self.value


class _Scheme(Protocol):
    """The operations of an algorithm on its kind of keys; callers check the kind with `owns` first."""

    @property
    def kind(self) -> str: ...
    def generate(self) -> PrivateKey: ...
    def owns(self, key: object) -> bool: ...
    def require_sound(self, key: Any) -> None: ...  # `owns` has checked the class that the library gives the key
    def sign(self, key: Any, message: bytes) -> bytes: ...  # as above
    def verify(self, key: Any, signature: bytes, message: bytes) -> None: ...  # as above
    def jwk(self, key: Any) -> dict[str, str]: ...  # as above


@dataclass(frozen=True)
class _Ed25519:
    """Pure Ed25519; the library rejects S >= L and compares R as bytes."""

    kind = "Ed25519"

    def generate(self) -> ed25519.Ed25519PrivateKey:
        return ed25519.Ed25519PrivateKey.generate()

    def owns(self, key: object) -> bool:
        return isinstance(key, ed25519.Ed25519PrivateKey | ed25519.Ed25519PublicKey)

    def require_sound(self, key: ed25519.Ed25519PublicKey) -> None:
        """Check the point (RFC 8032 section 5.1.3), because the library accepts any 32 bytes.

        Points of mixed order are accepted: detecting them costs a scalar multiplication,
        and only the key's owner can sign with them.
        """
        y = int.from_bytes(key.public_bytes_raw(), "little") & ((1 << 255) - 1)
        if y >= _P:
            _refuse_key("the Ed25519 point is not in its canonical encoding")
        if y in _SMALL_ORDER_Y:
            _refuse_key("the Ed25519 point is of small order, so anyone could sign for it")
        # x^2 = u/v has a root if and only if u*v is a square (Euler's criterion).
        u, v = y * y - 1, _D * y * y + 1
        if pow(u * v, (_P - 1) // 2, _P) != 1:
            _refuse_key("the Ed25519 point is not on the curve")

    def sign(self, key: ed25519.Ed25519PrivateKey, message: bytes) -> bytes:
        return key.sign(message)

    def verify(self, key: ed25519.Ed25519PublicKey, signature: bytes, message: bytes) -> None:
        key.verify(signature, message)

    def jwk(self, key: ed25519.Ed25519PublicKey) -> dict[str, str]:
        return {"kty": "OKP", "crv": "Ed25519", "x": b64url_encode(key.public_bytes_raw())}


@dataclass(frozen=True)
class _Ecdsa:
    """ECDSA on a named curve; either sign of s is valid, as in RFC 7518."""

    crv: str
    curve: ec.EllipticCurve
    digest: hashes.HashAlgorithm

    @property
    def kind(self) -> str:
        return f"EC {self.crv}"

    @property
    def width(self) -> int:
        """Bytes of one coordinate, and of r and s each."""
        return (self.curve.key_size + 7) // 8

    def generate(self) -> ec.EllipticCurvePrivateKey:
        return ec.generate_private_key(self.curve)

    def owns(self, key: object) -> bool:
        if not isinstance(key, ec.EllipticCurvePrivateKey | ec.EllipticCurvePublicKey):
            return False
        return key.curve.name == self.curve.name

    def require_sound(self, key: ec.EllipticCurvePublicKey) -> None:
        """Do nothing: the library rejects points off the curve and at infinity when it reads them."""

    def sign(self, key: ec.EllipticCurvePrivateKey, message: bytes) -> bytes:
        r, s = decode_dss_signature(key.sign(message, ec.ECDSA(self.digest)))
        return r.to_bytes(self.width, "big") + s.to_bytes(self.width, "big")

    def verify(self, key: ec.EllipticCurvePublicKey, signature: bytes, message: bytes) -> None:
        if len(signature) != 2 * self.width:
            raise InvalidSignature
        r, s = (int.from_bytes(half, "big") for half in (signature[: self.width], signature[self.width :]))
        key.verify(encode_dss_signature(r, s), message, ec.ECDSA(self.digest))

    def jwk(self, key: ec.EllipticCurvePublicKey) -> dict[str, str]:
        point = key.public_numbers()
        x, y = (b64url_encode(coordinate.to_bytes(self.width, "big")) for coordinate in (point.x, point.y))
        return {"kty": "EC", "crv": self.crv, "x": x, "y": y}


@dataclass(frozen=True)
class _Rsa:
    """RSASSA of RFC 8017: PKCS #1 v1.5, or PSS with MGF1 of the same hash."""

    digest: hashes.HashAlgorithm
    scheme: padding.AsymmetricPadding
    kind = "RSA"

    def generate(self) -> rsa.RSAPrivateKey:
        return rsa.generate_private_key(RSA_EXPONENTS_ACCEPTED.start, RSA_BITS_MADE)

    def owns(self, key: object) -> bool:
        return isinstance(key, rsa.RSAPrivateKey | rsa.RSAPublicKey)

    def require_sound(self, key: rsa.RSAPublicKey) -> None:
        if key.key_size not in RSA_BITS_ACCEPTED:
            accepted = f"{RSA_BITS_ACCEPTED.start} to {RSA_BITS_ACCEPTED.stop - 1}"
            _refuse_key(f"the RSA key has {key.key_size} bits, not {accepted}")
        numbers = key.public_numbers()
        if numbers.e not in RSA_EXPONENTS_ACCEPTED:
            _refuse_key(_explain_exponent(numbers.e))
        if numbers.n % 2 == 0:
            _refuse_key("the RSA modulus is even")

    def sign(self, key: rsa.RSAPrivateKey, message: bytes) -> bytes:
        return key.sign(message, self.scheme, self.digest)

    def verify(self, key: rsa.RSAPublicKey, signature: bytes, message: bytes) -> None:
        if len(signature) != (key.key_size + 7) // 8:
            raise InvalidSignature
        key.verify(signature, message, self.scheme, self.digest)

    def jwk(self, key: rsa.RSAPublicKey) -> dict[str, str]:
        numbers = key.public_numbers()
        n, e = (number.to_bytes((number.bit_length() + 7) // 8, "big") for number in (numbers.n, numbers.e))
        return {"kty": "RSA", "n": b64url_encode(n), "e": b64url_encode(e)}


def _explain_exponent(exponent: int) -> str:
    """Explain which exponents are accepted, by the bounds of the check and by those of keys to register."""
    shown = str(exponent) if exponent < RSA_EXPONENTS_ACCEPTED.stop else f"a number of {exponent.bit_length()} bits"
    limit, new_limit = (
        f"2^{each.stop.bit_length() - 1}" for each in (RSA_EXPONENTS_ACCEPTED, RSA_EXPONENTS_REGISTERED)
    )
    return (
        f"the RSA public exponent is {shown}; it must be odd, at least {RSA_EXPONENTS_ACCEPTED.start} and below "
        f"{limit}, and that of a new key below {new_limit}"
    )


def _pss(digest: hashes.HashAlgorithm) -> padding.PSS:
    return padding.PSS(padding.MGF1(digest), salt_length=digest.digest_size)


_SCHEMES: dict[Algorithm, _Scheme] = {
    Algorithm.ED25519: _Ed25519(),
    Algorithm.ES256: _Ecdsa("P-256", ec.SECP256R1(), hashes.SHA256()),
    Algorithm.ES384: _Ecdsa("P-384", ec.SECP384R1(), hashes.SHA384()),
    Algorithm.ES512: _Ecdsa("P-521", ec.SECP521R1(), hashes.SHA512()),
    Algorithm.RS256: _Rsa(hashes.SHA256(), padding.PKCS1v15()),
    Algorithm.RS384: _Rsa(hashes.SHA384(), padding.PKCS1v15()),
    Algorithm.RS512: _Rsa(hashes.SHA512(), padding.PKCS1v15()),
    Algorithm.PS256: _Rsa(hashes.SHA256(), _pss(hashes.SHA256())),
    Algorithm.PS384: _Rsa(hashes.SHA384(), _pss(hashes.SHA384())),
    Algorithm.PS512: _Rsa(hashes.SHA512(), _pss(hashes.SHA512())),
}


def generate(alg: Algorithm) -> PrivateKey:
    """Generate a key pair; RSA keys have 3072 bits and take about a tenth of a second."""
    return _SCHEMES[alg].generate()


def load_private(alg: Algorithm, pkcs8_der: bytes) -> PrivateKey:
    """Load a private key from unencrypted PKCS #8 (RFC 5958).

    Raises:
        ValidationFailed: it cannot be read, or is not of the algorithm's kind.
    """
    try:
        key = serialization.load_der_private_key(pkcs8_der, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        _refuse_key("it is not an unencrypted PKCS #8 private key")
    if not _SCHEMES[alg].owns(key):
        _refuse_key(f"{alg} takes an {_SCHEMES[alg].kind} key")
    return key  # type: ignore[return-value]  # `owns` has checked its type


def dump_private(key: PrivateKey) -> bytes:
    """Serialize a private key as unencrypted PKCS #8 DER; the caller must seal it (`core.crypto.keyring`)."""
    return key.private_bytes(
        serialization.Encoding.DER, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def load_public(alg: Algorithm, raw_or_spki: bytes, *, field: str = "") -> PublicKey:
    """Load a public key from DER SubjectPublicKeyInfo or, for Ed25519, from its raw 32 bytes.

    Accepted keys are cached: keys do not change, and the checks cost more than verifying a signature.

    Raises:
        ValidationFailed: it cannot be read; it is a private key; it is of another kind; it is not in its
            unique encoding (bytes after the DER, explicit curve parameters, compressed points);
            an Ed25519 point of small order, not canonically encoded or off the curve;
            an EC point off the curve; RSA outside 2048 to 8192 bits, or with a
            public exponent that is even, below 65537 or not below 2^64.
    """
    if is_private(raw_or_spki):
        raise ValidationFailed.of(field, "private_key", PRIVATE)
    try:
        return _load_public(alg, raw_or_spki)
    except ValidationFailed as error:
        raise ValidationFailed.of(field, "public_key", error.message) from None


def load_new_public(alg: Algorithm, raw_or_spki: bytes, *, field: str = "") -> PublicKey:
    """Load a public key to register, which verifiers of others must be able to load as well.

    Raises:
        ValidationFailed: `load_public` rejects it, or its RSA public exponent is not below 2^31.
    """
    key = load_public(alg, raw_or_spki, field=field)
    if isinstance(key, rsa.RSAPublicKey) and key.public_numbers().e not in RSA_EXPONENTS_REGISTERED:
        message = (
            f"The key is rejected: its RSA public exponent has {key.public_numbers().e.bit_length()} bits, and many "
            "verifiers refuse more than 31. Generate a key with the exponent 65537."
        )
        raise ValidationFailed.of(field, "public_key", message)
    return key


def reject_private(text: str, *, field: str = "") -> None:
    """Reject a text that is a private key as PEM, or as base64 or base64url of PEM or DER.

    Raises:
        ValidationFailed: the text is a private key; the message does not repeat it.
    """
    digits = "".join(text.split()).rstrip("=").translate(_URL_SAFE_TO_STANDARD)
    if is_private(text.encode()) or is_private(_decode_leniently(digits)):
        raise ValidationFailed.of(field, "private_key", PRIVATE)


def is_private(raw: bytes) -> bool:
    """Whether bytes begin like the DER of a private key or contain a PEM one; 32 bytes are a raw public key."""
    if len(raw) <= 32:
        return False
    return _PRIVATE_DER.match(raw) is not None or _PRIVATE_PEM.search(raw) is not None


def _decode_leniently(digits: str) -> bytes:
    try:
        return b64decode(digits + "=" * (-len(digits) % 4))
    except ValueError:
        return b""


@lru_cache(maxsize=4096)
def _load_public(alg: Algorithm, raw_or_spki: bytes) -> PublicKey:
    scheme = _SCHEMES[alg]
    key = _read_public(alg, raw_or_spki)
    if not scheme.owns(key):
        _refuse_key(f"{alg} takes an {scheme.kind} key")
    scheme.require_sound(key)
    return key


def _read_public(alg: Algorithm, raw_or_spki: bytes) -> PublicKey:
    if alg is Algorithm.ED25519 and len(raw_or_spki) == 32:
        return ed25519.Ed25519PublicKey.from_public_bytes(raw_or_spki)
    try:
        key: PublicKey = serialization.load_der_public_key(raw_or_spki)  # type: ignore[assignment]  # see `owns`
        encoding = spki(key)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        _refuse_key("it is not a DER SubjectPublicKeyInfo of a supported kind, with its point on the curve")
    if encoding != raw_or_spki:
        _refuse_key("it is not canonical DER SubjectPublicKeyInfo: named curve, uncompressed point, no bytes after it")
    return key


def spki(public: PublicKey) -> bytes:
    """Serialize a public key as DER SubjectPublicKeyInfo, the form in which the service publishes it."""
    return public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)


def sign(alg: Algorithm, private: PrivateKey, message: bytes) -> bytes:
    """Sign a message; returns the signature in JOSE form.

    Raises:
        TypeError: the key is not of the algorithm's kind.
    """
    scheme = _SCHEMES[alg]
    if not scheme.owns(private):
        raise TypeError(f"{alg} signs with an {scheme.kind} key.")
    return scheme.sign(private, message)


def verify(alg: Algorithm, public: PublicKey, signature: bytes, message: bytes) -> None:
    """Verify a signature in JOSE form over a message.

    Raises:
        SignatureInvalid: the signature is not valid, or the key is not of the algorithm's kind.
    """
    scheme = _SCHEMES[alg]
    if not scheme.owns(public):
        raise SignatureInvalid(f"{alg} is verified with an {scheme.kind} key.")
    try:
        scheme.verify(public, signature, message)
    except InvalidSignature:
        raise SignatureInvalid(f"The {alg} signature does not belong to this key and message.") from None


def jwk(alg: Algorithm, public: PublicKey, kid: str) -> dict[str, str]:
    """Return a public key as a JSON Web Key (RFC 7517, 7518 section 6, 8037), for signatures with `alg` only."""
    return {**_SCHEMES[alg].jwk(public), "kid": kid, "alg": alg.jose, "use": "sig"}


def thumbprint(alg: Algorithm, public: PublicKey) -> str:
    """Compute the JWK thumbprint of a key (RFC 7638): SHA-256 of its required members, as base64url."""
    return b64url_encode(hashlib.sha256(canonical(_SCHEMES[alg].jwk(public))).digest())


def _refuse_key(reason: str) -> Never:
    raise ValidationFailed.of("", "public_key", f"The key is rejected: {reason}.")
