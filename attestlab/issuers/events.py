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
