"""Daily meter of verifications against the limit of the issuer's plan; exact while processes run.

The count is in the shared counters, so a verification does not wait for a commit. `write_behind.py`
writes the usage to the records a moment later, so they are a lower bound of the count: a counter
that is missing (a new day, a restored backup, a lost file) or behind (a power cut) continues from
the records. A counter ahead of the records is correct: it includes verifications that are not
written yet, and those whose write a crash prevented.
"""

from __future__ import annotations

from sqlalchemy import Connection

from attestlab.attestations.evidence_queries import RecordEvidence
from attestlab.attestations.metering.service import MeteredVerification
from attestlab.core.db.storage import Storage
from attestlab.core.limits.rate_counters import Counters
from attestlab.orgs import quotas, usage
from attestlab.orgs.plans import allowance_for

UNLIMITED = 1 << 62  # counted nevertheless, so that the count is correct if the plan gets a limit


class Meter:
    """Counts each verification towards the daily limit of the issuer's tenant."""

    def __init__(self, *, storage: Storage, counters: Counters) -> None:
        self._storage = storage
        self._counters = counters

    def take(self, connection: Connection, verified: MeteredVerification, *, limit: int | None) -> None:
        """Count one verification of the issuer's tenant, whose plan allows `limit` a day.

        Raises:
            BillingLimit: the tenant has used its daily limit.
        """
        if not self._spend(connection, verified, limit=UNLIMITED if limit is None else limit) and limit is not None:
            raise quotas.verifications_exhausted(limit, at=verified.at)

    def refund(self, verified: MeteredVerification) -> None:
        """Subtract a verification that was counted, but whose client got no verdict."""
        with self._storage.read() as connection:
            self._spend(connection, verified, limit=UNLIMITED, cost=-1)

    def _spend(self, connection: Connection, verified: MeteredVerification, *, limit: int, cost: int = 1) -> bool:
        tenant_id, day = verified.tenant_id, verified.at.date()
        written = self._storage.load_cached(
            connection,
            ("verifications used", tenant_id, day),
            lambda look: usage.get_used(look, tenant_id, usage.VERIFICATIONS, day),
        )
        key = f"{usage.VERIFICATIONS}:{tenant_id}:{day}"
        until = quotas.next_utc_day(verified.at)
        return self._counters.spend(key, limit=limit, known=written, until=until, cost=cost)


def verifications_per_day(evidence: RecordEvidence) -> int | None:
    """Return the daily limit of the plan of the issuer's tenant; None is unlimited."""
    if evidence.plan is None:
        return None
    return allowance_for(evidence.plan, evidence.adjustments, evidence.addons).verifications_per_day
