"""The end of delegations: by a revocation with everything below it, or with an agent that gave or got them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from attestlab.agents import store as agent_store
from attestlab.agents.delegation import store
from attestlab.agents.delegation.events import DelegationRevoked
from attestlab.agents.delegation.rules import DelegationStatus
from attestlab.agents.delegation.tables import DelegationRecord
from attestlab.agents.evidence import note_evidence
from attestlab.agents.lifecycle import AgentEnd
from attestlab.agents.rules import TrustCause
from attestlab.agents.tables import AgentRecord
from attestlab.core.db.tables import Execute
from attestlab.core.db.transaction import Transaction
from attestlab.core.execution.long_verbs import require_declared
from attestlab.core.records import audited_write, outbox
from attestlab.core.records.audited_write import AuditContext
from attestlab.log import agent_entries
from attestlab.log.entries import FIRST_LINK, EntryType, Link
from attestlab.log.merkle import hashing
from attestlab.log.service import Log

_ENDED: Final = ("revoked_at", "revoked_because", "revoked_index")
_RELEASED: Final = ("parent_agent_id", "delegation_depth", "delegated_scopes", "delegated_until", "updated_at")
NOTHING: Final = ""  # scopes as they are stored


class DelegationsOfAgents:
    """The delegations that agents gave or got, and all below these, as what ends with the agents."""

    def __init__(self, *, log: Log) -> None:
        self.log = log

    def count_open(self, execute: Execute, agent_ids: Sequence[UUID], *, now: datetime) -> int:
        """Count the delegations that would end and have not expired."""
        return store.count_open_below_agents(execute, agent_ids, now=now)

    def has_more(self, execute: Execute, agent_ids: Sequence[UUID], than: int, *, now: datetime) -> bool:
        """Whether more delegations than a number would end with these agents, expired ones too."""
        return store.has_more_below_agents(execute, agent_ids, than)

    def end(self, tx: Transaction, agent_ids: Sequence[UUID], end: AgentEnd) -> int:
        """Revoke these delegations; returns how many had not expired."""
        rows = store.list_below_agents(tx.exec, agent_ids)
        end_delegations(tx, rows, end, log=self.log)
        return sum(row.expires_at > end.at for row in rows)


def log_creation(tx: Transaction, row: DelegationRecord, *, log: Log) -> int:
    """Log a new delegation; returns the index of its entry."""
    return _append(tx, row, log, build_creation_entry(row))


def end_delegations(
    tx: Transaction, rows: Sequence[DelegationRecord], end: AgentEnd, *, log: Log, reason: str | None = None
) -> list[DelegationRecord]:
    """Revoke delegations: log entries, rows, audit lines and events; release their children. Returns the new rows."""
    require_declared(len(rows))
    ended = [
        row._replace(revoked_at=end.at, revoked_because=end.because, revoked_index=_log_end(tx, row, end, log))
        for row in rows
    ]
    metadata = {"because": end.because} if reason is None else {"because": end.because, "reason": reason}

    def context_of(row: DelegationRecord) -> AuditContext:
        return AuditContext(row.tenant_id, end.actor, "delegation.revoke", end.at, metadata)

    audited_write.change_all(tx, store.delegations, ended, _ENDED, context_of)
    _release_children(tx, ended, end)
    for row in ended:
        event = DelegationRevoked(row.id, row.parent_agent_id, row.child_agent_id, row.depth, end.at)
        outbox.publish(tx, row.tenant_id, event, at=end.at)
    return ended


def _release_children(tx: Transaction, ended: Sequence[DelegationRecord], end: AgentEnd) -> None:
    """Let the children return to what they were: on their own, or without any scope if the delegation made them."""
    delegations = {row.child_agent_id: row for row in ended}
    agents = store.list_unrevoked_agents(tx.exec, list(delegations))
    released = [_release(row, delegations[row.id].is_birth, end.at) for row in agents]

    def context_of(row: AgentRecord) -> AuditContext:
        return AuditContext(row.tenant_id, end.actor, "agent.release", end.at, {"because": end.because})

    audited_write.change_all(tx, agent_store.agents, released, _RELEASED, context_of)
    for row in released:
        note_evidence(tx, row.id, TrustCause.DELEGATION, delegations[row.id].id)


def _release(row: AgentRecord, is_birth: bool, at: datetime) -> AgentRecord:
    if is_birth:
        return row._replace(delegated_scopes=NOTHING, delegated_until=None, updated_at=at)
    return row._replace(
        parent_agent_id=None, delegation_depth=0, delegated_scopes=None, delegated_until=None, updated_at=at
    )


def _log_end(tx: Transaction, row: DelegationRecord, end: AgentEnd, log: Log) -> int:
    return _append(tx, row, log, build_revocation_entry(row, end.at))


def build_creation_entry(row: DelegationRecord) -> bytes:
    """Build the log entry of a new delegation, which follows from its row."""
    return _entry(row, FIRST_LINK, DelegationStatus.ACTIVE, row.created_at)


def build_revocation_entry(row: DelegationRecord, at: datetime) -> bytes:
    """Build the log entry of a revocation; the entry before it is that of the creation."""
    link = Link(1, hashing.leaf_hash(build_creation_entry(row)))
    return _entry(row, link, DelegationStatus.REVOKED, at)


def _entry(row: DelegationRecord, link: Link, status: DelegationStatus, at: datetime) -> bytes:
    return agent_entries.delegation_status_entry(link, delegation_id=row.id, hop=row.digest, status=status.value, at=at)


def _append(tx: Transaction, row: DelegationRecord, log: Log, entry: bytes) -> int:
    subject = agent_entries.delegation_subject(row.id)
    return log.append(tx, entry, kind=EntryType.DELEGATION_STATUS, subject=subject).index
