"""Rules of machine agents: their ids, types, states and trust levels (SPEC, Machine agent; CONTRACT 11.8).

An agent's protocol id is `maip:<tenant8>:<ulid>`: the first eight digits of its tenant's id, and its own id as a ULID
(github.com/ulid/spec). Both ids are the same 128 bits, so none is stored beside the other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final
from uuid import UUID

from ulid import ULID

from attestlab.core.crypto.canonical_json import canonical
from attestlab.core.encoding import parse_uuid, quote
from attestlab.core.errors import Conflict, NotFound, PermissionDenied, ValidationFailed
from attestlab.orgs.rules import Caller
from attestlab.risk.rules import AGENT_SOURCE

MAX_DISPLAY_NAME_LENGTH: Final = 256
MAX_DESCRIPTION_LENGTH: Final = 2048
MAX_REASON_LENGTH: Final = 1000
METADATA_LIMIT_BYTES: Final = 16 * 1024
CARD_LIMIT_BYTES: Final = 16 * 1024
INITIAL_TRUST_SCORE: Final = 0.5
"""The score without evidence (CONTRACT 11.11), which SPEC gives every new agent."""

MIN_TRUSTED_SCORE: Final = 0.8
PASSED_CHECK_TTL: Final = timedelta(days=30)
SIGNAL_SOURCE: Final = AGENT_SOURCE
"""The source of risk signals about agents."""

STATEMENT_TYPE: Final = "agent-statement+jwt"
PROOF_PREFIX: Final = b"attestlab-agent-key-v1\n"  # before the challenge that the holder of a key signs
_PROTOCOL_ID = re.compile("maip:[0-9a-f]{8}:[0-9A-HJKMNP-TV-Z]{26}")
_TENANT_DIGITS: Final = 8


class AgentType(StrEnum):
    """What an agent is for (SPEC, Machine agent)."""

    ORCHESTRATOR = "orchestrator"
    WORKER = "worker"
    INFERENCE = "inference"
    PIPELINE = "pipeline"
    SERVICE = "service"
    BOT = "bot"
    LLM = "llm"


class AgentStatus(StrEnum):
    """State of an agent: a suspended one can be resumed, a revoked one is revoked for good."""

    ACTIVE = "active"
    SUSPENDED = "suspended"
    REVOKED = "revoked"


class TrustLevel(StrEnum):
    """What is known of an agent: computed from facts, never set (CONTRACT 11.8)."""

    AUTHENTICATED = "authenticated"
    VERIFIED = "verified"
    TRUSTED = "trusted"


class TrustCause(StrEnum):
    """Why a trust score changed; the values are the names on the wire."""

    COMPLIANCE = "compliance"
    OUTCOMES = "outcomes"
    WITNESS = "witness"
    SIGNAL = "signal"
    KEY = "key"
    DELEGATION = "delegation"
    PARENT = "parent"
    TIME = "time"


def choose_trust_level(
    score: float, *, owner_is_active: bool, passed_check_at: datetime | None, now: datetime
) -> TrustLevel:
    """Choose the level of an agent from its score, its owner and its last passed compliance check."""
    if not owner_is_active or passed_check_at is None or now - passed_check_at > PASSED_CHECK_TTL:
        return TrustLevel.AUTHENTICATED
    return TrustLevel.TRUSTED if score >= MIN_TRUSTED_SCORE else TrustLevel.VERIFIED


_TRANSITIONS: Final = {
    AgentStatus.ACTIVE: frozenset({AgentStatus.SUSPENDED, AgentStatus.REVOKED}),
    AgentStatus.SUSPENDED: frozenset({AgentStatus.ACTIVE, AgentStatus.REVOKED}),
    AgentStatus.REVOKED: frozenset[AgentStatus](),
}


def format_agent_id(agent_id: UUID, tenant_id: UUID) -> str:
    """Return the protocol id of an agent.

    >>> format_agent_id(UUID("01a21817-5f3c-7abc-8def-0123456789ab"), UUID("0193b5a0-7f3c-7abc-8def-0123456789ab"))
    'maip:0193b5a0:01M8C1EQSWFAY8VVR14D2PF2DB'
    """
    return f"maip:{tenant_id.hex[:_TENANT_DIGITS]}:{ULID.from_int(agent_id.int)}"


def parse_agent_id(text: str, *, tenant_id: UUID | None = None) -> UUID:
    """Parse an agent's id, a UUID or a protocol id; with `tenant_id` the latter must be of that tenant.

    Raises:
        NotFound: it has neither form, or is of another tenant.
    """
    if not text.startswith("maip:"):
        try:
            return parse_uuid(text)
        except ValidationFailed:
            raise NotFound("agent", quote(text)) from None
    is_foreign = tenant_id is not None and text[5 : 5 + _TENANT_DIGITS] != tenant_id.hex[:_TENANT_DIGITS]
    if not _PROTOCOL_ID.fullmatch(text) or is_foreign:
        raise NotFound("agent", quote(text))
    try:
        return UUID(int=int(ULID.from_str(text[-26:])))
    except ValueError:  # it exceeds 128 bits
        raise NotFound("agent", quote(text)) from None


def status_at(stored: str, expires_at: datetime | None, now: datetime) -> AgentStatus:
    """Return the status of an agent at this time: one that expired is revoked, before the sweeper records it."""
    is_over = expires_at is not None and now >= expires_at
    return AgentStatus.REVOKED if is_over else AgentStatus(stored)


def require_transition(now: AgentStatus, new: AgentStatus) -> None:
    """Require that an agent may go from one status to another.

    Raises:
        Conflict: it may not; `details.status` is what the agent is.
    """
    if new not in _TRANSITIONS[now]:
        message = f"The agent is {now}, so it cannot become {new}. {_REMEDIES[now]}"
        raise Conflict(message, details={"status": now.value})


_REMEDIES: Final = {
    AgentStatus.ACTIVE: "It acts already.",
    AgentStatus.SUSPENDED: "Resume or revoke it.",
    AgentStatus.REVOKED: "A revoked agent stays revoked: register another one.",
}


def require_active(status: AgentStatus, verb: str) -> None:
    """Require an active agent; `verb` is what it would do.

    Raises:
        Conflict: it is suspended or revoked; `details.status` says which.
    """
    if status is not AgentStatus.ACTIVE:
        message = f"The agent is {status}; only an active one can {verb}."
        raise Conflict(message, details={"status": status.value})


def require_unrevoked(status: AgentStatus) -> None:
    """Require that an agent may still be changed.

    Raises:
        Conflict: it is revoked; `details.status` says so.
    """
    if status is AgentStatus.REVOKED:
        raise Conflict("The agent is revoked, so nothing of it changes.", details={"status": status.value})


def require_future(expires_at: datetime | None, *, now: datetime) -> None:
    """Require that an expiry is ahead.

    Raises:
        ValidationFailed: the time has passed.
    """
    if expires_at is not None and expires_at <= now:
        raise ValidationFailed.of("/expires_at", "in_past", "expires_at must be in the future; null means never.")


def require_own(caller: Caller, agent_id: UUID, *, verb: str) -> None:
    """Require that an agent does this to itself alone; people and keys may do it to any agent of their tenant.

    Raises:
        PermissionDenied: the caller is another agent.
    """
    if caller.actor_type == "AGENT" and caller.actor_id != str(agent_id):
        message = f"An agent can {verb} only itself. Ask a person who owns it."
        raise PermissionDenied(message, details={"reason": "another_agent"})


def encode_object(field: str, members: Mapping[str, object], limit_bytes: int) -> str:
    """Encode a JSON object for storage.

    Raises:
        ValidationFailed: it has more than `limit_bytes` bytes.
    """
    encoded = canonical(members)
    if len(encoded) > limit_bytes:
        message = f"{field} is {len(encoded):,} bytes of JSON; the limit is {limit_bytes:,}."
        raise ValidationFailed.of(f"/{field}", "too_large", message)
    return encoded.decode()
