"""What verbs of agents take: an agent or its id, the parts of a new one, and changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypedDict
from uuid import UUID

from attestlab.client import arguments
from attestlab.client.arguments import When


class AgentOptions(TypedDict, total=False):
    """The optional parts of an agent (docs/agents.md)."""

    agent_type: str
    description: str
    metadata: Mapping[str, object]
    expires_at: When
    owner_user_id: UUID | str
    card: Mapping[str, object]


class AgentChanges(TypedDict, total=False):
    """What an agent may change; None removes an expiry, an owner or a card."""

    display_name: str
    description: str
    metadata: Mapping[str, object]
    scopes: Iterable[str]
    expires_at: When | None
    owner_user_id: UUID | str | None
    discoverable: bool
    card: Mapping[str, object] | None


def read_agent_id(what: object) -> UUID | str:
    """Read the id of an agent: a UUID, its text, a maip id, or an object.

    Raises:
        ValidationFailed: it is none of them.
    """
    if isinstance(what, str) and what.strip().startswith("maip:"):
        return arguments.read_text(what, name="The agent's id").strip()
    return arguments.read_id(what, "an agent")


def prepare_agent(parts: Mapping[str, object]) -> dict[str, object]:
    """Read the parts of an agent or of its changes: times may be dates, an owner an object."""
    sent = dict(parts)
    if sent.get("expires_at") is not None:
        sent["expires_at"] = arguments.read_time(sent["expires_at"], name="expires_at")  # type: ignore[arg-type]  # checked
    if sent.get("scopes") is not None:
        sent["scopes"] = arguments.read_texts(sent["scopes"], name="scopes")
    if sent.get("owner_user_id") is not None:
        sent["owner_user_id"] = arguments.read_id(sent["owner_user_id"], "a person")
    return sent


def name_child(child: object) -> dict[str, object]:
    """Name the receiver of a delegation: an agent that exists, or one to register with it."""
    if isinstance(child, Mapping):
        return {"child": prepare_agent(arguments.read_mapping(child, name="child"))}
    return {"child_agent_id": str(read_agent_id(child))}
