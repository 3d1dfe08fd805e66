"""Log entries of machine agents, their keys, delegations and runs (CONTRACT 11.8, 11.10, 11.12).

They disclose no reason, which may name people. A new agent is active without an entry about it: the entry of its first
key shows when it began. The entries of a delegation, when it was signed and revoked, disclose neither agents nor
scopes, only the hash of the hop; a holder of the chain recognizes it. The entry of a run names it by its id and its
hash; agents and steps are known to the tenant, and to those who get a proof bundle.
"""

from __future__ import annotations

from datetime import datetime
from typing import Unpack
from uuid import UUID

from attestlab.core.encoding import format_time
from attestlab.log.entries import FIRST_LINK, EntryType, Link, LoggedKeyFacts, build_entry, key_members


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


def delegation_status_entry(link: Link, *, delegation_id: UUID, hop: str, status: str, at: datetime) -> bytes:
    """The entry of a new delegation, or of its revocation; `hop` is the SHA-256 of its JWS, base64url."""
    members = {"delegation_id": delegation_id, "hop": hop, "status": status, "at": format_time(at)}
    return build_entry(EntryType.DELEGATION_STATUS, **members, **link.members())


def delegation_subject(delegation_id: UUID | str) -> str:
    """The name of the chain of one delegation's entries."""
    return f"delegation:{delegation_id}"


def run_completed_entry(*, orchestration_id: UUID, status: str, run_hash: str, at: datetime) -> bytes:
    """The one entry of a run, made when it ends."""
    return build_entry(
        EntryType.RUN_COMPLETED,
        orchestration_id=orchestration_id,
        status=status,
        run_hash=run_hash,
        at=format_time(at),
        **FIRST_LINK.members(),
    )


def run_subject(orchestration_id: UUID | str) -> str:
    """The name of the chain of one run's entries."""
    return f"run:{orchestration_id}"
