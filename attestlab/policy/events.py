"""What happens to policies; the docstrings are the event catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from attestlab.core.events import Event


@dataclass(frozen=True)
class PolicyCreated(Event, type="policy.created"):
    """A policy was written; it decides nothing yet."""

    policy_id: UUID
    version: int
    digest: str
    created_at: datetime


@dataclass(frozen=True)
class PolicyUpdated(Event, type="policy.updated"):
    """A new version was written; the one in force stays in force."""

    policy_id: UUID
    version: int
    digest: str
    updated_at: datetime


@dataclass(frozen=True)
class PolicyShadowed(Event, type="policy.shadowed"):
    """A version is evaluated beside those that count, and does not count."""

    policy_id: UUID
    version: int
    shadowed_at: datetime


@dataclass(frozen=True)
class PolicyActivated(Event, type="policy.activated"):
    """A version decides from now on; `simulation_digest` names the report that showed what that means."""

    policy_id: UUID
    version: int
    simulation_digest: str
    activated_at: datetime


@dataclass(frozen=True)
class PolicyArchived(Event, type="policy.archived"):
    """A policy decides nothing any more, for good."""

    policy_id: UUID
    archived_at: datetime


@dataclass(frozen=True)
class AttributesChanged(Event, type="policy.attributes_changed"):
    """What the tenant's policies may ask about changed."""

    attributes: int
    changed_at: datetime


@dataclass(frozen=True)
class ProfileCreated(Event, type="verification_profile.created"):
    """A verification profile was made; policies can be bound to it."""

    profile_id: UUID
    name: str
    created_at: datetime
