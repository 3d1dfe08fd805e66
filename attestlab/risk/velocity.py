"""Velocity: how often an entity did one thing within sliding windows of a minute to a day (CONTRACT section 8).

A window of a moment `t` holds what occurred after `t - seconds` and up to `t`.

>>> [(factor.name, factor.contribution) for factor in score_counts([1, 1, 1, 1])]
[('count_1m', 9.2308), ('count_5m', 2.0513), ('count_1h', 0.2564), ('count_24h', 0.0256)]
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, NamedTuple
from uuid import UUID

from sqlalchemy import BigInteger, ColumnElement, Index, bindparam, delete, func, select, tuple_
from sqlmodel import Field

from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.tables import Execute, model_of, short_repr, table_of
from attestlab.core.db.transaction import Transaction
from attestlab.core.encoding import format_time
from attestlab.core.errors import ValidationFailed
from attestlab.orgs.rules import Caller
from attestlab.risk.enforcement.lists import add_deny_factor
from attestlab.risk.rules import MAX_SCORE, SCORE_DECIMALS, Entity, EntityType, Factor, require_named, sum_factors
from attestlab.risk.signals.members import encode_details
from attestlab.risk.signals.recording import NewSignal, record_score, record_signals
from attestlab.web.rate_limit.client_address import rate_limit_key


@short_repr
class VelocityEventRecord(NamedTuple):
    """One occurrence of an action; kept for `HORIZON`, then deleted.

    The key is the order in which windows are counted, so SQLite stores each row once, within the key. `occurred_us` is
    in microseconds since 1970, `number` is random and separates occurrences of one moment.
    """

    tenant_id: Annotated[UUID, Field(primary_key=True, foreign_key="tenants.id")]
    entity_type: Annotated[str, Field(primary_key=True, max_length=16)]
    entity_id: Annotated[str, Field(primary_key=True, max_length=256)]
    action: Annotated[str, Field(primary_key=True, max_length=64)]
    occurred_us: Annotated[int, Field(primary_key=True, sa_type=BigInteger)]
    number: Annotated[int, Field(primary_key=True, sa_type=BigInteger)]


VelocityEvent = model_of(
    VelocityEventRecord,
    "risk_velocity_events",
    Index("ix_risk_velocity_events_by_time", "occurred_us"),
    sqlite_with_rowid=False,
)


class VelocityWindow(NamedTuple):
    """A sliding window: its name, length, weight in the score, and the count that reaches the full weight."""

    name: str
    seconds: int
    weight: int
    limit: int


WINDOWS = (
    VelocityWindow("1m", 60, 30, 5),
    VelocityWindow("5m", 300, 20, 15),
    VelocityWindow("1h", 3_600, 10, 60),
    VelocityWindow("24h", 86_400, 5, 300),
)
DAY_S = WINDOWS[-1].seconds
_TOTAL_WEIGHT = sum(window.weight for window in WINDOWS)


def score_counts(counts: Sequence[int]) -> list[Factor]:
    """Return the factors of the counts, one per window: weight x min(1, count / limit), scaled to 100 points."""
    return [_score(window, count) for window, count in zip(WINDOWS, counts, strict=True)]


def _score(window: VelocityWindow, count: int) -> Factor:
    share = window.weight * min(1.0, count / window.limit) / _TOTAL_WEIGHT
    text = (
        f"{count} within {window.name}; {window.limit} give the full {MAX_SCORE * window.weight / _TOTAL_WEIGHT:.1f}."
    )
    return Factor(f"count_{window.name}", count, window.weight, round(MAX_SCORE * share, SCORE_DECIMALS), text)


occurrences = table_of(VelocityEvent)
MAX_COUNTED = 1_000  # of one entity and action within a day; counting 1,000 takes half a millisecond
_KEY = tuple(occurrences.primary_key)
_newest = (
    select(occurrences.c.occurred_us)
    .where(
        occurrences.c.tenant_id == bindparam("tenant"),
        occurrences.c.entity_type == bindparam("type"),
        occurrences.c.entity_id == bindparam("entity"),
        occurrences.c.action == bindparam("action"),
        occurrences.c.occurred_us > bindparam(WINDOWS[-1].name),
        occurrences.c.occurred_us <= bindparam("until"),
    )
    .order_by(occurrences.c.occurred_us.desc())
    .limit(bindparam("most"))
    .subquery()
)
_COUNTS = select(
    *(func.count().filter(_newest.c.occurred_us > bindparam(window.name)) for window in WINDOWS)
).select_from(_newest)
"""Built once: building it takes longer than running it."""


def count_windows(execute: Execute, tenant_id: UUID, entity: Entity, action: str, until_us: int) -> list[int]:
    """Count an action of an entity in each window that ends at a moment, exactly up to `MAX_COUNTED`."""
    begins = {window.name: until_us - window.seconds * 1_000_000 for window in WINDOWS}
    of_action = {"tenant": tenant_id, "type": entity.type.value, "entity": entity.id, "action": action}
    return list(execute(_COUNTS, {**of_action, **begins, "until": until_us, "most": MAX_COUNTED}).one())


def list_actions(execute: Execute, tenant_id: UUID, entity: Entity, *, limit: int) -> Sequence[str]:
    """List the actions of an entity within the horizon, by name; each is one look-up in the index of the key."""
    action, found = occurrences.c.action, list[str]()
    while len(found) < limit:
        query = select(action).where(*_of_entity(tenant_id, entity), *[action > name for name in found[-1:]])
        name = execute(query.order_by(action).limit(1)).scalar()
        if name is None:
            break
        found.append(name)
    return found


def delete_before(tx: Transaction, before_us: int, *, limit: int) -> int:
    """Delete at most `limit` occurrences before a moment; returns their number."""
    due = select(*_KEY).where(occurrences.c.occurred_us < before_us).order_by(occurrences.c.occurred_us).limit(limit)
    return tx.exec(delete(occurrences).where(tuple_(*_KEY).in_(due))).rowcount


def _of_entity(tenant_id: UUID, entity: Entity) -> tuple[ColumnElement[bool], ...]:
    columns = occurrences.c
    return (columns.tenant_id == tenant_id, columns.entity_type == entity.type.value, columns.entity_id == entity.id)


SOURCE = SIGNAL_TYPE = "velocity"
LIMITS_SOURCE = "limits"  # of signals about blocked addresses
BLOCKED_SCORE = 70.0  # the client went on after several refusals; below the default threshold of escalation
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
            tx.add(occurrences, row)
            counts = count_windows(tx.exec, caller.tenant_id, entity, action, moment)
            factors = add_deny_factor(tx.connection, caller.tenant_id, [entity], score_counts(counts), now=now)
            score, windows = sum_factors(factors), name_counts(counts)
            details = encode_details({"action": action, "windows": windows}, factors)
            new = NewSignal(SOURCE, SIGNAL_TYPE, score, entity, details, occurred_at)
            signal_id = record_score(tx, caller.tenant_id, new, at=now)
            return VelocityScore(score, windows, factors, signal_id)

    def prune(self, tx: Transaction, *, at_most: int) -> int:
        """Delete at most `at_most` occurrences that no window needs any more; returns their number."""
        return delete_before(tx, to_microseconds(self.clock.now() - HORIZON), limit=at_most)


def count_actions(
    execute: Execute, tenant_id: UUID, entity: Entity, *, now: datetime, limit: int
) -> dict[str, dict[str, int]]:
    """Return the counts of an entity by action and window, of at most `limit` actions."""
    actions = list_actions(execute, tenant_id, entity, limit=limit)
    until = to_microseconds(now)
    return {action: name_counts(count_windows(execute, tenant_id, entity, action, until)) for action in actions}


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


def record_blocked_address(tx: Transaction, tenant_id: UUID, address: str, *, at: datetime) -> None:
    """Record a signal about the address of a blocked client; of IPv6 about the /64 network, which was blocked."""
    factor = Factor(
        "address_blocked", True, MAX_SCORE, BLOCKED_SCORE, "The address exceeded its limits again and again."
    )
    entity = Entity(EntityType.IP, rate_limit_key(address))
    new = NewSignal(LIMITS_SOURCE, SIGNAL_TYPE, BLOCKED_SCORE, entity, encode_details(None, [factor]), at)
    record_signals(tx, tenant_id, [new], at=at)
