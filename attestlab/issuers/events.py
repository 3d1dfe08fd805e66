"""What happens to issuers and their keys; the docstrings are the event catalogue."""

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
    """An issuer's profile changed; `changed` names the fields, separated by commas."""

    issuer_id: UUID
    changed: str
    updated_at: datetime


@dataclass(frozen=True)
class IssuerSuspended(Event, type="issuer.suspended"):
    """An issuer may not mint until it is reinstated; what it minted verifies, flagged."""

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
    """Another key took the place of this one; what it signed stays valid."""

    issuer_id: UUID
    kid: str
    new_kid: str
    log_index: int
    rotated_at: datetime


@dataclass(frozen=True)
class KeyRevoked(Event, type="key.revoked"):
    """A key was withdrawn; what stood in the log before `log_index` stays valid, flagged."""

    issuer_id: UUID
    kid: str
    log_index: int
    affected_attestations: int
    revoked_at: datetime


@dataclass(frozen=True)
class KeyCompromised(Event, type="key.compromised"):
    """Others may sign with this key: since `compromised_at`, or where that is not known since the report."""

    issuer_id: UUID
    kid: str
    log_index: int
    affected_attestations: int
    reported_at: datetime
    compromised_at: datetime | None = None
