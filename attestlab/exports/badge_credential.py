"""Verification of an Open Badge of ours: a compact JWT, against the keys that its issuer publishes.

Open Badges 3.0, "Verify a Credential VC-JWT Signature". The key decides on the algorithm, never the token. What is
proven is that the issuer signed this badge; whether its attestation is still valid, the service or a status list says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

from attestlab.attestations.rules import Verdict
from attestlab.core.crypto import jws, signing
from attestlab.core.crypto.canonical_json import canonical
from attestlab.core.crypto.jwk import load_jwk
from attestlab.core.encoding import b64url_decode, b64url_encode, parse_time, parse_uuid, quote
from attestlab.core.errors import SignatureInvalid, ValidationFailed
from attestlab.core.strict_json import parse_json
from attestlab.exports.rules import numeric_date

CREDENTIAL_TYPE: Final = "OpenBadgeCredential"
_URN: Final = "urn:uuid:"


@dataclass(frozen=True)
class VerifiedBadge:
    """What a badge states, once its signature is verified; texts are as the issuer wrote them."""

    attestation_id: UUID
    issuer: str  # the URL in `iss`
    issuer_name: str
    name: str
    earner: str
    valid_from: datetime
    valid_until: datetime | None

    def verdict_at(self, now: datetime) -> Verdict:
        """The verdict of the badge alone: VALID until it expires."""
        return Verdict.EXPIRED if self.valid_until is not None and now >= self.valid_until else Verdict.VALID


@dataclass(frozen=True)
class BadgeCredential:
    """An Open Badge as compact JWT that can be read, and is not verified yet."""

    token: str = field(repr=False)
    claims: Mapping[str, object] = field(repr=False)
    issuer: str

    @classmethod
    def parse(cls, token: str) -> BadgeCredential:
        """Parse a compact JWT.

        Raises:
            ValidationFailed: it is no compact JWT of an Open Badge.
        """
        try:
            _, payload = jws.split_compact(token)
        except SignatureInvalid as error:
            raise ValidationFailed(f"This is no Open Badge. {error.message}") from None
        claims = parse_json(payload)
        if not isinstance(claims, dict) or CREDENTIAL_TYPE not in _list_types(claims):
            raise ValidationFailed(f"This JWT is no Open Badge: its type lacks {CREDENTIAL_TYPE}.")
        return cls(token, claims, str(claims.get("iss", "")))

    def verify(self, *, issuer: str, keys: Iterable[Mapping[str, object]]) -> VerifiedBadge:
        """Verify that one of the issuer's keys signed the badge, and that the JWT repeats what the badge states.

        Args:
            issuer: the trusted issuer's URL, which `iss` must be.
            keys: the JWKs that the issuer publishes now.

        Raises:
            SignatureInvalid: another issuer made it, none of the keys signed it, or it contradicts itself.
            ValidationFailed: a key cannot be used.
        """
        if self.issuer != issuer:
            raise SignatureInvalid(f"The badge is by {quote(self.issuer)}, not by {quote(issuer)}.")
        self._verify_signature(issuer, keys)
        try:
            return self._read_statement()
        except (KeyError, TypeError, ValueError, ValidationFailed):
            raise SignatureInvalid("The JWT and the badge in it contradict each other, or a part is missing.") from None

    def _verify_signature(self, issuer: str, keys: Iterable[Mapping[str, object]]) -> None:
        """Verify the signature with the key that the header names, which must be exactly the header of that key."""
        header, payload, signature = self.token.split(".")
        for jwk in keys:
            algorithm, public = load_jwk(jwk)
            named = {"alg": algorithm.jose, "kid": f"{issuer}/keys/{jwk.get('kid')}/jwk.json", "typ": "JWT"}
            if header == b64url_encode(canonical(named)):
                signed = f"{header}.{payload}".encode("ascii")
                return signing.verify(algorithm, public, _decode_signature(signature), signed)
        raise SignatureInvalid(
            "The badge was signed with no key that its issuer publishes now. The key may have been revoked: export the "
            "badge again."
        )

    def _read_statement(self) -> VerifiedBadge:
        badge = self.claims
        issuer, subject = _object(badge, "issuer"), _object(badge, "credentialSubject")
        starts = parse_time(_text(badge, "validFrom"))
        until = parse_time(_text(badge, "validUntil")) if "validUntil" in badge else None
        repeated = {
            "iss": issuer["id"],
            "sub": subject["id"],
            "jti": badge["id"],
            "nbf": numeric_date(starts),
            "exp": None if until is None else numeric_date(until),
        }
        if any(badge.get(name) != value for name, value in repeated.items()):
            raise ValueError("contradiction")
        return VerifiedBadge(
            attestation_id=parse_uuid(_text(badge, "id").removeprefix(_URN)),
            issuer=self.issuer,
            issuer_name=_text(issuer, "name"),
            name=_text(_object(subject, "achievement"), "name"),
            earner=_read_earner(subject),
            valid_from=starts,
            valid_until=until,
        )


def _list_types(claims: Mapping[str, object]) -> list[object]:
    types = claims.get("type")
    return types if isinstance(types, list) else [types]


def _object(parent: Mapping[str, object], name: str) -> Mapping[str, object]:
    value = parent[name]
    if not isinstance(value, dict):
        raise TypeError(name)
    return value


def _text(parent: Mapping[str, object], name: str) -> str:
    value = parent[name]
    if not isinstance(value, str):
        raise TypeError(name)
    return value


def _read_earner(subject: Mapping[str, object]) -> str:
    """Read the name of the earner; empty if the badge does not name one."""
    listed = subject.get("identifier")
    named = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    return next((_text(each, "identityHash") for each in named if each.get("identityType") == "name"), "")


def _decode_signature(text: str) -> bytes:
    try:
        signature = b64url_decode(text)
    except ValidationFailed as error:
        raise SignatureInvalid(f"The signature of the badge cannot be read: {error.message}") from None
    if b64url_encode(signature) != text:
        raise SignatureInvalid("The signature of the badge is padded; a compact JWT has no padding.")
    return signature
