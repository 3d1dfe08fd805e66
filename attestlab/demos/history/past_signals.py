"""A year of risk signals with their truth, and the cases that people resolved.

No login shows two of the attacks: issuers that collude, and a batch of generated pictures.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from heapq import merge
from itertools import groupby
from random import Random
from typing import NamedTuple
from uuid import UUID

from attestlab.core.clock import truncate_to_milliseconds
from attestlab.core.db.transaction import Transaction
from attestlab.demos.history.everyday_signals import draw_bursts, draw_everyday_signals
from attestlab.demos.history.login_signals import read_scored_logins
from attestlab.demos.risk_world.records import Kind
from attestlab.installation import Installation
from attestlab.orgs.rules import Caller
from attestlab.risk.media.findings import (
    Finding,
    TimeConflict,
    assess,
    weigh_marks,
    weigh_source_terms,
    weigh_time_conflicts,
)
from attestlab.risk.media.generator_marks import GeneratorMark
from attestlab.risk.media.service import SIGNAL_TYPE, SOURCE
from attestlab.risk.rules import CaseOutcome, Entity, EntityType
from attestlab.risk.signals.members import encode_details
from attestlab.risk.signals.recording import NewSignal, record_without_events

SIGNALS = 100_000
BULK_TIME = timedelta(hours=6)  # the signals of which are recorded together
_BURSTS = 2_500
_REVIEW_TIME = timedelta(days=5)  # after which a case is resolved
_INCONCLUSIVE_SHARE = 0.06
_HOLDERS = tuple(f"holder-{number}" for number in range(1, 5))
_RING_DAYS = 40.0
_MUTUAL_SIGNALS = 90
_BATCH_SIZE = 60
_CAMERA = "device-5c1e07d2"


def draw_issuer_ring(issuers: Sequence[str], now: datetime, *, seed: int) -> Iterator[tuple[NewSignal, Kind]]:
    """Draw a ring: issuers attest documents for the same few holders, whom each of the others vouches for.

    Every signal is mild.
    """
    random = Random(f"{seed}:ring")
    for _ in range(_MUTUAL_SIGNALS):
        issuer, counterpart = random.sample(issuers, 2)
        details = encode_details({"issuer_id": counterpart, "user_id": random.choice(_HOLDERS)})
        score = round(random.uniform(35, 82), 1)
        entity, at = Entity(EntityType.ISSUER, issuer), now - timedelta(days=random.uniform(1, _RING_DAYS))
        yield NewSignal("issuance", "mutual_attestation", score, entity, details, at), Kind.ISSUER_COLLUSION


def draw_media_batch(issuer: str, now: datetime, *, seed: int) -> Iterator[tuple[NewSignal, Kind]]:
    """One device submits generated pictures to one issuer within some hours of two days ago."""
    random = Random(f"{seed}:batch")
    at = now - timedelta(days=2, hours=5)
    for number in range(_BATCH_SIZE):
        at += timedelta(minutes=random.expovariate(0.3))
        seen = {"media_type": "image/png", "device_id": _CAMERA, "issuer_id": issuer}
        found = assess(_draw_findings(random), seen)
        details = encode_details({**found.details, "verdict": found.verdict.value}, found.factors)
        entity = Entity(EntityType.DOCUMENT, f"upload-{number + 1:03}")
        yield NewSignal(SOURCE, SIGNAL_TYPE, float(found.score), entity, details, at), Kind.MEDIA_BATCH


def _draw_findings(random: Random) -> list[Finding]:
    """Most pictures still name their generator, some contradict the claimed time, and a few were edited only."""
    wrong_time = weigh_time_conflicts([TimeConflict("EXIF DateTimeOriginal", random.randint(3, 90))])
    if random.random() < 0.15:
        return [*weigh_source_terms(["compositeWithTrainedAlgorithmicMedia"]), *wrong_time]
    names = weigh_marks((), [GeneratorMark("Stable Diffusion", "PNG Software")])
    return [*names, *wrong_time] if random.random() < 0.3 else list(names)


class PastSignal(NamedTuple):
    """A signal of the past; `kind` is why it happened, and None for the everyday ones."""

    signal: NewSignal
    kind: Kind | None = None


class _OpenCase(NamedTuple):
    id: UUID
    opened_at: datetime
    is_attack: bool


class PastSignals:
    """The signals of the year before `now`, to be recorded span by span.

    Those of a few hours are recorded together, as of the last of them, so that cases open soon.
    """

    def __init__(
        self,
        lab: Installation,
        caller: Caller,
        issuers: Sequence[UUID],
        now: datetime,
        *,
        seed: int,
    ) -> None:
        self._lab = lab
        self._caller = caller
        self._random = Random(f"{seed}:cases")
        self._waiting = deque(_draw_all([str(each) for each in issuers], now, seed))
        self._open: dict[UUID, _OpenCase] = {}

    def record_until(self, tx: Transaction, until: datetime) -> None:
        """Record the signals up to a time, and resolve the cases that are due then."""
        due: list[PastSignal] = []
        while self._waiting and self._waiting[0].signal.occurred_at <= until:
            due.append(self._waiting.popleft())
        self._resolve(tx, until - _REVIEW_TIME)
        for _, group in groupby(due, key=_number_bulk):
            together = list(group)
            self._record(tx, together, until, at=truncate_to_milliseconds(together[-1].signal.occurred_at))

    def _record(self, tx: Transaction, together: Sequence[PastSignal], until: datetime, *, at: datetime) -> None:
        new = [each.signal for each in together]
        recorded = record_without_events(tx, self._caller.tenant_id, new, at=at, escalate=True)
        for past, record in zip(together, recorded, strict=True):
            if record.case_id is not None:
                self._note_case(record.case_id, until, is_attack=past.kind is not None and past.kind.is_attack)

    def _note_case(self, case_id: UUID, at: datetime, *, is_attack: bool) -> None:
        """Remember an open case; one attack among its signals makes it an attack."""
        known = self._open.get(case_id, _OpenCase(case_id, at, False))
        self._open[case_id] = known._replace(is_attack=known.is_attack or is_attack)

    def _resolve(self, tx: Transaction, opened_before: datetime) -> None:
        for case in [each for each in self._open.values() if each.opened_at <= opened_before]:
            outcome = CaseOutcome.FRAUD if case.is_attack else CaseOutcome.LEGITIMATE
            if self._random.random() < _INCONCLUSIVE_SHARE:
                outcome = CaseOutcome.INCONCLUSIVE
            self._lab.risk.cases.resolve(case.id, outcome, note=_NOTES[outcome], caller=self._caller, tx=tx)
            del self._open[case.id]


_NOTES = {
    CaseOutcome.FRAUD: "Confirmed with the account's owner.",
    CaseOutcome.LEGITIMATE: "The owner explained it.",
    CaseOutcome.INCONCLUSIVE: "The owner did not answer.",
}


def _draw_all(issuers: Sequence[str], now: datetime, seed: int) -> Iterable[PastSignal]:
    """Yield all signals, sorted by time; everyday ones fill up to `SIGNALS`."""
    logins = [PastSignal(each.to_signal(now), each.kind) for each in read_scored_logins()]
    rings = [*draw_issuer_ring(issuers[-3:], now, seed=seed), *draw_media_batch(issuers[-1], now, seed=seed)]
    attacks = [*logins, *(PastSignal(*each) for each in rings)]
    bursts = [PastSignal(each) for each in draw_bursts(_BURSTS, now, seed=seed)]
    rare = sorted([*attacks, *bursts], key=_get_time)
    everyday = map(PastSignal, draw_everyday_signals(SIGNALS - len(rare), now, seed=seed))
    return merge(everyday, rare, key=_get_time)


def _number_bulk(past: PastSignal) -> float:
    return past.signal.occurred_at.timestamp() // BULK_TIME.total_seconds()


def _get_time(past: PastSignal) -> datetime:
    return past.signal.occurred_at
