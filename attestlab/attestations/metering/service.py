"""Metering of verifications: usage and events, written in a group commit soon after the response.

Each verification is one unit of usage of the issuer's tenant. The first hundred of an issuer in
a minute with the same event type have an event each; the rest are tallied, and one event with
`count` follows when the minute is over. One transaction writes usage, tallies and events, so
they always agree: verifications that a crash loses (answered, not yet written) are missing from
all three.

Other capabilities read from the buffer how often each attestation was verified, before the sealer empties it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import bindparam, delete, select

from attestlab.attestations.events import VerificationCompleted, VerificationFailed
from attestlab.attestations.rules import Verdict
from attestlab.attestations.tables import VerificationTally, VerificationTallyRecord
from attestlab.core.clock import Clock
from attestlab.core.db.storage import CommitHook
from attestlab.core.db.tables import fetch_all, table_of
from attestlab.core.db.transaction import Buffer, Transaction
from attestlab.core.db.upserts import Upsert
from attestlab.core.records import outbox
from attestlab.orgs import usage
from attestlab.risk.normalization.service import record_event
from attestlab.risk.rules import Entity, EntityType

MAX_SINGLE_EVENTS_PER_MINUTE = 100
TALLY_INTERVAL = timedelta(minutes=1)
MAX_GROUPS = 500  # groups of unwritten verifications, each with up to a hundred of them: about 15 MB
MAX_ATTESTATIONS = 50_000  # counted one by one while writes fail: about 15 MB
SWEEP_LIMIT = 500
FAILED, FORGED = "verification.failed", "verification.invalid_sig"  # raw events of risk, mapped to signals

TallyKey = tuple[UUID, datetime, str]  # issuer, minute, event type

tallies = table_of(VerificationTally)
_KEY = ("issuer_id", "minute", "type")
_COUNTED = select(tallies.c.counted).where(*(tallies.c[name] == bindparam(name) for name in _KEY))
_INCREMENT = Upsert(
    tallies,
    key=_KEY,
    change=lambda new: {name: tallies.c[name] + new[name] for name in ("counted", "unpublished")},
)


@dataclass(frozen=True, slots=True)
class MeteredVerification:
    """A verification with its verdict, as the meter counts it, of an attestation or a receipt.

    `tenant_id` is the issuer's.
    """

    tenant_id: UUID
    issuer_id: UUID
    attestation_id: UUID | None
    verdict: Verdict
    at: datetime
    has_invalid_signature: bool = False
    receipt_id: UUID | None = None

    @property
    def event_type(self) -> str:
        """Type of the event that reports the verification."""
        return VerificationCompleted.type if self.verdict is Verdict.VALID else VerificationFailed.type


class AttestationDay(NamedTuple):
    """Where the verifications of an attestation are counted: by UTC day, those with the verdict VALID or the others."""

    attestation_id: UUID
    day: date
    is_valid: bool


@dataclass(slots=True)
class VerificationGroup:
    """An issuer's verifications in one minute with the same event type: the first hundred, and a count of the rest."""

    tenant_id: UUID
    single: list[MeteredVerification] = field(default_factory=list)
    more: int = 0

    @property
    def count(self) -> int:
        """Number of all verifications in the group."""
        return len(self.single) + self.more

    def extend(self, single: Sequence[MeteredVerification], more: int) -> None:
        """Add verifications; beyond the first hundred, only their number is stored."""
        room = MAX_SINGLE_EVENTS_PER_MINUTE - len(self.single)
        self.single.extend(single[:room])
        self.more += more + len(single[room:])


