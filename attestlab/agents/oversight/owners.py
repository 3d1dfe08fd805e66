"""Owners of agents who left: their agents are noticed at once, and suspended when the grace is over (CONTRACT 11.8)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from attestlab.agents.lifecycle import TIMEKEEPER, AgentLifecycle
from attestlab.agents.oversight import store
from attestlab.agents.oversight.events import AgentOwnerLeft
from attestlab.agents.signals import record_agent_signal
from attestlab.agents.store import agents
from attestlab.agents.tables import AgentRecord
from attestlab.core.clock import Clock
from attestlab.core.db.transaction import Transaction
from attestlab.core.records import audited_write, outbox
from attestlab.core.records.actors import Actor
from attestlab.core.records.audited_write import AuditContext
from attestlab.log.service import Log
from attestlab.orgs.tables import UserRecord
from attestlab.risk.rules import Factor

OWNERLESS: Final = "ownerless"
OWNERLESS_SCORE: Final = 60.0
MAX_NOTED_AT_ONCE: Final = 100  # 0.5 ms each under the writer's lock
REASON: Final = "The person who answered for it was removed, and no one took their place."


class OwnersOfAgents:
    """The people who answer for agents, as far as their leaving changes the agents."""

    def __init__(self, *, clock: Clock, log: Log, lifecycle: AgentLifecycle) -> None:
        self.clock = clock
        self.log = log
        self.lifecycle = lifecycle
        self._are_noticed = False  # all who left: before revision 0040, or with more agents than are noted at once

    def leave(self, tx: Transaction, person: UserRecord, *, actor: Actor, at: datetime) -> None:
        """Note that a person was removed who answers for agents: one audit line, signal and event for each of these.

        Of very many agents, the next sweep of this process notes those beyond the first.
        """
        rows = store.list_owned(tx.exec, person.id, limit=MAX_NOTED_AT_ONCE + 1)
        _note_all(tx, rows[:MAX_NOTED_AT_ONCE], person.id, actor=actor, at=at)
        if len(rows) > MAX_NOTED_AT_ONCE:
            tx.after_commit(self._expect_more)

    def _expect_more(self) -> None:
        self._are_noticed = False

    def notice_earlier(self, tx: Transaction, *, limit: int) -> int:
        """Note up to `limit` agents whose owner was removed without a note; return how many.

        Their grace begins now. Once none is left, no later sweep of this process looks for more until `leave` leaves
        some.
        """
        if self._are_noticed or limit <= 0:
            return 0
        rows = store.find_unnoticed(tx.exec, limit=limit)
        self._are_noticed = not rows
        of_owners: defaultdict[UUID, list[AgentRecord]] = defaultdict(list)
        for row in rows:
            if row.owner_user_id is not None:
                of_owners[row.owner_user_id].append(row)
        for owner_id, owned in of_owners.items():
            _note_all(tx, owned, owner_id, actor=TIMEKEEPER, at=self.clock.now())
        return len(rows)

    def suspend_due(self, tx: Transaction, *, limit: int) -> int:
        """Suspend up to `limit` active agents whose owners left, and whose tenant's grace is over; return how many.

        Raises:
            TimeUnconfirmed: the clock leapt ahead, and no operator has confirmed it.
        """
        now = self.clock.now()
        rows = store.find_left(tx.exec, now=now, limit=limit)
        if rows:
            self.log.time.require_credible(tx.connection)
        for row in rows:
            self.lifecycle.suspend_untended(row.id, tenant_id=row.tenant_id, reason=REASON, because=OWNERLESS, tx=tx)
        return len(rows)


def _note_all(tx: Transaction, rows: Sequence[AgentRecord], owner_id: UUID, *, actor: Actor, at: datetime) -> None:
    """Note that the owner of agents was removed; all are of one tenant."""
    if not rows:
        return
    tenant_id = rows[0].tenant_id
    context = AuditContext(tenant_id, actor, "agent.lose_owner", at, {"owner_user_id": str(owner_id)})
    left = [row._replace(owner_left_at=at, updated_at=at) for row in rows]
    audited_write.change_all(tx, agents, left, ("owner_left_at", "updated_at"), lambda _: context)
    factor = Factor(OWNERLESS, True, 100.0, OWNERLESS_SCORE, "No one answers for the agent: its owner was removed.")
    for row in rows:
        record_agent_signal(tx, tenant_id, row.id, None, factor, at=at)
    suspended_from = at + timedelta(days=store.find_grace_days(tx.exec, tenant_id))
    for row in rows:
        outbox.publish(tx, tenant_id, AgentOwnerLeft(row.id, owner_id, suspended_from), at=at)
