"""Service for velocity scoring: count an action of an entity and score its frequency."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.tables import Execute
from attestlab.core.db.transaction import Transaction
from attestlab.core.encoding import format_time
from attestlab.core.errors import ValidationFailed
from attestlab.orgs.rules import Caller
from attestlab.risk.enforcement.lists import add_deny_factor
from attestlab.risk.rules import Entity, Factor, require_named, sum_factors
from attestlab.risk.signals.members import encode_details
from attestlab.risk.signals.recording import NewSignal, record_score
from attestlab.risk.velocity import store
from attestlab.risk.velocity.tables import VelocityEventRecord
from attestlab.risk.velocity.windows import WINDOWS, score_counts

SOURCE = SIGNAL_TYPE = "velocity"
MAX_DELAY = timedelta(hours=24)  # an occurrence may be reported so much later
HORIZON = MAX_DELAY + timedelta(hours=24)  # the day before the latest report


@dataclass(frozen=True)
class VelocityScore:
    """The score of an action's frequency, 0 to 100; `windows` are counts by the window's name, at most 1,000 each.

    `signal_id` is the signal that a score of at least `SIGNAL_THRESHOLD` has become.
    """

    score: float
    windows: Mapping[str, int]
    factors: Sequence[Factor]
    signal_id: UUID | None = None


class Velocity:
    """Velocity scoring. Windows count per tenant, entity and action, and follow the time of the occurrence.

    `tx` is the unit of work to join; without it, a verb commits its own.
    """

    def __init__(self, *, storage: Storage, clock: Clock) -> None:
        self.storage = storage
        self.clock = clock

    def record(
        self, entity: Entity, action: str, *, occurred_at: datetime, caller: Caller, tx: Transaction | None = None
    ) -> VelocityScore:
        """Count an occurrence of an action, and score the windows that end with it.

        Raises:
            ValidationFailed: the entity's id is a placeholder, or the occurrence is so old that its windows are no
                longer complete.
        """
        require_named(entity)
        with self.storage.write(tx) as tx:
            now = self.clock.now()
            _require_recent(occurred_at, now)
            moment = to_microseconds(occurred_at)
            number = secrets.randbits(62)
            row = VelocityEventRecord(caller.tenant_id, entity.type.value, entity.id, action, moment, number)
            tx.add(store.occurrences, row)
            counts = store.count_windows(tx.exec, caller.tenant_id, entity, action, moment)
            factors = add_deny_factor(tx.connection, caller.tenant_id, [entity], score_counts(counts), now=now)
            score, windows = sum_factors(factors), name_counts(counts)
            details = encode_details({"action": action, "windows": windows}, factors)
            new = NewSignal(SOURCE, SIGNAL_TYPE, score, entity, details, occurred_at)
            signal_id = record_score(tx, caller.tenant_id, new, at=now)
            return VelocityScore(score, windows, factors, signal_id)

    def prune(self, tx: Transaction, *, at_most: int) -> int:
        """Delete at most `at_most` occurrences that no window needs any more; returns their number."""
        return store.delete_before(tx, to_microseconds(self.clock.now() - HORIZON), limit=at_most)


def count_actions(
    execute: Execute, tenant_id: UUID, entity: Entity, *, now: datetime, limit: int
) -> dict[str, dict[str, int]]:
    """Return the counts of an entity by action and window, of at most `limit` actions."""
    actions = store.list_actions(execute, tenant_id, entity, limit=limit)
    until = to_microseconds(now)
    return {action: name_counts(store.count_windows(execute, tenant_id, entity, action, until)) for action in actions}


def name_counts(counts: Sequence[int]) -> dict[str, int]:
    """Return counts by the names of their windows."""
    return {window.name: count for window, count in zip(WINDOWS, counts, strict=True)}


def to_microseconds(moment: datetime) -> int:
    """Return a moment in microseconds since 1970."""
    return int(moment.timestamp()) * 1_000_000 + moment.microsecond


def _require_recent(occurred_at: datetime, now: datetime) -> None:
    if occurred_at < now - MAX_DELAY:
        message = (
            f"{format_time(occurred_at)} is more than {MAX_DELAY.total_seconds() / 3600:g} hours ago, and the windows "
            "of that time are no longer counted. Send it as a raw event or as a signal."
        )
        raise ValidationFailed.of("/occurred_at", "too_old", message)