class UnwrittenVerifications:
    """Verifications that are answered but not yet written.

    Memory is bounded while writes fail: above MAX_GROUPS, an issuer's verifications with the
    same event type are reduced to one number a day; above MAX_ATTESTATIONS, those of further
    attestations are not counted by attestation.
    """

    def __init__(self) -> None:
        self.groups: dict[TallyKey, VerificationGroup] = {}
        self.by_attestation: Counter[AttestationDay] = Counter()
        self._fold_above = MAX_GROUPS

    @property
    def is_empty(self) -> bool:
        """Whether all verifications are written."""
        return not self.groups and not self.by_attestation

    def add(self, verified: MeteredVerification) -> None:
        """Add one verification."""
        minute = verified.at.replace(second=0, microsecond=0)
        self._add_to_group((verified.issuer_id, minute, verified.event_type), verified.tenant_id, (verified,), 0)
        if verified.attestation_id is not None:
            is_valid = verified.verdict is Verdict.VALID
            self._count(AttestationDay(verified.attestation_id, minute.date(), is_valid), 1)

    def merge(self, other: UnwrittenVerifications) -> None:
        """Add all verifications of another instance."""
        for tally_key, group in other.groups.items():
            self._add_to_group(tally_key, group.tenant_id, group.single, group.more)
        for place, times in other.by_attestation.items():
            self._count(place, times)

    def split(self, events: int) -> UnwrittenVerifications:
        """Remove and return groups until they contain `events` single verifications, and as many attestations."""
        taken = UnwrittenVerifications()
        while self.by_attestation and len(taken.by_attestation) < events:
            place, times = self.by_attestation.popitem()
            taken.by_attestation[place] = times
        events_taken = 0
        while self.groups and events_taken < events:
            tally_key = next(iter(self.groups))
            group = taken.groups[tally_key] = self.groups.pop(tally_key)
            events_taken += len(group.single) + 1
        return taken

    def _count(self, place: AttestationDay, times: int) -> None:
        if place in self.by_attestation or len(self.by_attestation) < MAX_ATTESTATIONS:
            self.by_attestation[place] += times

    def _add_to_group(
        self, tally_key: TallyKey, tenant_id: UUID, single: Sequence[MeteredVerification], more: int
    ) -> None:
        if tally_key not in self.groups:
            if len(self.groups) >= self._fold_above:
                self._fold()
            self.groups[tally_key] = VerificationGroup(tenant_id)
        self.groups[tally_key].extend(single, more)

    def _fold(self) -> None:
        """Reduce the groups to one number for each issuer, day and event type; `minute` is the day's first."""
        groups, self.groups = self.groups, {}
        for (issuer_id, minute, event_type), group in groups.items():
            tally_key = (issuer_id, minute.replace(hour=0, minute=0), event_type)
            self.groups.setdefault(tally_key, VerificationGroup(group.tenant_id)).more += group.count
        self._fold_above = len(self.groups) + MAX_GROUPS


BUFFER = Buffer[UnwrittenVerifications]("verifications")


def count_by_attestation(tx: Transaction) -> Counter[AttestationDay]:
    """Count a transaction's verifications by attestation; for commit hooks that run before the sealer."""
    counted: Counter[AttestationDay] = Counter()
    for recorded in tx.buffer(BUFFER):
        counted.update(recorded.by_attestation)
    return counted


def record(tx: Transaction, pending: UnwrittenVerifications) -> None:
    """Write the usage of the issuers' tenants, and buffer the verifications for tallies and events at the commit."""
    for (_, minute, _), group in pending.groups.items():
        usage.count_use(tx, group.tenant_id, usage.VERIFICATIONS, at=minute, times=group.count)
    tx.buffer(BUFFER).append(pending)


def create_sealer(clock: Clock) -> CommitHook:
    """Return the hook that publishes or tallies a transaction's verifications just before its commit."""

    def seal(tx: Transaction) -> None:
        waiting = tx.buffer(BUFFER)
        if not waiting:
            return
        now, pending = clock.now(), UnwrittenVerifications()
        for recorded in waiting:
            pending.merge(recorded)
        for tally_key, group in pending.groups.items():
            _publish(tx, tally_key, group, now=now)
        waiting.clear()

    return seal


