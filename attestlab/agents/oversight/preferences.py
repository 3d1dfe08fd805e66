"""Preferences of a tenant for its agents: how long one may act without a person who answers for it."""

from __future__ import annotations

from attestlab.agents.oversight import store
from attestlab.agents.oversight.tables import AgentSettingsRecord
from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.records import audited_write
from attestlab.core.records.audited_write import AuditContext
from attestlab.orgs.rules import Caller


class AgentPreferences:
    """The settings of agents of all tenants. `tx` is the unit of work to join; without it, a verb commits its own."""

    def __init__(self, *, storage: Storage, clock: Clock) -> None:
        self.storage = storage
        self.clock = clock

    def get_grace_days(self, *, caller: Caller) -> int:
        """Get the days after which an agent of the caller's tenant whose owner left is suspended."""
        with self.storage.read() as connection:
            return store.find_grace_days(connection.execute, caller.tenant_id)

    def set_grace_days(self, days: int, *, caller: Caller, tx: Transaction | None = None) -> int:
        """Set the days after which an agent whose owner left is suspended; it counts for those that left already."""
        with self.storage.write(tx) as tx:
            now = self.clock.now()
            context = AuditContext(caller.tenant_id, caller, "agent_settings.set", now)
            known = store.find_settings(tx.exec, caller.tenant_id)
            if known is None:
                row = AgentSettingsRecord(caller.tenant_id, days, now)
                audited_write.insert(tx, store.settings, row, context)
            elif known.ownerless_grace_days != days:
                changes = {"ownerless_grace_days": days, "updated_at": now}
                audited_write.change(tx, store.settings, known, changes, context)
        return days
