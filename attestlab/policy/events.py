"""Events of policies; the docstrings are the event catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated
from uuid import UUID

from attestlab.core.events import Event, EventField


@dataclass(frozen=True)
class PolicyCreated(Event, type="policy.created"):
    """A policy was created as a draft, which decides nothing yet."""

    policy_id: UUID
    version: int
    digest: str
    created_at: datetime


@dataclass(frozen=True)
class PolicyUpdated(Event, type="policy.updated"):
    """A new version was written; the active version remains active."""

    policy_id: UUID
    version: int
    digest: str
    updated_at: datetime


@dataclass(frozen=True)
class PolicyShadowed(Event, type="policy.shadowed"):
    """A version is evaluated next to the active versions, without affecting decisions."""

    policy_id: UUID
    version: int
    shadowed_at: datetime


@dataclass(frozen=True)
class PolicyActivated(Event, type="policy.activated"):
    """A version was activated; `simulation_digest` names the simulation report that showed its effect."""

    policy_id: UUID
    version: int
    simulation_digest: str
    activated_at: datetime


@dataclass(frozen=True)
class PolicyArchived(Event, type="policy.archived"):
    """A policy was archived permanently and no longer decides."""

    policy_id: UUID
    archived_at: datetime


@dataclass(frozen=True)
class AttributesChanged(Event, type="policy.attributes_changed"):
    """The attributes that the tenant's policies may use were changed."""

    attributes: Annotated[int, EventField("The number of attributes after the change.", 14)]
    changed_at: datetime


@dataclass(frozen=True)
class ProfileCreated(Event, type="verification_profile.created"):
    """A verification profile was created; policies can be bound to it."""

    profile_id: UUID
    name: str
    created_at: datetime