def _publish(tx: Transaction, tally_key: TallyKey, group: VerificationGroup, *, now: datetime) -> None:
    """Tally a group; if its minute is over, so that its tally may be closed, publish one event for the whole group."""
    if tally_key[1] > now - TALLY_INTERVAL:
        _tally(tx, tally_key, group)
    else:
        _publish_event(tx, group.tenant_id, _build_summary(*tally_key, group.count), now)


def _tally(tx: Transaction, tally_key: TallyKey, group: VerificationGroup) -> None:
    key = dict(zip(_KEY, tally_key, strict=True))
    counted: int = tx.read_unflushed(_COUNTED, key).scalar() or 0
    single = group.single[: max(0, MAX_SINGLE_EVENTS_PER_MINUTE - counted)]
    for verified in single:
        _publish_event(
            tx, verified.tenant_id, _build_event(verified), verified.at, is_forged=verified.has_invalid_signature
        )
    tally = {"tenant_id": group.tenant_id, "counted": group.count, "unpublished": group.count - len(single)}
    _INCREMENT.run(tx.connection, {**key, **tally})


def _publish_event(
    tx: Transaction,
    tenant_id: UUID,
    event: VerificationCompleted | VerificationFailed,
    at: datetime,
    *,
    is_forged: bool = False,
) -> None:
    """Publish an event; one of failures is a raw event of risk as well."""
    outbox.publish(tx, tenant_id, event, at=at)
    if isinstance(event, VerificationFailed):
        record_failures(tx, tenant_id, event, at=at, is_forged=is_forged)


def _build_event(verified: MeteredVerification) -> VerificationCompleted | VerificationFailed:
    kind = VerificationCompleted if verified.verdict is Verdict.VALID else VerificationFailed
    return kind(
        issuer_id=verified.issuer_id,
        verdict=verified.verdict.value,
        attestation_id=verified.attestation_id,
        receipt_id=verified.receipt_id,
    )


def sweep(tx: Transaction, *, now: datetime) -> int:
    """Publish and delete the tallies whose minute is over, and return how many there were."""
    over = now - TALLY_INTERVAL
    due = select(*tallies.c).where(tallies.c.minute <= over).limit(SWEEP_LIMIT)
    closed = fetch_all(tx.exec(due), VerificationTallyRecord)
    for tally in closed:
        key = (tally.issuer_id, tally.minute, tally.type)
        if tally.unpublished:
            _publish_event(tx, tally.tenant_id, _build_summary(*key, tally.unpublished), now)
        is_closed = (tallies.c[name] == value for name, value in zip(_KEY, key, strict=True))
        tx.exec(delete(tallies).where(*is_closed))
    return len(closed)


def _build_summary(
    issuer_id: UUID, minute: datetime, event_type: str, unpublished: int
) -> VerificationCompleted | VerificationFailed:
    if event_type == VerificationCompleted.type:
        return VerificationCompleted(issuer_id, Verdict.VALID.value, count=unpublished, minute=minute)
    return VerificationFailed(issuer_id, count=unpublished, minute=minute)


def record_failures(
    tx: Transaction, tenant_id: UUID, event: VerificationFailed, *, at: datetime, is_forged: bool
) -> None:
    """Record failed verifications as a raw event of risk: about the attestation, or the issuer of others."""
    entity = Entity(EntityType.ISSUER, str(event.issuer_id))
    if event.attestation_id is not None:
        entity = Entity(EntityType.ATTESTATION, str(event.attestation_id))
    data = {"issuer_id": str(event.issuer_id), "count": event.count}
    if event.receipt_id is not None:
        data["receipt_id"] = str(event.receipt_id)
    if event.verdict is not None:
        data["verdict"] = event.verdict
    record_event(tx, tenant_id, FORGED if is_forged else FAILED, entity, data=data, occurred_at=at, at=at)
