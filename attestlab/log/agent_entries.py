"""Log entries of machine agents and their keys (CONTRACT 11.8); they disclose no reason, which may name people.

A new agent is active without an entry about it: the entry of its first key shows when it began.
"""

from __future__ import annotations

from datetime import datetime
from typing import Unpack
from uuid import UUID

from attestlab.core.encoding import format_time
from attestlab.log.entries import EntryType, Link, LoggedKeyFacts, build_entry, key_members


def agent_status_entry(link: Link, *, agent_id: UUID, status: str, at: datetime) -> bytes:
    """The entry of an agent's change of status."""
    return build_entry(EntryType.AGENT_STATUS, agent_id=agent_id, status=status, at=format_time(at), **link.members())


def agent_key_entry(
    link: Link, *, agent_id: UUID, compromised_at: datetime | None = None, **key: Unpack[LoggedKeyFacts]
) -> bytes:
    """The entry of an agent's new key, or of a key's new status."""
    return build_entry(EntryType.AGENT_KEY, agent_id=agent_id, **key_members(key, compromised_at), **link.members())


def agent_subject(agent_id: UUID | str) -> str:
    """The name of the chain of one agent's status entries."""
    return f"agent:{agent_id}"


def agent_key_subject(agent_id: UUID | str, kid: str) -> str:
    """The name of the chain of the entries of one key of an agent."""
    return f"agent-key:{agent_id}:{kid}"
