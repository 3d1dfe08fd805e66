"""What happens to attestations; the docstrings are the event catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from attestlab.core.events import Event


@dataclass(frozen=True)
class AttestationCreated(Event, type="attestation.created"):
    """An attestation was minted and stands in the log."""

    attestation_id: UUID
    issuer_id: UUID
    kid: str
    schema: str
    log_index: int
    created_at: datetime


@dataclass(frozen=True)
class AttestationRevoked(Event, type="attestation.revoked"):
    """An issuer withdrew an attestation; `log_index` is where the log says so."""

    attestation_id: UUID
    issuer_id: UUID
    log_index: int
    revoked_at: datetime


@dataclass(frozen=True)
class AttestationSuperseded(Event, type="attestation.superseded"):
    """A newer attestation took the place of this one."""

    attestation_id: UUID
    issuer_id: UUID
    superseded_by_attestation_id: UUID
    log_index: int
    superseded_at: datetime


@dataclass(frozen=True)
class AttestationExpired(Event, type="attestation.expired"):
    """An attestation has run out; told once, be it late because no server ran at `expiry_at`."""

    attestation_id: UUID
    issuer_id: UUID
    expiry_at: datetime
    log_index: int
    expired_at: datetime


@dataclass(frozen=True)
class VerificationCompleted(Event, type="verification.completed"):
    """A verification ended VALID; beyond 100 a minute one event speaks for `count` of them."""

    issuer_id: UUID
    verdict: str
    attestation_id: UUID | None = None
    count: int = 1
    minute: datetime | None = None


@dataclass(frozen=True)
class VerificationFailed(Event, type="verification.failed"):
    """A verification ended with another verdict; beyond 100 a minute one event speaks for `count` of them."""

    issuer_id: UUID
    verdict: str | None = None
    attestation_id: UUID | None = None
    count: int = 1
    minute: datetime | None = None
