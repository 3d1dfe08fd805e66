"""Actors of audited changes: the service itself, people, and clients without a valid credential.

An authenticated caller (`orgs.rules.Caller`) is an actor too: a person, an API key, an agent or the service.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Final, Literal, Protocol

ActorType = Literal["API_KEY", "USER", "SERVICE", "AGENT"]
NO_ATTRIBUTION: Final[Mapping[str, object]] = MappingProxyType({})


class Actor(Protocol):
    """The actor of an audited change."""

    @property
    def actor_type(self) -> ActorType:
        """USER, API_KEY, AGENT or SERVICE."""
        ...

    @property
    def actor_id(self) -> str:
        """The id of the user, of the API key, of the agent or of the part of the service."""
        ...

    @property
    def attribution(self) -> Mapping[str, object]:
        """What the metadata of an audit entry adds of the actor: of an agent its session and the person behind it."""
        ...


@dataclass(frozen=True, slots=True)
class SystemActor:
    """A part of the service that acts on its own, by the name that the audit trail shows."""

    actor_id: str
    actor_type: ClassVar[ActorType] = "SERVICE"
    attribution: ClassVar[Mapping[str, object]] = NO_ATTRIBUTION


@dataclass(frozen=True, slots=True)
class UserActor:
    """A person by their id, before or without a session."""

    actor_id: str
    actor_type: ClassVar[ActorType] = "USER"
    attribution: ClassVar[Mapping[str, object]] = NO_ATTRIBUTION


@dataclass(frozen=True, slots=True)
class AnonymousActor:
    """A client whose identity is unknown or must not be disclosed; the audit trail shows SERVICE and this name."""

    actor_id: str
    actor_type: ClassVar[ActorType] = "SERVICE"
    attribution: ClassVar[Mapping[str, object]] = NO_ATTRIBUTION


COMMAND_LINE = SystemActor("attestlab-cli")
