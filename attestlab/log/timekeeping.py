"""The log's time: checkpoint times never go backwards, and a leap of the clock needs an operator's confirmation.

A clock that is years ahead would expire every attestation permanently. So the clock is
compared with the last known time: the latest of the newest checkpoint's time, the time that
an operator confirmed, and the time that this process accepted last. While the clock is more
than `MAX_LEAP` ahead of it, checkpoints keep the last known time, expiries are not made
permanent, and `/readyz` is red, until the clock is corrected or `attestlab log confirm-time`
confirms it.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, NamedTuple

from sqlalchemy import Connection, bindparam, select
from sqlmodel import Field

from attestlab.core.clock import Clock
from attestlab.core.db.tables import fetch_one, model_of, short_repr, table_of
from attestlab.core.db.transaction import Transaction
from attestlab.core.encoding import format_time
from attestlab.core.errors import Unavailable
from attestlab.core.records import audited_write
from attestlab.core.records.actors import COMMAND_LINE
from attestlab.core.records.audited_write import AuditContext
from attestlab.log import store
from attestlab.orgs import store as org_store

MAX_LEAP = timedelta(days=90)
ROW_ID = 1


@short_repr
class ConfirmedTimeRecord(NamedTuple):
    """The single row with the time that an operator confirmed last; absent before the first confirmation."""

    id: Annotated[int, Field(primary_key=True, sa_column_kwargs={"autoincrement": False})]
    at: datetime


ConfirmedTime = model_of(ConfirmedTimeRecord, "confirmed_time")
confirmed_time = table_of(ConfirmedTime)
_CONFIRMED = select(*confirmed_time.c).where(confirmed_time.c.id == bindparam("id"))


class TimeUnconfirmed(Unavailable):
    """The clock leapt ahead; only an operator can decide whether it is right."""


class Timekeeping:
    """Compares the clock with the last known time; one for each process that opens the log."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last_credible: datetime | None = None  # the last credible time; an idle log has no newer checkpoint

    def next_checkpoint_time(self, connection: Connection) -> datetime:
        """The time for the next checkpoint, never earlier than that of the last one."""
        now, last = self._clock.now(), _newest_checkpoint_time(connection)
        if last is None:
            return now
        if now - last <= MAX_LEAP:
            return max(last, now)
        known = self._last_known(connection, last)
        return now if now - known <= MAX_LEAP else known

    def require_credible(self, connection: Connection) -> None:
        """Require that the clock did not leap ahead.

        Raises:
            TimeUnconfirmed: the clock is more than `MAX_LEAP` ahead of the last known time.
        """
        now, known = self._clock.now(), self.last_known(connection)
        if known is not None and now - known > MAX_LEAP:
            raise TimeUnconfirmed(
                f"The clock states {format_time(now)}, more than {MAX_LEAP.days} days after the last known time, "
                f"{format_time(known)}; no expiry is made permanent. Correct the clock or, if it is right, "
                "run `attestlab log confirm-time`.",
                details={"reason": "time_unconfirmed"},
            )
        self._last_credible = now

    def last_known(self, connection: Connection) -> datetime | None:
        """The last known time; None before the first checkpoint."""
        last = _newest_checkpoint_time(connection)
        return None if last is None else self._last_known(connection, last)

    def confirm(self, tx: Transaction) -> datetime:
        """Record the clock's time as the last known time, with an audit line; returns it."""
        now = self._clock.now()
        context = AuditContext(org_store.get_operator_id(tx), COMMAND_LINE, "confirmed_time.confirm", now)
        row = fetch_one(tx.exec(_CONFIRMED, {"id": ROW_ID}), ConfirmedTimeRecord)
        if row is None:
            audited_write.insert(tx, confirmed_time, ConfirmedTimeRecord(ROW_ID, now), context)
        else:
            audited_write.change(tx, confirmed_time, row, {"at": now}, context)
        return now

    def _last_known(self, connection: Connection, last: datetime) -> datetime:
        row = fetch_one(connection.execute(_CONFIRMED, {"id": ROW_ID}), ConfirmedTimeRecord)
        return max(last, self._last_credible or last, last if row is None else row.at)


def _newest_checkpoint_time(connection: Connection) -> datetime | None:
    """The time of the newest checkpoint."""
    newest = store.newest_checkpoint(connection.execute)
    return None if newest is None else newest.at
