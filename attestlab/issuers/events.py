"""Events of issuers and their keys; the docstrings are the event catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from attestlab.core.events import Event


@dataclass(frozen=True)
class IssuerCreated(Event, type="issuer.created"):
    """An issuer was registered."""

    issuer_id: UUID
    name: str
    domain: str
    created_at: datetime


@dataclass(frozen=True)
class IssuerUpdated(Event, type="issuer.updated"):
    """An issuer's profile or ratings changed; `changed` lists the fields, separated by commas."""

    issuer_id: UUID
    changed: str
    updated_at: datetime


@dataclass(frozen=True)
class IssuerSuspended(Event, type="issuer.suspended"):
    """An issuer was suspended: it cannot mint until reinstated; its attestations stay valid and are flagged."""

    issuer_id: UUID
    suspended_at: datetime


@dataclass(frozen=True)
class KeyCreated(Event, type="key.created"):
    """A signing key was registered."""

    issuer_id: UUID
    kid: str
    alg: str
    custody: str
    created_at: datetime


@dataclass(frozen=True)
class KeyRotated(Event, type="key.rotated"):
    """Another key replaced this one; the attestations that it signed stay valid."""

    issuer_id: UUID
    kid: str
    new_kid: str
    log_index: int
    rotated_at: datetime


@dataclass(frozen=True)
class KeyRevoked(Event, type="key.revoked"):
    """A key was revoked; its attestations in the log before `log_index` stay valid and are flagged."""

    issuer_id: UUID
    kid: str
    log_index: int
    affected_attestations: int
    affected_receipts: int
    revoked_at: datetime


@dataclass(frozen=True)
class KeyCompromised(Event, type="key.compromised"):
    """A key was reported as compromised since `compromised_at`, or if that is unknown since the report."""

    issuer_id: UUID
    kid: str
    log_index: int
    affected_attestations: int
    affected_receipts: int
    reported_at: datetime
    compromised_at: datetime | None = None
