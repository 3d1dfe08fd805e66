"""Rules of identity: access token claims (RFC 7519), the format of refresh tokens, and a person's permissions.

An access token has the claims that SPEC (JWT) lists, plus its session (`sid`) and its own id (`jti`). Its roles are
informative only: permissions are read from the database on every request.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import TypedDict, TypeGuard
from uuid import UUID

from attestlab.core.crypto.canonical_json import canonical
from attestlab.core.encoding import b64url_decode, b64url_encode, parse_uuid
from attestlab.core.errors import AuthInvalid, ValidationFailed
from attestlab.core.strict_json import parse_json
from attestlab.orgs import role_rules
from attestlab.orgs.rules import (
    CONSUMER_SCOPES,
    PLATFORM_ROLES,
    SCOPES_OF_ROLES,
    Caller,
    ConsumerScope,
    Realm,
    Role,
    Scope,
)

ACCESS_TOKEN_TTL_S = 3600
REFRESH_TOKEN_TTL = timedelta(days=30)
REFRESH_TOKEN_BYTES = 32
MAX_BROWSER_IDLE = timedelta(hours=8)  # a browser that was unused for longer signs in again
MAX_TIMESTAMP = 4_102_444_800  # the year 2100; later dates would overflow date arithmetic
MAX_CLOCK_SKEW_S = 300  # how far the clock of the host that issued a token may be ahead
_TYPES: dict[str, type] = {
    "sub": str,
    "tenant_id": str,
    "email": str,
    "roles": list,
    "iat": int,
    "exp": int,
    "iss": str,
    "sid": str,
    "jti": str,
}
_SIGN_IN_FAILED = (
    "The address or the password is wrong, or the address is not verified yet. Follow the link in the mail that "
    "was sent to it; POST /v1/consumer/verify-email/resend sends another."
)
_REFRESH = re.compile(r"[A-Za-z0-9_-]{43}")


class _Members(TypedDict):
    sub: str
    tenant_id: str
    email: str
    roles: list[str]
    iat: int
    exp: int
    iss: str
    sid: str
    jti: str


class SessionEndReason(StrEnum):
    """The reason why a session ended."""

    LOGOUT = "logout"
    REUSE = "reuse"
    PASSWORD = "password"
    DELETION = "deletion"
    ENDED = "ended"
    ROLE = "role"


class TokenPurpose(StrEnum):
    """What the token of a mailed link is for."""

    SIGNUP = "signup"
    ADDRESS = "address"
    INVITATION = "invitation"
    PASSWORD = "password"


class SignInFailed(AuthInvalid):
    """A failed login. Its message names all causes alike, so that no client learns which address has an account.

    Its details are for the audit trail only; `tenant_id` and `user_id` are None if no account has the address.
    """

    def __init__(self, address_sha256: str, *, tenant_id: UUID | None = None, user_id: UUID | None = None) -> None:
        super().__init__()
        self.message = _SIGN_IN_FAILED
        self.args = (self.message,)
        self.address_sha256 = address_sha256
        self.tenant_id = tenant_id
        self.user_id = user_id


def normalize_address(email: str) -> str:
    """Normalize an e-mail address for account lookup. Invalid text is trimmed and lowercased, and matches no account.

    >>> normalize_address(" Ada@Example.ORG "), normalize_address("No Address")
    ('ada@example.org', 'no address')
    """
    try:
        return role_rules.normalize_address(email)
    except ValidationFailed:
        return email.strip().lower()


def hash_address(email: str) -> str:
    """Compute the SHA-256 (hex) of an address, for places that must not contain it in clear text."""
    return hashlib.sha256(normalize_address(email).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Claims:
    """The claims of an access token; `iat` and `exp` are whole seconds since 1970."""

    sub: UUID
    tenant_id: UUID
    email: str
    roles: tuple[str, ...]
    iat: int
    exp: int
    iss: str
    sid: UUID
    jti: str

    @classmethod
    def of(cls, person: Caller, *, email: str, issuer: str, jti: str, at: datetime) -> Claims:
        """Build the claims for a person in a session, valid for an hour from `at`."""
        iat, roles = int(at.timestamp()), tuple(sorted(person.roles))
        sid = UUID(person.credential_id)
        return cls(
            UUID(person.actor_id), person.tenant_id, email, roles, iat, iat + ACCESS_TOKEN_TTL_S, issuer, sid, jti
        )

    @classmethod
    def parse(cls, payload: bytes) -> Claims:
        """Parse a payload: exactly these claims, each of its type, in canonical spelling.

        Raises:
            AuthInvalid: the payload differs from that.
        """
        try:
            members = parse_json(payload)
            if not _has_exact_claims(members):
                raise AuthInvalid
            sub, tenant_id, sid = (parse_uuid(text) for text in (members["sub"], members["tenant_id"], members["sid"]))
        except ValidationFailed:
            raise AuthInvalid from None
        claims = cls(
            sub=sub,
            tenant_id=tenant_id,
            email=members["email"],
            roles=tuple(members["roles"]),
            iat=members["iat"],
            exp=members["exp"],
            iss=members["iss"],
            sid=sid,
            jti=members["jti"],
        )
        if claims.canonical() != payload:
            raise AuthInvalid
        return claims

    def canonical(self) -> bytes:
        """Serialize the payload as canonical JSON (RFC 8785)."""
        values: dict[str, object] = {name: getattr(self, name) for name in _TYPES}
        ids = {name: str(values[name]) for name in ("sub", "tenant_id", "sid")}
        return canonical({**values, **ids, "roles": list(self.roles)})

    def require_valid(self, *, issuer: str) -> None:
        """Reject claims of another issuer, and a lifetime that this service never issues.

        Raises:
            AuthInvalid: issuer, lifetime or issue time is wrong.
        """
        if self.iss != issuer or self.exp - self.iat != ACCESS_TOKEN_TTL_S or not 0 <= self.iat <= MAX_TIMESTAMP:
            raise AuthInvalid

    def is_current(self, now: datetime) -> bool:
        """Whether the token's lifetime has begun and not ended."""
        at = now.timestamp()
        return self.iat <= at + MAX_CLOCK_SKEW_S and at < self.exp

    @property
    def expires_at(self) -> datetime:
        """The time from which the token is invalid."""
        return datetime.fromtimestamp(self.exp, UTC)


