"""Service for a tenant's settings of risk."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import Connection

from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import ValidationFailed
from attestlab.core.records import audited_write
from attestlab.core.records.audited_write import AuditContext
from attestlab.orgs.rules import Caller
from attestlab.risk.enforcement import store
from attestlab.risk.enforcement.tables import RiskSettingsRecord
from attestlab.risk.rules import DEFAULT_ESCALATION_THRESHOLD, MAX_SCORE


class RiskPreferences:
    """A tenant's settings of risk: the score from which a signal is escalated.

    `tx` is the unit of work to join; without it, a verb commits its own.
    """

    def __init__(self, *, storage: Storage, clock: Clock) -> None:
        self.storage = storage
        self.clock = clock

    def get_threshold(self, *, caller: Caller) -> float:
        """Return the score from which a signal of the tenant is escalated."""
        with self.storage.read() as connection:
            return find_threshold(connection, caller.tenant_id)

    def set_threshold(self, threshold: float, *, caller: Caller, tx: Transaction | None = None) -> float:
        """Set the score from which later signals are escalated.

        Raises:
            ValidationFailed: it is not within 0 to 100.
        """
        if not 0 <= threshold <= MAX_SCORE:
            message = f"{threshold!r} is no threshold: use 0 to {MAX_SCORE:g}."
            raise ValidationFailed.of("/escalation_threshold", "out_of_range", message)
        with self.storage.write(tx) as tx:
            now = self.clock.now()
            row = store.find_settings(tx.exec, caller.tenant_id)
            deed = AuditContext(caller.tenant_id, caller, "risk_settings.update", now)
            if row is None:
                audited_write.insert(tx, store.settings, RiskSettingsRecord(caller.tenant_id, threshold, now), deed)
            else:
                changes = {"escalation_threshold": threshold, "updated_at": now}
                audited_write.change(tx, store.settings, row, changes, deed)
        return threshold


def find_threshold(connection: Connection, tenant_id: UUID) -> float:
    """Return a tenant's escalation threshold."""
    row = store.find_settings(connection.execute, tenant_id)
    return DEFAULT_ESCALATION_THRESHOLD if row is None else row.escalation_threshold
