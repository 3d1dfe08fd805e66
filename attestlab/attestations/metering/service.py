"""Every verification is counted, and published as an event, in a group commit soon after its answer.

One unit goes to the issuer's tenant. The first hundred of an issuer in a minute that end
alike have an event each; the rest are tallied, and one event with `count_use` follows when the
minute is over. Usage, tallies and events are one transaction, so they always agree: what a
crash loses (verifications answered and not yet written) is missing from all three.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from uuid import UUID

from sqlalchemy import Connection, bindparam, delete, select

from attestlab.attestations.events import AttestationCreated, VerificationCompleted, VerificationFailed
from attestlab.attestations.rules import Verdict
from attestlab.attestations.tables import VerificationTally
from attestlab.core.clock import Clock
from attestlab.core.db.storage import CommitHook
from attestlab.core.db.tables import table_of
from attestlab.core.db.transaction import AnyRow, Transaction
from attestlab.core.db.upserts import Upsert
from attestlab.core.records import outbox
from attestlab.core.records.outbox import OutboxEvent
from attestlab.core.strict_json import format_time, parse_time
from attestlab.orgs import usage

BUFFER = "verifications"
MAX_SINGLE_EVENTS_PER_MINUTE = 100
TALLY_INTERVAL = timedelta(minutes=1)
MAX_GROUPS = 500  # of verifications not yet written, each with up to a hundred of them: some 15 MB
SWEEP_LIMIT = 500

TallyKey = tuple[UUID, datetime, str]  # issuer, minute, type of event

_tallies = table_of(VerificationTally)
_outbox = table_of(OutboxEvent)
_KEY = ("issuer_id", "minute", "type")
_COUNTED = select(_tallies.c.counted).where(*(_tallies.c[name] == bindparam(name) for name in _KEY))
_INCREMENT = Upsert(
    _tallies,
    key=_KEY,
    change=lambda new: {name: _tallies.c[name] + new[name] for name in ("counted", "untold")},
)


@dataclass(frozen=True, slots=True)
class MeteredVerification:
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


@dataclass(slots=True)
class VerificationGroup:
    """Verifications of one issuer that ended alike in one minute: the first hundred, and how many more."""

    tenant_id: UUID
    single: list[MeteredVerification] = field(default_factory=list)
    more: int = 0

    @property
    def count(self) -> int:
        """All of them."""
        return len(self.single) + self.more

    def join(self, singly: Sequence[MeteredVerification], more: int) -> None:
        """Add verifications; beyond the first hundred only their number is kept."""
        room = MAX_SINGLE_EVENTS_PER_MINUTE - len(self.single)
        self.single.extend(singly[:room])
        self.more += more + len(singly[room:])


class UnwrittenVerifications:
    """Verifications that are answered and not yet written.

    Memory is bounded while nothing can be written: above MAX_GROUPS the verifications of an
    issuer that ended alike are kept as one number a day.
    """

    def __init__(self) -> None:
        self.groups: dict[TallyKey, VerificationGroup] = {}
        self._fold_above = MAX_GROUPS

    def add(self, verified: MeteredVerification) -> None:
        """Add one verification."""
        minute = verified.at.replace(second=0, microsecond=0)
        self._join((verified.issuer_id, minute, verified.event_type), verified.tenant_id, (verified,), 0)

    def merge(self, other: UnwrittenVerifications) -> None:
        """Add the verifications of another one."""
        for place, ended in other.groups.items():
            self._join(place, ended.tenant_id, ended.single, ended.more)

    def split(self, events: int) -> UnwrittenVerifications:
        """Take out groups until they hold so many single verifications, or all groups."""
        taken = UnwrittenVerifications()
        singly = 0
        while self.groups and singly < events:
            place = next(iter(self.groups))
            ended = taken.groups[place] = self.groups.pop(place)
            singly += len(ended.single) + 1
        return taken

    def _join(self, place: TallyKey, tenant_id: UUID, singly: Sequence[MeteredVerification], more: int) -> None:
        if place not in self.groups:
            if len(self.groups) >= self._fold_above:
                self._fold()
            self.groups[place] = VerificationGroup(tenant_id)
        self.groups[place].join(singly, more)

    def _fold(self) -> None:
        """Replace the groups by one number for each issuer, day and event; `minute` is the day's first."""
        groups, self.groups = self.groups, {}
        for (issuer_id, minute, event_type), ended in groups.items():
            place = (issuer_id, minute.replace(hour=0, minute=0), event_type)
            self.groups.setdefault(place, VerificationGroup(ended.tenant_id)).more += ended.count
        self._fold_above = len(self.groups) + MAX_GROUPS


def record(tx: Transaction, pending: UnwrittenVerifications) -> None:
    """Write verifications: the usage of their issuers' tenants, and tallies or events."""
    for (_, minute, _), ended in pending.groups.items():
        usage.count_use(tx, ended.tenant_id, usage.VERIFICATIONS, at=minute, times=ended.count)
    tx.buffer(BUFFER).append(pending)


def create_sealer(clock: Clock) -> CommitHook:
    """Publish the transaction's verifications, or tally them, just before its commit."""

    def seal(tx: Transaction) -> None:
        waiting: list[UnwrittenVerifications] = tx.buffer(BUFFER)
        if not waiting:
            return
        now, pending = clock.now(), UnwrittenVerifications()
        for recorded in waiting:
            pending.merge(recorded)
        for place, ended in pending.groups.items():
            _publish(tx, place, ended, now=now)
        waiting.clear()

    return seal