def _has_exact_claims(claims: object) -> TypeGuard[_Members]:
    """Whether all claims are present, no others, and each has exactly its type (`true` is no number)."""
    if not isinstance(claims, dict) or claims.keys() != _TYPES.keys():
        return False
    return all(type(claims[name]) is kind for name, kind in _TYPES.items()) and all(
        type(role) is str for role in claims["roles"]
    )


def compose_refresh_token(prefix: str, chance: bytes) -> str:
    """Compose a refresh token from 32 random bytes."""
    return f"{prefix}r_{b64url_encode(chance)}"


def hash_refresh_token(token: str, *, prefix: str) -> bytes:
    """Compute the SHA-256 by which a refresh token is looked up.

    Raises:
        AuthInvalid: the text does not have the format of our refresh tokens.
    """
    lead, body = f"{prefix}r_", token.removeprefix(f"{prefix}r_")
    if not token.startswith(lead) or _REFRESH.fullmatch(body) is None:
        raise AuthInvalid
    try:
        b64url_decode(body)
    except ValidationFailed:
        raise AuthInvalid from None
    return hashlib.sha256(token.encode()).digest()


@dataclass(frozen=True, slots=True)
class Permissions:
    """A person's realm, roles and scopes."""

    realm: Realm
    roles: frozenset[Role]
    scopes: frozenset[Scope | ConsumerScope]


@lru_cache(maxsize=256)
def permissions_for(roles: str, realm: str | None) -> Permissions:
    """Derive permissions from a person's stored roles and the tenant's stored realm.

    A consumer has the fixed scopes of consumers and no role, regardless of the row.
    """
    if realm == Realm.CONSUMER:
        return Permissions(Realm.CONSUMER, frozenset(), CONSUMER_SCOPES)
    parsed_roles = role_rules.parse_roles(roles)
    scopes = frozenset(scope for role in parsed_roles for scope in SCOPES_OF_ROLES[role])
    return Permissions(Realm.PLATFORM if parsed_roles & PLATFORM_ROLES else Realm.TENANT, parsed_roles, scopes)
