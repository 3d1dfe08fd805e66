"""Events of attestations and verifications; the docstrings are the event catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from attestlab.core.events import Event


@dataclass(frozen=True)
class AttestationCreated(Event, type="attestation.created"):
    """An attestation was minted and appended to the log."""

    attestation_id: UUID
    issuer_id: UUID
    kid: str
    schema: str
    log_index: int
    created_at: datetime


@dataclass(frozen=True)
class AttestationRevoked(Event, type="attestation.revoked"):
    """An issuer revoked an attestation; `log_index` is the log entry of the revocation."""

    attestation_id: UUID
    issuer_id: UUID
    log_index: int
    revoked_at: datetime


@dataclass(frozen=True)
class AttestationSuperseded(Event, type="attestation.superseded"):
    """A newer attestation replaced this one."""

    attestation_id: UUID
    issuer_id: UUID
    superseded_by_attestation_id: UUID
    log_index: int
    superseded_at: datetime


@dataclass(frozen=True)
class AttestationExpired(Event, type="attestation.expired"):
    """An attestation expired. Published once, possibly late if no server was running at `expiry_at`."""

    attestation_id: UUID
    issuer_id: UUID
    expiry_at: datetime
    log_index: int
    expired_at: datetime


@dataclass(frozen=True)
class VerificationCompleted(Event, type="verification.completed"):
    """A verification had the verdict VALID; beyond 100 a minute, one event stands for `count` verifications."""

    issuer_id: UUID
    verdict: str
    attestation_id: UUID | None = None
    count: int = 1
    minute: datetime | None = None
    receipt_id: UUID | None = None


@dataclass(frozen=True)
class VerificationFailed(Event, type="verification.failed"):
    """A verification had another verdict; beyond 100 a minute, one event stands for `count` verifications."""

    issuer_id: UUID
    verdict: str | None = None
    attestation_id: UUID | None = None
    count: int = 1
    minute: datetime | None = None
    receipt_id: UUID | None = None
