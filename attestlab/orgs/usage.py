"""Usage of a tenant, counted per UTC day, and as durable as all other data.

The uses of a transaction are added up and written once, so that counting a thousand verifications in one commit
costs as much as counting one.
"""

from collections import Counter
from collections.abc import Collection, Iterator
from datetime import date, datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from sqlalchemy import BigInteger, Connection, Date, Index, String, Uuid, and_, bindparam, select
from sqlmodel import Field

from attestlab.core.db.foreseen_reads import ForeseenRead, KeyRows
from attestlab.core.db.tables import Execute, iterate, model_of, short_repr, table_of
from attestlab.core.db.transaction import Buffer, Transaction
from attestlab.core.db.upserts import Upsert


class UsagePlace(NamedTuple):
    """Where uses are counted: a tenant's metric on a UTC day."""

    tenant_id: UUID
    metric: str
    day: date


BUFFER = Buffer[tuple[UsagePlace, int]]("usage")
ATTESTATIONS = "attestations"
VERIFICATIONS = "verifications"


@short_repr
class UsageDayRecord(NamedTuple):
    """A tenant's usage of one metric on one UTC day."""

    tenant_id: Annotated[UUID, Field(primary_key=True)]
    metric: Annotated[str, Field(primary_key=True, max_length=32)]
    day: Annotated[date, Field(primary_key=True)]
    used: Annotated[int, Field(sa_type=BigInteger)]


UsageDay = model_of(UsageDayRecord, "usage_days", Index("ix_usage_days_of_day", "day"))
_table = table_of(UsageDay)
_USED = select(_table.c.used).where(*(_table.c[name] == bindparam(name) for name in ("tenant_id", "metric", "day")))
_days = KeyRows(tenant_id=Uuid(), metric=String(), day=Date())
_USED_ON_ALL = select(_table.c.used, *_days.c.values()).join(
    _days.rows, and_(*(_table.c[name] == each for name, each in _days.c.items()))
)
_ADD = Upsert(_table, key=("tenant_id", "metric", "day"), change=lambda new: {"used": _table.c.used + new.used})


def count_use(tx: Transaction, tenant_id: UUID, metric: str, *, at: datetime, times: int = 1) -> None:
    """Count one or more uses, if and only if the transaction commits."""
    tx.buffer(BUFFER).append((UsagePlace(tenant_id, metric, at.date()), times))


def write_counts(tx: Transaction) -> None:
    """Write the uses of a transaction just before its commit."""
    uses = tx.buffer(BUFFER)
    if not uses:
        return
    counted: Counter[UsagePlace] = Counter()
    for place, times in uses:
        counted[place] += times
    for place, times in counted.items():
        tx.add_last(_ADD, UsageDayRecord(*place, times)._asdict())
    uses.clear()


def list_days(connection: Connection) -> Iterator[UsageDayRecord]:
    """Yield all counts."""
    return iterate(connection.execute(select(*_table.c)), UsageDayRecord)


def get_used(connection: Connection, tenant_id: UUID, metric: str, day: date) -> int:
    """Return a tenant's usage of `metric` on `day`."""
    return _find_used(connection.execute, UsagePlace(tenant_id, metric, day)) or 0


def used_with_pending(tx: Transaction, tenant_id: UUID, metric: str, *, at: datetime) -> int:
    """Return a tenant's usage of `metric` on the day of `at`, including this transaction's uncommitted uses."""
    place = UsagePlace(tenant_id, metric, at.date())
    return (USED.get(tx, place) or 0) + sum(times for counted, times in tx.buffer(BUFFER) if counted == place)


def _find_used(execute: Execute, place: UsagePlace) -> int | None:
    used: int | None = execute(_USED, place._asdict()).scalar()
    return used


def _find_all_used(execute: Execute, places: Collection[UsagePlace]) -> dict[UsagePlace, int]:
    return {UsagePlace._make(row[1:]): row[0] for row in execute(_USED_ON_ALL, _days.bind(places))}


USED = ForeseenRead("usage", find=_find_used, find_all=_find_all_used)
