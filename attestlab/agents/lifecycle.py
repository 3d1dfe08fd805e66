"""Service for the states of agents: suspend, resume, revoke, kill, expire (CONTRACT 11.8).

Each change of status is an entry of the log, a row, an audit line and an event, in one transaction. What depends on an
agent ends in the same transaction: its sessions, and with a revocation its delegations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, NamedTuple, Protocol
from uuid import UUID

from attestlab.agents import rules, store
from attestlab.agents.events import AgentKilled, AgentResumed, AgentRevoked, AgentSuspended
from attestlab.agents.rules import AgentStatus
from attestlab.agents.tables import AgentRecord
from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.tables import Execute
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import Conflict
from attestlab.core.execution.long_verbs import MAX_ROWS_INSIDE, long_write, require_declared
from attestlab.core.records import audited_write, outbox
from attestlab.core.records.actors import Actor, SystemActor
from attestlab.core.records.audited_write import AuditContext
from attestlab.issuers.rules import KeyStatus
from attestlab.log import agent_entries, entries
from attestlab.log.entries import EntryType
from attestlab.log.service import Log
from attestlab.orgs.rules import Caller

TIMEKEEPER: Final = SystemActor("timekeeper")  # makes expiries permanent
_CHANGED: Final = ("status", "status_changed_at", "changed_index", "updated_at")


class AgentEnd(NamedTuple):
    """Why something of an agent ends: a word for rows, and who ends it when."""

    because: str
    actor: Actor
    at: datetime


class DependentsOfAgents(Protocol):
    """What ends with agents, such as their sessions or delegations."""

    def count_open(self, execute: Execute, agent_ids: Sequence[UUID], *, now: datetime) -> int:
        """Count what these agents have, and would lose."""
        ...

    def end(self, tx: Transaction, agent_ids: Sequence[UUID], end: AgentEnd) -> int:
        """End all that these agents have; returns how many it were."""
        ...

    def has_more(self, execute: Execute, agent_ids: Sequence[UUID], than: int, *, now: datetime) -> bool:
        """Whether more than a number would end with these agents."""
        ...


class ExpiredBatch(NamedTuple):
    """How many expiries of agents were stored, and whether the next batch may store more."""

    stored: int
    has_more: bool


@dataclass(frozen=True)
class KilledAgents:
    """What a kill ended, or with `dry_run` would end."""

    agent: AgentRecord
    terminated_sessions: int
    revoked_descendants: int
    revoked_delegations: int
    dry_run: bool


class AgentLifecycle:
    """The states of agents; `sessions` and `delegations` are what ends with them.

    `tx` is the unit of work to join; without it, a verb commits its own.
    """

    def __init__(
        self,
        *,
        storage: Storage,
        clock: Clock,
        log: Log,
        sessions: DependentsOfAgents,
        delegations: DependentsOfAgents | None = None,
    ) -> None:
        self.storage = storage
        self.clock = clock
        self.log = log
        self.sessions = sessions
        self.delegations = delegations

    def _ends_many(self, execute: Execute, agent_ids: Sequence[UUID]) -> bool:
        """Whether more sessions or delegations would end with agents than should end next to other requests."""
        now, dependents = self.clock.now(), (self.sessions, self.delegations)
        return any(each.has_more(execute, agent_ids, MAX_ROWS_INSIDE, now=now) for each in dependents if each)

    def has_many_sessions(self, execute: Execute, agent_id: UUID, **_arguments: object) -> bool:
        """Whether more sessions would end with a suspension than should end next to other requests."""
        return self.sessions.has_more(execute, [agent_id], MAX_ROWS_INSIDE, now=self.clock.now())

    def _is_long_revocation(self, execute: Execute, agent_id: UUID, *, caller: Caller, **_arguments: object) -> bool:
        return _is_of_tenant(execute, agent_id, caller) and self._ends_many(execute, [agent_id])

    def _is_long_kill(
        self, execute: Execute, agent_id: UUID, *, caller: Caller, cascade: bool = True, **_arguments: object
    ) -> bool:
        if not _is_of_tenant(execute, agent_id, caller):
            return False
        if not cascade:
            return self._ends_many(execute, [agent_id])
        if store.has_more_descendants(execute, agent_id, MAX_ROWS_INSIDE):
            return True
        return self._ends_many(execute, [agent_id, *store.list_descendant_ids(execute, agent_id)])

    def _is_next_expiry_long(self, execute: Execute) -> bool:
        rows = store.find_overdue(execute, now=self.clock.now(), limit=1)
        return bool(rows) and self._ends_many(execute, [rows[0].id])

    @long_write(has_many_sessions)
    def suspend(self, agent_id: UUID, *, reason: str, caller: Caller, tx: Transaction | None = None) -> AgentRecord:
        """Suspend an agent: its sessions end, and it opens no other until it is resumed.

        Raises:
            NotFound: the caller's tenant has no such agent.
            Conflict: the agent is not active.
        """
        with self.storage.write(tx) as tx:
            now = self.clock.now()
            row = self._require_may_become(tx, agent_id, AgentStatus.SUSPENDED, caller, now)
            return self.suspend_row(tx, row, _context(caller, "agent.suspend", now, reason))

    @long_write(has_many_sessions)
    def suspend_untended(
        self, agent_id: UUID, *, tenant_id: UUID, reason: str, because: str, tx: Transaction | None = None
    ) -> None:
        """Suspend an active agent for the service itself; `because` is a word for the audit trail."""
        with self.storage.write(tx) as tx:
            row = store.get(tx.exec, agent_id, tenant_id=tenant_id)
            metadata = {"reason": reason, "because": because}
            context = AuditContext(row.tenant_id, TIMEKEEPER, "agent.suspend", self.clock.now(), metadata)
            self.suspend_row(tx, row, context)

    def suspend_row(self, tx: Transaction, row: AgentRecord, context: AuditContext) -> AgentRecord:
        """Suspend an active agent whose row was read under the writer's lock: entry, row, sessions and event."""
        (changed,) = self._change(tx, [row], AgentStatus.SUSPENDED, lambda _: context)
        self.sessions.end(tx, [row.id], AgentEnd("suspended", context.actor, context.at))
        outbox.publish(tx, row.tenant_id, AgentSuspended(row.id, context.at), at=context.at)
        return changed

    def resume(self, agent_id: UUID, *, reason: str, caller: Caller, tx: Transaction | None = None) -> AgentRecord:
        """Resume a suspended agent; the sessions that it had stay ended.

        Raises:
            NotFound: the caller's tenant has no such agent.
            Conflict: the agent is not suspended, others may have its key, or its owner was removed.
        """
        with self.storage.write(tx) as tx:
            now = self.clock.now()
            row = self._require_may_become(tx, agent_id, AgentStatus.ACTIVE, caller, now)
            if store.get_key(tx.exec, agent_id, row.key_id).status == KeyStatus.COMPROMISED:
                message = f"The key {row.key_id} is compromised. Rotate it, then resume the agent."
                raise Conflict(message, details={"status": row.status, "reason": "key_compromised"})
            if row.owner_left_at is not None:
                message = "The person who answered for it was removed. Name another owner_user_id, then resume it."
                raise Conflict(message, details={"status": row.status, "reason": "ownerless"})
            context = _context(caller, "agent.resume", now, reason)
            (changed,) = self._change(tx, [row], AgentStatus.ACTIVE, lambda _: context)
            outbox.publish(tx, caller.tenant_id, AgentResumed(agent_id, now), at=now)
        return changed

    @long_write(_is_long_revocation)
    def revoke(self, agent_id: UUID, *, reason: str, caller: Caller, tx: Transaction | None = None) -> AgentRecord:
        """Revoke an agent for good: its sessions end, and the delegations that it gave and got are void.

        Raises:
            NotFound: the caller's tenant has no such agent.
            Conflict: the agent is revoked already.
        """
        with self.storage.write(tx) as tx:
            now = self.clock.now()
            row = self._require_may_become(tx, agent_id, AgentStatus.REVOKED, caller, now)
            context = _context(caller, "agent.revoke", now, reason)
            (changed,) = self._change(tx, [row], AgentStatus.REVOKED, lambda _: context)
            self._end_dependents(tx, [agent_id], AgentEnd("revoked", caller, now))
            outbox.publish(tx, caller.tenant_id, AgentRevoked(agent_id, now), at=now)
        return changed

    @long_write(_is_long_kill)
    def kill(
        self,
        agent_id: UUID,
        *,
        reason: str,
        caller: Caller,
        cascade: bool = True,
        dry_run: bool = False,
        tx: Transaction | None = None,
    ) -> KilledAgents:
        """Revoke an agent and all agents below it, with their sessions and delegations, in one transaction.

        With `dry_run` nothing changes, and the result says what would. An agent that is revoked already can be killed
        as long as agents below it are not.

        Raises:
            NotFound: the caller's tenant has no such agent.
            Conflict: the agent and all below it are revoked already.
        """
        if dry_run:
            return self._count_kill(agent_id, caller, cascade=cascade, tx=tx)
        with self.storage.write(tx) as tx:
            now = self.clock.now()
            root = store.get(tx.exec, agent_id, tenant_id=caller.tenant_id)
            below = store.list_descendants(tx.exec, agent_id) if cascade else []
            ids = [row.id for row in (root, *below)]
            ending = [row for row in (root, *below) if row.status != AgentStatus.REVOKED]
            _require_killable(root, below)
            context = _context(caller, "agent.kill", now, reason, root=str(agent_id))
            changed = self._change(tx, ending, AgentStatus.REVOKED, lambda _: context)
            sessions, delegations = self._end_dependents(tx, ids, AgentEnd("killed", caller, now))
            for row in below:
                outbox.publish(tx, caller.tenant_id, AgentRevoked(row.id, now), at=now)
            outbox.publish(tx, caller.tenant_id, AgentKilled(agent_id, len(below), sessions, now), at=now)
        killed = changed[0] if changed[0].id == agent_id else root
        return KilledAgents(killed, sessions, len(below), delegations, False)

    def expire_due(self, tx: Transaction, *, limit: int) -> ExpiredBatch:
        """Store `revoked` for up to `limit` agents that expired, the earliest first.

        An agent with very many sessions or delegations is stored alone.

        Raises:
            TimeUnconfirmed: the clock leapt ahead, and no operator has confirmed it.
        """
        now = self.clock.now()
        rows = found = store.find_overdue(tx.exec, now=now, limit=limit)
        while len(rows) > 1 and self._ends_many(tx.exec, [row.id for row in rows]):
            rows = rows[: len(rows) // 2]
        if len(rows) == 1:
            self.expire_next(tx=tx)
        else:
            self._expire(tx, rows, now)
        return ExpiredBatch(len(rows), bool(rows) and (len(found) == limit or len(rows) < len(found)))

    @long_write(_is_next_expiry_long)
    def expire_next(self, *, tx: Transaction | None = None) -> None:
        """Store `revoked` for the agent that expired first, however much ends with it."""
        with self.storage.write(tx) as tx:
            now = self.clock.now()
            self._expire(tx, store.find_overdue(tx.exec, now=now, limit=1), now)

    def _expire(self, tx: Transaction, rows: Sequence[AgentRecord], now: datetime) -> None:
        if not rows:
            return
        self.log.time.require_credible(tx.connection)
        context = AuditContext(rows[0].tenant_id, TIMEKEEPER, "agent.expire", now)
        self._change(tx, rows, AgentStatus.REVOKED, lambda row: replace(context, tenant_id=row.tenant_id))
        self._end_dependents(tx, [row.id for row in rows], AgentEnd("expired", TIMEKEEPER, now))
        for row in rows:
            outbox.publish(tx, row.tenant_id, AgentRevoked(row.id, now), at=now)

    def _require_may_become(
        self, tx: Transaction, agent_id: UUID, status: AgentStatus, caller: Caller, now: datetime
    ) -> AgentRecord:
        row = store.get(tx.exec, agent_id, tenant_id=caller.tenant_id)
        rules.require_transition(rules.status_at(row.status, row.expires_at, now), status)
        return row

    def _change(
        self,
        tx: Transaction,
        rows: Sequence[AgentRecord],
        status: AgentStatus,
        context_of: Callable[[AgentRecord], AuditContext],
    ) -> list[AgentRecord]:
        """Log a new status of agents, and write their rows with audit lines; returns the new rows."""
        require_declared(len(rows))
        changed = []
        for row in rows:
            at = context_of(row).at
            index = self._log(tx, row, status, at)
            changed.append(row._replace(status=status.value, status_changed_at=at, changed_index=index, updated_at=at))
        audited_write.change_all(tx, store.agents, changed, _CHANGED, context_of)
        return changed

    def _log(self, tx: Transaction, row: AgentRecord, status: AgentStatus, at: datetime) -> int:
        subject = agent_entries.agent_subject(row.id)
        link = entries.FIRST_LINK if row.changed_index is None else self.log.next_status_link(tx, subject)
        entry = agent_entries.agent_status_entry(link, agent_id=row.id, status=status.value, at=at)
        return self.log.append(tx, entry, kind=EntryType.AGENT_STATUS, subject=subject).index

    def _count_kill(self, agent_id: UUID, caller: Caller, *, cascade: bool, tx: Transaction | None) -> KilledAgents:
        """Count what a kill would end; no writer waits for it."""
        with self.storage.read(tx) as connection:
            execute, now = connection.execute, self.clock.now()
            root = store.get(execute, agent_id, tenant_id=caller.tenant_id)
            below = store.list_descendant_ids(execute, agent_id) if cascade else []
            _require_killable(root, below)
            ids = [root.id, *below]
            sessions = self.sessions.count_open(execute, ids, now=now)
            delegations = self.delegations.count_open(execute, ids, now=now) if self.delegations else 0
        return KilledAgents(root, sessions, len(below), delegations, True)

    def _end_dependents(self, tx: Transaction, agent_ids: Sequence[UUID], end: AgentEnd) -> tuple[int, int]:
        sessions = self.sessions.end(tx, agent_ids, end)
        return sessions, self.delegations.end(tx, agent_ids, end) if self.delegations else 0


def _is_of_tenant(execute: Execute, agent_id: UUID, caller: Caller) -> bool:
    row = store.find(execute, agent_id)
    return row is not None and row.tenant_id == caller.tenant_id


def _require_killable(root: AgentRecord, below: Sequence[object]) -> None:
    if root.status == AgentStatus.REVOKED and not below:
        rules.require_transition(AgentStatus.REVOKED, AgentStatus.REVOKED)


def _context(caller: Caller, action: str, at: datetime, reason: str, **metadata: object) -> AuditContext:
    return AuditContext(caller.tenant_id, caller, action, at, {"reason": reason, **metadata})


def get_active(execute: Execute, agent_id: UUID, caller: Caller, now: datetime, *, verb: str) -> AgentRecord:
    """Get an agent of the caller's tenant that may act; `verb` is what it would do.

    Raises:
        NotFound: the tenant has no such agent.
        Conflict: the agent is not active now.
    """
    agent = store.get(execute, agent_id, tenant_id=caller.tenant_id)
    rules.require_active(rules.status_at(agent.status, agent.expires_at, now), verb)
    return agent