def _publish(tx: Transaction, place: TallyKey, ended: VerificationGroup, *, now: datetime) -> None:
    """Tally a group; where its minute is over, and maybe its tally closed, one event speaks for all of it."""
    if place[1] > now - TALLY_INTERVAL:
        _tally(tx, place, ended)
    else:
        outbox.publish(tx, ended.tenant_id, _build_summary(*place, ended.count), at=now)


def _tally(tx: Transaction, place: TallyKey, ended: VerificationGroup) -> None:
    key = dict(zip(_KEY, place, strict=True))
    counted: int = tx.read_unflushed(_COUNTED, key).scalar() or 0
    singly = ended.single[: max(0, MAX_SINGLE_EVENTS_PER_MINUTE - counted)]
    for verified in singly:
        outbox.publish(tx, verified.tenant_id, _build_event(verified), at=verified.at)
    tally = {"tenant_id": ended.tenant_id, "counted": ended.count, "untold": ended.count - len(singly)}
    _INCREMENT.run(tx.connection, {**key, **tally})


def _build_event(verified: MeteredVerification) -> VerificationCompleted | VerificationFailed:
    kind = VerificationCompleted if verified.verdict is Verdict.VALID else VerificationFailed
    return kind(issuer_id=verified.issuer_id, verdict=verified.verdict.value, attestation_id=verified.attestation_id)


def sweep(tx: Transaction, *, now: datetime) -> int:
    """Tell of the tallies whose minute is over, and forget them; returns how many were closed."""
    over = now - TALLY_INTERVAL
    columns = (_tallies.c.issuer_id, _tallies.c.minute, _tallies.c.type, _tallies.c.tenant_id, _tallies.c.untold)
    due = select(*columns).where(_tallies.c.minute <= over).limit(SWEEP_LIMIT)
    closed: Sequence[AnyRow] = tx.exec(due).all()
    for issuer_id, minute, event_type, tenant_id, untold in closed:
        if untold:
            outbox.publish(tx, tenant_id, _build_summary(issuer_id, minute, event_type, untold), at=now)
        place = (_tallies.c.issuer_id == issuer_id, _tallies.c.minute == minute, _tallies.c.type == event_type)
        tx.exec(delete(_tallies).where(*place))
    return len(closed)


def _build_summary(
    issuer_id: UUID, minute: datetime, event_type: str, untold: int
) -> VerificationCompleted | VerificationFailed:
    if event_type == VerificationCompleted.type:
        return VerificationCompleted(issuer_id, Verdict.VALID.value, count=untold, minute=minute)
    return VerificationFailed(issuer_id, count=untold, minute=minute)


def find_inconsistencies(connection: Connection, *, now: datetime) -> Iterator[tuple[str, str]]:
    """Where tallies and days of usage do not add up to what the events tell, as (place, what is wrong).

    A tally whose minute is over may be gone: either all of it was told, or an event with `count_use` followed.
    """
    told, used, newest = _count_published(connection)
    for row in connection.execute(select(*_tallies.c)):
        used[row.tenant_id, usage.VERIFICATIONS, row.minute.date()] += row.untold
        if row.untold < 0 or row.counted != told.pop((row.issuer_id, row.minute, row.type), 0) + row.untold:
            yield f"tally {row.issuer_id} {row.minute} {row.type}", "it does not count what the events tell"
    missing = [place for place in told if place[1] + TALLY_INTERVAL > now]
    if missing and newest is not None and newest > now:
        yield "clock", _describe_clock_behind(newest, now)
        missing = []
    for issuer_id, minute, event_type in missing:
        yield f"tally {issuer_id} {minute} {event_type}", "it is missing, unless this clock is behind the server's"
    for tenant_id, metric, day, counted in usage.list_days(connection):
        if used.pop((tenant_id, metric, day), 0) != counted:
            yield f"usage {tenant_id} {metric} {day}", "it is not what the events add up to"
    for tenant_id, metric, day in used:
        yield f"usage {tenant_id} {metric} {day}", "it is missing"


def _describe_clock_behind(newest: datetime, now: datetime) -> str:
    return (
        f"the clock says {format_time(now)}, and the newest event is of {format_time(newest)}, so it cannot be told "
        "which tallies are over; correct the clock and check again"
    )


def _count_published(
    connection: Connection,
) -> tuple[Counter[tuple[UUID, datetime, str]], Counter[tuple[UUID, str, date]], datetime | None]:
    """Single verifications by issuer, minute and type; what was used by tenant, metric and day; the newest time."""
    newest: datetime | None = None
    singly: Counter[tuple[UUID, datetime, str]] = Counter()
    used: Counter[tuple[UUID, str, date]] = Counter()
    columns = (_outbox.c.tenant_id, _outbox.c.type, _outbox.c.created_at, _outbox.c.body)
    ours = _outbox.c.type.in_([AttestationCreated.type, VerificationCompleted.type, VerificationFailed.type])
    for row in connection.execution_options(yield_per=SWEEP_LIMIT).execute(select(*columns).where(ours)):
        newest = max(newest or row.created_at, row.created_at)
        if row.type == AttestationCreated.type:
            used[row.tenant_id, usage.ATTESTATIONS, row.created_at.date()] += 1
            continue
        data = json.loads(row.body)["data"]
        if "minute" in data:
            used[row.tenant_id, usage.VERIFICATIONS, parse_time(data["minute"]).date()] += data["count"]
        else:
            used[row.tenant_id, usage.VERIFICATIONS, row.created_at.date()] += 1
            singly[UUID(data["issuer_id"]), row.created_at.replace(second=0, microsecond=0), row.type] += 1
    return singly, used, newest
