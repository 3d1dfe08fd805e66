"""Service for challenge decisions: the service records them, and the caller verifies the subject by its own means."""

from __future__ import annotations

from uuid import UUID

from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.ids import new_id
from attestlab.core.records import audited_write
from attestlab.core.records.audited_write import AuditContext
from attestlab.orgs.rules import Caller
from attestlab.risk.enforcement import store
from attestlab.risk.enforcement.lists import is_allowed
from attestlab.risk.enforcement.shapes import ChallengesQuery
from attestlab.risk.enforcement.store import Position
from attestlab.risk.enforcement.tables import RiskChallengeRecord


class Challenges:
    """The challenge decisions of tenants.

    `tx` is the unit of work to join; without it, a verb commits its own.
    """

    def __init__(self, *, storage: Storage, clock: Clock) -> None:
        self.storage = storage
        self.clock = clock

    def create(
        self,
        subject_id: str,
        *,
        subject_type: str = "user",
        reason: str,
        risk_score: int | None = None,
        caller: Caller,
        tx: Transaction | None = None,
    ) -> RiskChallengeRecord:
        """Record the decision to challenge a subject; no challenge is required of one on the allow list."""
        with self.storage.write(tx) as tx:
            now = self.clock.now()
            is_exempt = is_allowed(tx.connection, caller.tenant_id, (subject_type, subject_id), now=now)
            row = RiskChallengeRecord(
                id=new_id(now),
                tenant_id=caller.tenant_id,
                subject_type=subject_type,
                subject_id=subject_id,
                reason=reason,
                risk_score=risk_score,
                challenge_required=not is_exempt,
                created_by=caller.actor_id,
                created_at=now,
            )
            deed = AuditContext(caller.tenant_id, caller, "risk_challenge.create", now)
            return audited_write.insert(tx, store.challenges, row, deed)

    def page(
        self, filters: ChallengesQuery, *, caller: Caller, before: UUID | None = None, limit: int = 50
    ) -> list[RiskChallengeRecord]:
        """Return a page of the tenant's decisions that filters select, newest first."""
        with self.storage.read() as connection:
            return store.list_challenges(connection.execute, Position(caller.tenant_id, before, limit), filters)
