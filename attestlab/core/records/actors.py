"""Actors of audited changes: the service itself, people, and clients without a valid credential.

An authenticated caller (`orgs.rules.Caller`) is an actor too: a person, an API key or the service.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

ActorType = Literal["API_KEY", "USER", "SERVICE"]


class Actor(Protocol):
    """The actor of an audited change."""

    @property
    def actor_type(self) -> ActorType:
        """USER, API_KEY or SERVICE."""
        ...

    @property
    def actor_id(self) -> str:
        """The id of the user, of the API key or of the part of the service."""
        ...


@dataclass(frozen=True, slots=True)
class SystemActor:
    """A part of the service that acts on its own, by the name that the audit trail shows."""

    actor_id: str
    actor_type: ClassVar[ActorType] = "SERVICE"


@dataclass(frozen=True, slots=True)
class UserActor:
    """A person by their id, before or without a session."""

    actor_id: str
    actor_type: ClassVar[ActorType] = "USER"


@dataclass(frozen=True, slots=True)
class AnonymousActor:
    """A client whose identity is unknown or must not be disclosed; the audit trail shows SERVICE and this name."""

    actor_id: str
    actor_type: ClassVar[ActorType] = "SERVICE"


COMMAND_LINE = SystemActor("attestlab-cli")
