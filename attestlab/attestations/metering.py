"""Every verification is counted and told of, in the group commit that carries it.

One unit goes to the issuer's tenant. The first hundred of an issuer in a minute
that end alike are told one by one; the rest are tallied, and one event with `count`
follows when the minute is over. The tally is as durable as the events are, so a
crash loses neither.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, bindparam, delete, select

from attestlab.attestations.events import AttestationCreated, VerificationCompleted, VerificationFailed
from attestlab.attestations.rules import Verdict
from attestlab.attestations.tables import VerificationTally
from attestlab.core import outbox
from attestlab.core.outbox import OutboxEvent
from attestlab.core.transaction import AnyRow, Transaction
from attestlab.core.upserts import Upsert
from attestlab.core.wire import parse_time
from attestlab.orgs import quotas, usage

BUFFER = "verifications"
TOLD_SINGLY_PER_MINUTE = 100
SWEEP_LIMIT = 500

_tallies: Any = VerificationTally.__table__  # type: ignore[attr-defined]  # SQLModel sets it on every table class
_outbox: Any = OutboxEvent.__table__  # type: ignore[attr-defined]
_COUNTED = select(_tallies.c.counted).where(
    *(_tallies.c[name] == bindparam(name) for name in ("issuer_id", "minute", "type"))
)
_RAISE = Upsert(
    _tallies,
    key=("issuer_id", "minute", "type"),
    change=lambda new: {name: _tallies.c[name] + new[name] for name in ("counted", "untold")},
)


@dataclass(frozen=True, slots=True)
class Verified:
    """One verification that ended with a verdict; `tenant_id` is the issuer's."""

    tenant_id: UUID
    issuer_id: UUID
    attestation_id: UUID
    verdict: Verdict
    at: datetime

    @property
    def event_type(self) -> str:
        """The event that tells of it."""
        return VerificationCompleted.type if self.verdict is Verdict.VALID else VerificationFailed.type


def count(tx: Transaction, verified: Verified, *, limit: int | None = None) -> None:
    """Meter one verification, if and only if the transaction commits; the issuer's plan allows `limit` a day.

    Raises:
        BillingLimit: it would be one more than that.
    """
    quotas.count_verification(tx, verified.tenant_id, limit, at=verified.at)
    tx.buffer(BUFFER).append(verified)


def seal(tx: Transaction) -> None:
    """Tell of the transaction's verifications, or tally them, just before its commit."""
    groups: defaultdict[tuple[UUID, datetime, str], list[Verified]] = defaultdict(list)
    for verified in tx.buffer(BUFFER):
        minute = verified.at.replace(second=0, microsecond=0)
        groups[verified.issuer_id, minute, verified.event_type].append(verified)
    for (issuer_id, minute, event_type), ended in groups.items():
        _tally(tx, issuer_id, minute, event_type, ended)
    tx.buffer(BUFFER).clear()


def _tally(tx: Transaction, issuer_id: UUID, minute: datetime, event_type: str, ended: list[Verified]) -> None:
    place = {"issuer_id": issuer_id, "minute": minute, "type": event_type}
    counted: int = tx.peek(_COUNTED, place).scalar() or 0
    singly = max(0, TOLD_SINGLY_PER_MINUTE - counted)
    for verified in ended[:singly]:
        outbox.tell(tx, verified.tenant_id, _event(verified), at=verified.at)
    tally = {"tenant_id": ended[0].tenant_id, "counted": len(ended), "untold": len(ended[singly:])}
    _RAISE.run(tx.connection, {**place, **tally})


def _event(verified: Verified) -> VerificationCompleted | VerificationFailed:
    kind = VerificationCompleted if verified.verdict is Verdict.VALID else VerificationFailed
    return kind(issuer_id=verified.issuer_id, verdict=verified.verdict.value, attestation_id=verified.attestation_id)


def sweep(tx: Transaction, *, now: datetime) -> int:
    """Tell of the tallies whose minute is over, and forget them; returns how many were closed."""
    over = now - timedelta(minutes=1)
    columns = (_tallies.c.issuer_id, _tallies.c.minute, _tallies.c.type, _tallies.c.tenant_id, _tallies.c.untold)
    due = select(*columns).where(_tallies.c.minute <= over).limit(SWEEP_LIMIT)
    closed: Sequence[AnyRow] = tx.exec(due).all()
    for issuer_id, minute, event_type, tenant_id, untold in closed:
        if untold:
            outbox.tell(tx, tenant_id, _summary(issuer_id, minute, event_type, untold), at=now)
        place = (_tallies.c.issuer_id == issuer_id, _tallies.c.minute == minute, _tallies.c.type == event_type)
        tx.exec(delete(_tallies).where(*place))
    return len(closed)


def _summary(
    issuer_id: UUID, minute: datetime, event_type: str, untold: int
) -> VerificationCompleted | VerificationFailed:
    if event_type == VerificationCompleted.type:
        return VerificationCompleted(issuer_id, Verdict.VALID.value, count=untold, minute=minute)
    return VerificationFailed(issuer_id, count=untold, minute=minute)


def disagreements(connection: Connection, *, now: datetime) -> Iterator[tuple[str, str]]:
    """Where tallies and days of usage do not add up to what the events tell, as (place, what is wrong).

    A tally whose minute is over may be gone: either all of it was told, or an event with `count` followed.
    """
    told, used = _told(connection)
    for row in connection.execute(select(*_tallies.c)):
        used[row.tenant_id, usage.VERIFICATIONS, row.minute.date()] += row.untold
        if row.untold < 0 or row.counted != told.pop((row.issuer_id, row.minute, row.type), 0) + row.untold:
            yield f"tally {row.issuer_id} {row.minute} {row.type}", "it does not count what the events tell"
    for issuer_id, minute, event_type in told:
        if minute + timedelta(minutes=1) > now:
            yield f"tally {issuer_id} {minute} {event_type}", "it is missing"
    for tenant_id, metric, day, counted in usage.days(connection):
        if used.pop((tenant_id, metric, day), 0) != counted:
            yield f"usage {tenant_id} {metric} {day}", "it is not what the events add up to"
    for tenant_id, metric, day in used:
        yield f"usage {tenant_id} {metric} {day}", "it is missing"


def _told(connection: Connection) -> tuple[Counter[tuple[UUID, datetime, str]], Counter[tuple[UUID, str, date]]]:
    """Single verifications by issuer, minute and type; and what was used by tenant, metric and day."""
    singly: Counter[tuple[UUID, datetime, str]] = Counter()
    used: Counter[tuple[UUID, str, date]] = Counter()
    columns = (_outbox.c.tenant_id, _outbox.c.type, _outbox.c.created_at, _outbox.c.body)
    ours = _outbox.c.type.in_([AttestationCreated.type, VerificationCompleted.type, VerificationFailed.type])
    for row in connection.execution_options(yield_per=SWEEP_LIMIT).execute(select(*columns).where(ours)):
        if row.type == AttestationCreated.type:
            used[row.tenant_id, usage.ATTESTATIONS, row.created_at.date()] += 1
            continue
        data = json.loads(row.body)["data"]
        if "minute" in data:
            used[row.tenant_id, usage.VERIFICATIONS, parse_time(data["minute"]).date()] += data["count"]
        else:
            used[row.tenant_id, usage.VERIFICATIONS, row.created_at.date()] += 1
            singly[UUID(data["issuer_id"]), row.created_at.replace(second=0, microsecond=0), row.type] += 1
    return singly, used
