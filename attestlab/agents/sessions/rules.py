"""Rules of agents' sessions: the form of their tokens, their states, and the assertions that open them (CONTRACT 11.9).

An assertion is a JWT that an agent signs with its own key (RFC 7523), so that it needs no shared secret.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, NamedTuple
from uuid import UUID

from attestlab.core.encoding import b64url_decode, parse_uuid
from attestlab.core.errors import AuthInvalid, Conflict, ValidationFailed
from attestlab.core.strict_json import parse_json
from attestlab.orgs.rules import is_consumer_key

MAX_OPEN_SESSIONS: Final = 20  # of one agent
MAX_TTL_MINUTES: Final = 1440
DEFAULT_TTL_MINUTES: Final = 60
REFRESH_TTL: Final = timedelta(hours=24)  # from the session's beginning, however often it is refreshed
MAX_AUDIENCES: Final = 5
ASSERTION_TYPE: Final = "agent-assertion+jwt"
ASSERTION_TTL: Final = timedelta(minutes=5)
MAX_CLOCK_SKEW: Final = timedelta(seconds=30)
MAX_ASSERTION_CHARS: Final = 4096
_ALGORITHMS: Final = ("EdDSA", "Ed25519")  # RFC 8037, and its name in RFC 9864
_MAX_JTI_CHARS: Final = 256


class AgentSessionStatus(StrEnum):
    """State of a session. An expired one may still be refreshed within a day of its beginning."""

    ACTIVE = "active"
    EXPIRED = "expired"
    TERMINATED = "terminated"


class Assertion(NamedTuple):
    """An assertion whose signature has yet to be verified."""

    agent_id: UUID
    audience: Sequence[str]
    expires_at: float  # seconds since 1970
    jti: str
    kid: str | None
    signed: bytes
    signature: bytes

    @property
    def digest(self) -> bytes:
        """What tells this agent's assertion from all others."""
        return hashlib.sha256(self.agent_id.bytes + self.jti.encode()).digest()


def status_at(ended_at: datetime | None, expires_at: datetime, now: datetime) -> AgentSessionStatus:
    """Return the state of a session at this time."""
    if ended_at is not None:
        return AgentSessionStatus.TERMINATED
    return AgentSessionStatus.ACTIVE if now < expires_at else AgentSessionStatus.EXPIRED


def hash_token(token: str, *, prefix: str) -> bytes:
    """Compute the SHA-256 by which a token with this prefix is looked up.

    Raises:
        AuthInvalid: the text does not have the form of our tokens, or was mistyped.
    """
    if not is_consumer_key(token, prefix=prefix):
        raise AuthInvalid
    return hashlib.sha256(token.encode()).digest()


def require_room(open_sessions: int) -> None:
    """Require that an agent may open one more session.

    Raises:
        Conflict: twenty of its sessions are active.
    """
    if open_sessions >= MAX_OPEN_SESSIONS:
        message = f"{open_sessions} sessions of this agent are active; {MAX_OPEN_SESSIONS} are allowed. Terminate one."
        raise Conflict(message, details={"reason": "too_many_sessions", "limit": MAX_OPEN_SESSIONS})


def read_assertion(token: str) -> Assertion:
    """Read an assertion without verifying its signature.

    Raises:
        AuthInvalid: it is no compact JWS of this type with the claims `iss`, `sub`, `aud`, `exp` and `jti`.
    """
    parts = token.split(".")
    if len(parts) != 3 or len(token) > MAX_ASSERTION_CHARS:
        raise AuthInvalid
    try:
        header, claims = (parse_json(b64url_decode(part)) for part in parts[:2])
        signature = b64url_decode(parts[2])
    except ValidationFailed:
        raise AuthInvalid from None
    if not isinstance(header, dict) or not isinstance(claims, dict):
        raise AuthInvalid
    _require_header(header)
    return Assertion(
        agent_id=_read_subject(claims),
        audience=_read_audience(claims),
        expires_at=_read_expiry(claims),
        jti=_read_text(claims, "jti"),
        kid=header.get("kid"),
        signed=f"{parts[0]}.{parts[1]}".encode(),
        signature=signature,
    )


def require_current(assertion: Assertion, *, audience: str, now: datetime) -> None:
    """Require that an assertion is for this route, and for five minutes at most.

    Raises:
        AuthInvalid: it is for another audience, over, or longer.
    """
    left_s = assertion.expires_at - now.timestamp()
    if audience not in assertion.audience or not 0 < left_s <= (ASSERTION_TTL + MAX_CLOCK_SKEW).total_seconds():
        raise AuthInvalid


def _require_header(header: dict[str, object]) -> None:
    is_known = header.get("typ") == ASSERTION_TYPE and header.get("alg") in _ALGORITHMS and "crit" not in header
    if not is_known or not isinstance(header.get("kid"), str | None):
        raise AuthInvalid


def _read_subject(claims: dict[str, object]) -> UUID:
    subject = _read_text(claims, "sub")
    if claims.get("iss") != subject:
        raise AuthInvalid
    try:
        return parse_uuid(subject)
    except ValidationFailed:
        raise AuthInvalid from None


def _read_audience(claims: dict[str, object]) -> Sequence[str]:
    audience = claims.get("aud")
    if isinstance(audience, str):
        return [audience]
    if not isinstance(audience, list) or not all(isinstance(each, str) for each in audience):
        raise AuthInvalid
    return audience


def _read_expiry(claims: dict[str, object]) -> float:
    expiry = claims.get("exp")
    if isinstance(expiry, bool) or not isinstance(expiry, int | float):
        raise AuthInvalid
    return expiry


def _read_text(claims: dict[str, object], name: str) -> str:
    text = claims.get(name)
    if not isinstance(text, str) or not 0 < len(text) <= _MAX_JTI_CHARS:
        raise AuthInvalid
    return text
