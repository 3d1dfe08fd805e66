"""Rules of votes: who may vote about a claim, what decides a request, and what time changes (CONTRACT 11.11)."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple
from uuid import UUID

from attestlab.core.crypto.canonical_json import canonical, sha256_b64url
from attestlab.core.encoding import format_time
from attestlab.core.errors import Conflict, PermissionDenied

MAX_CLAIM_TEXT_LENGTH: Final = 1000
MAX_EVIDENCE_LENGTH: Final = 4000
MIN_REQUIRED_VOTES: Final = 1
MAX_REQUIRED_VOTES: Final = 10
DEFAULT_REQUIRED_VOTES: Final = 3
MAX_ABSTENTIONS: Final = 100  # so that all votes about a request fit one answer
DEFAULT_MIN_TRUST_SCORE: Final = 0.5
MIN_TTL_S: Final = 300
MAX_TTL_S: Final = 604_800
DEFAULT_TTL_S: Final = 86_400


class VoteRequestStatus(StrEnum):
    """State of a request: pending until its votes decide it or its time is over; then it stays."""

    PENDING = "pending"
    CONFIRMED = "confirmed"
    DENIED = "denied"
    EXPIRED = "expired"


class VoteVerdict(StrEnum):
    """What an agent says about a claim."""

    CONFIRM = "confirm"
    DENY = "deny"
    ABSTAIN = "abstain"


class VoteTally(NamedTuple):
    """The votes about a request, counted by verdict."""

    confirm: int
    deny: int
    abstain: int

    def add(self, verdict: VoteVerdict) -> VoteTally:
        """Return the tally with one more vote."""
        return self._replace(**{verdict.value: getattr(self, verdict.value) + 1})


class Voter(NamedTuple):
    """What decides whether an agent is independent of another one: its tree, and every key that it ever had."""

    agent_id: UUID
    lineage: Collection[UUID]
    """The agent, and all agents above it since the request was made."""
    public_keys: Collection[bytes]


def compute_claim_digest(subject: str, claim_type: str, claim_value: str) -> str:
    """Compute the SHA-256 of a claim's canonical JSON (RFC 8785), as base64url; every vote signs it.

    >>> compute_claim_digest("invoice 7", "paid", "true")
    'pkkWkwG2GNTsfatTb2dbGu_fuOjr4u3F8jV51m-1mnw'
    """
    return sha256_b64url(canonical({"claim_type": claim_type, "claim_value": claim_value, "subject": subject}))


def status_at(stored: str, expires_at: datetime, now: datetime) -> VoteRequestStatus:
    """Return the status of a request at this time: a pending one expires before the sweeper records it."""
    status = VoteRequestStatus(stored)
    is_over = status is VoteRequestStatus.PENDING and now >= expires_at
    return VoteRequestStatus.EXPIRED if is_over else status


def decide(tally: VoteTally, required_votes: int) -> VoteRequestStatus:
    """Return what the votes decide: `required_votes` confirms or as many denies; abstentions decide nothing."""
    if tally.confirm >= required_votes:
        return VoteRequestStatus.CONFIRMED
    if tally.deny >= required_votes:
        return VoteRequestStatus.DENIED
    return VoteRequestStatus.PENDING


def require_pending(status: VoteRequestStatus, expires_at: datetime) -> None:
    """Require a request that still takes votes.

    Raises:
        Conflict: it is decided or expired; `details.status` says which.
    """
    if status is VoteRequestStatus.PENDING:
        return
    when = f" It ended at {format_time(expires_at)}." if status is VoteRequestStatus.EXPIRED else ""
    message = f"The request is {status}, so it takes no further vote.{when} Make another request."
    raise Conflict(message, details={"status": status.value})


def require_room(tally: VoteTally, verdict: VoteVerdict) -> None:
    """Require that a request takes another vote of this kind; only abstentions, which decide nothing, have a limit.

    Raises:
        Conflict: it has 100 abstentions.
    """
    if verdict is VoteVerdict.ABSTAIN and tally.abstain >= MAX_ABSTENTIONS:
        message = f"{tally.abstain} agents have abstained; {MAX_ABSTENTIONS} may. Confirm, deny or do not vote."
        raise Conflict(message, details={"reason": "too_many_abstentions", "limit": MAX_ABSTENTIONS})


def require_independent(voter: Voter, originator: Voter) -> None:
    """Require that an agent votes about the claim of another one, outside of its tree, with keys that differ.

    Two agents are of one tree if one is above the other, or a third one is above both.

    Raises:
        PermissionDenied: it is not independent; `details.reason` is not_independent, `details.because` says why.
    """
    because = _find_dependence(voter, originator)
    if because is not None:
        message = f"The agent is not independent: {_DEPENDENCES[because]}. Ask an agent of another tree."
        raise PermissionDenied(message, details={"reason": "not_independent", "because": because})


_DEPENDENCES: Final = {
    "originator": "it makes the claim itself",
    "same_tree": "it is of the delegation tree of the agent that makes the claim",
    "same_key": "it has, or had, a public key of the agent that makes the claim",
}


def _find_dependence(voter: Voter, originator: Voter) -> str | None:
    if voter.agent_id == originator.agent_id:
        return "originator"
    if not set(voter.lineage).isdisjoint(originator.lineage):
        return "same_tree"
    return None if set(voter.public_keys).isdisjoint(originator.public_keys) else "same_key"


def require_trust(score: float, minimum: float) -> None:
    """Require the trust score that a request asks of those who vote.

    Raises:
        PermissionDenied: the agent has less; `details` has both scores.
    """
    if score < minimum:
        message = (
            f"The agent's trust score is {score:.3f}; this request asks for {minimum:.3f}. "
            "Ask an agent with more evidence, or make a request with a lower min_trust_score."
        )
        details = {"reason": "trust_too_low", "trust_score": score, "min_trust_score": minimum}
        raise PermissionDenied(message, details=details)
