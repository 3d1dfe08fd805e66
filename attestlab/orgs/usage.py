"""Usage of a tenant, counted per UTC day, and as durable as all other data.

The uses of a transaction are added up and written once, so that counting a thousand verifications in one commit
costs as much as counting one.
"""

from collections import Counter
from collections.abc import Iterator
from datetime import date, datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from sqlalchemy import BigInteger, Connection, bindparam, select
from sqlmodel import Field

from attestlab.core.db.tables import iterate, model_of, short_repr, table_of
from attestlab.core.db.transaction import Buffer, Transaction
from attestlab.core.db.upserts import Upsert

BUFFER = Buffer[tuple[tuple[UUID, str, date], int]]("usage")
ATTESTATIONS = "attestations"
VERIFICATIONS = "verifications"


@short_repr
class UsageDayRecord(NamedTuple):
    """A tenant's usage of one metric on one UTC day."""

    tenant_id: Annotated[UUID, Field(primary_key=True)]
    metric: Annotated[str, Field(primary_key=True, max_length=32)]
    day: Annotated[date, Field(primary_key=True)]
    used: Annotated[int, Field(sa_type=BigInteger)]


UsageDay = model_of(UsageDayRecord, "usage_days")
_table = table_of(UsageDay)
_USED = select(_table.c.used).where(*(_table.c[name] == bindparam(name) for name in ("tenant_id", "metric", "day")))
_ADD = Upsert(_table, key=("tenant_id", "metric", "day"), change=lambda new: {"used": _table.c.used + new.used})


def count_use(tx: Transaction, tenant_id: UUID, metric: str, *, at: datetime, times: int = 1) -> None:
    """Count one or more uses, if and only if the transaction commits."""
    tx.buffer(BUFFER).append(((tenant_id, metric, at.date()), times))


def write_counts(tx: Transaction) -> None:
    """Write the uses of a transaction just before its commit."""
    uses = tx.buffer(BUFFER)
    if not uses:
        return
    counted: Counter[tuple[UUID, str, date]] = Counter()
    for place, times in uses:
        counted[place] += times
    rows = [UsageDayRecord(*place, times) for place, times in counted.items()]
    _ADD.run(tx.connection, [row._asdict() for row in rows])
    uses.clear()


def list_days(connection: Connection) -> Iterator[UsageDayRecord]:
    """Yield all counts."""
    return iterate(connection.execute(select(*_table.c)), UsageDayRecord)


def get_used(connection: Connection, tenant_id: UUID, metric: str, day: date) -> int:
    """Return a tenant's usage of `metric` on `day`."""
    return connection.execute(_USED, {"tenant_id": tenant_id, "metric": metric, "day": day}).scalar() or 0


def used_with_pending(tx: Transaction, tenant_id: UUID, metric: str, *, at: datetime) -> int:
    """Return a tenant's usage of `metric` on the day of `at`, including this transaction's uncommitted uses."""
    place = (tenant_id, metric, at.date())
    known = ("usage", place)
    if known not in tx.cache:
        tx.cache[known] = get_used(tx.connection, *place)
    used_by_now: int = tx.cache[known] + sum(times for counted, times in tx.buffer(BUFFER) if counted == place)
    return used_by_now
