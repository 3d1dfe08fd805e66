"""The meter of verifications: how many of a day an issuer's plan allows, exact while processes run.

The count is in the shared counters, so a verification waits for no commit. The records hold what
was written of the day, a moment later (`write_behind.py`), and are a lower bound of the count: a
counter that is missing (a new day, a restored backup, a lost file) or behind (a power cut)
continues from there. A counter that is ahead of the records is right: it includes what is not
written yet, and what a crash kept from being written.
"""

from __future__ import annotations

from sqlalchemy import Connection

from attestlab.attestations.metering.service import MeteredVerification
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import AnyRow
from attestlab.core.limits.rate_counters import Counters
from attestlab.orgs import quotas, usage
from attestlab.orgs.plans import allowance_for

UNLIMITED = 1 << 62  # counted like the others, so that a plan that gets a cap has its count


class Meter:
    """Takes one unit of the issuer's day for each verification."""

    def __init__(self, *, storage: Storage, counters: Counters) -> None:
        self._storage = storage
        self._counters = counters

    def take(self, connection: Connection, verified: MeteredVerification, *, limit: int | None) -> None:
        """Count one verification of the issuer's tenant, whose plan allows `limit` a day.

        Raises:
            BillingLimit: the day has no more.
        """
        if not self._spend(connection, verified, limit=UNLIMITED if limit is None else limit) and limit is not None:
            raise quotas.verifications_exhausted(limit, at=verified.at)

    def refund(self, verified: MeteredVerification) -> None:
        """Take back one that was counted and not answered."""
        with self._storage.read() as connection:
            self._spend(connection, verified, limit=UNLIMITED, cost=-1)

    def _spend(self, connection: Connection, verified: MeteredVerification, *, limit: int, cost: int = 1) -> bool:
        tenant_id, day = verified.tenant_id, verified.at.date()
        written = self._storage.cached(
            connection,
            ("verifications used", tenant_id, day),
            lambda look: usage.get_used(look, tenant_id, usage.VERIFICATIONS, day),
        )
        key = f"{usage.VERIFICATIONS}:{tenant_id}:{day}"
        until = quotas.next_utc_day(verified.at)
        return self._counters.spend(key, limit=limit, known=written, until=until, cost=cost)


def verifications_per_day(row: AnyRow) -> int | None:
    """The daily cap of the issuer's plan, which a verified row carries; None is unlimited."""
    return None if row.plan is None else allowance_for(row.plan, row.adjusted).verifications_per_day
