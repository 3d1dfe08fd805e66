"""The usage of the demo's year: what the public verifies, the agreed limit that it nears, and what billing does.

Most verifications come from strangers on the public page. The meter counts those of an issuer and a minute as one
event, so each day is one group. They grow with the autumn term. When a key was reported as stolen, the holders of its
attestations verified them, which reached 80 % of the limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from random import Random
from typing import Final
from uuid import UUID

from attestlab.attestations.events import VerificationCompleted
from attestlab.attestations.metering import service as metering
from attestlab.attestations.metering.service import UnwrittenVerifications, VerificationGroup
from attestlab.billing.rules import THRESHOLDS
from attestlab.billing.thresholds import ReachedThreshold
from attestlab.core.db.transaction import Transaction
from attestlab.demos.registry_year.scheduled_actions import ScheduledAction
from attestlab.installation import Installation
from attestlab.orgs.rules import AddOn, Caller, Plan

AGREED_VERIFICATIONS: Final = 5_000  # a day
_FIRST_DAYS_AGO: Final = 363
_AGREED_DAYS_AGO, _ATTACHED_DAYS_AGO = 363.5, 247.4
_PEAK_DAYS_AGO: Final = 57  # the day after the report of the stolen key
_PEAK: Final = 4_120
_START, _END, _AUTUMN_GAIN, _AUTUMN_DAYS = 420, 1_500, 2_150, 45
_WEEKEND_SHARE: Final = 0.45
_NOISE: Final = 0.05
_UNTIL_SWEPT: Final = 0.005  # days
_DAY: Final = timedelta(days=1)


class PastUsage:
    """The usage of the tenant of `caller`; `payer` is the person who changes its add-ons.

    Most verifications are of attestations of `usual_issuer`; those of the peak are of the one whose key was lost.
    """

    def __init__(
        self, lab: Installation, caller: Caller, *, payer: Caller, usual_issuer: UUID, lost_issuer: UUID, seed: int
    ) -> None:
        self._lab = lab
        self._caller = caller
        self._payer = payer
        self._usual_issuer = usual_issuer
        self._lost_issuer = lost_issuer
        self._random = Random(f"{seed}:usage")
        self._found: Sequence[ReachedThreshold] = ()

    def list_actions(self, end: datetime) -> Iterator[ScheduledAction]:
        """Yield what is used on each UTC day until `end`, and the sweeps of a server that find something."""
        yield ScheduledAction(_AGREED_DAYS_AGO, self._agree)
        yield ScheduledAction(_ATTACHED_DAYS_AGO, self._attach)
        for days_ago in range(_FIRST_DAYS_AGO, 0, -1):
            times = self._draw(days_ago, end - days_ago * _DAY)
            yield from self._use(days_ago, times)
        morning = (end - end.replace(hour=0, minute=0, second=0, microsecond=0)) / _DAY
        yield from self._use(0.02, round(morning * self._draw(0, end)))
        for began_days_ago in list_month_starts(end):
            yield ScheduledAction(began_days_ago, self._renew)

    def _draw(self, days_ago: int, at: datetime) -> int:
        if days_ago == _PEAK_DAYS_AGO:
            return _PEAK
        usual = count_usual(days_ago) * (_WEEKEND_SHARE if at.weekday() >= 5 else 1)
        return round(usual * self._random.uniform(1 - _NOISE, 1 + _NOISE))

    def _use(self, days_ago: float, times: int) -> Iterator[ScheduledAction]:
        issuer_id = self._lost_issuer if days_ago == _PEAK_DAYS_AGO else self._usual_issuer
        yield ScheduledAction(days_ago, partial(self._meter, issuer_id, times))
        if times >= THRESHOLDS[0] / 100 * AGREED_VERIFICATIONS:
            yield ScheduledAction(days_ago - _UNTIL_SWEPT, self._publish, look=self._look)

    def _meter(self, issuer_id: UUID, times: int, tx: Transaction) -> None:
        """Count the verifications of a minute that is over, as the meter does after a pause of its writer."""
        minute = self._lab.clock.now().replace(second=0, microsecond=0) - 2 * metering.TALLY_INTERVAL
        group = VerificationGroup(self._caller.tenant_id, more=times)
        pending = UnwrittenVerifications()
        pending.groups[issuer_id, minute, VerificationCompleted.type] = group
        metering.record(tx, pending)

    def _agree(self, tx: Transaction) -> None:
        """Agree a limit of verifications, as the operator does with a tenant of ENTERPRISE."""
        limits = {"verifications_per_day": AGREED_VERIFICATIONS}
        self._lab.billing.set_plan(self._caller.tenant_id, Plan.ENTERPRISE, limits, tx=tx)

    def _attach(self, tx: Transaction) -> None:
        self._lab.billing.attach(AddOn.WEBHOOK_PACK.value, caller=self._payer, tx=tx)

    def _renew(self, tx: Transaction) -> None:
        self._lab.billing.renew_due(tx)

    def _look(self) -> None:
        self._found = self._lab.billing.find_thresholds()

    def _publish(self, tx: Transaction) -> None:
        self._lab.billing.publish_thresholds(tx, found=self._found)


def count_usual(days_ago: int) -> float:
    """Count the verifications of a usual working day: they grow all year, and steeply in its last weeks.

    >>> [round(count_usual(days_ago)) for days_ago in (363, 45, 0)]
    [420, 1366, 3650]
    """
    grown = _START + (_END - _START) * (1 - days_ago / _FIRST_DAYS_AGO)
    return grown + max(0.0, _AUTUMN_GAIN * (1 - days_ago / _AUTUMN_DAYS))


def list_month_starts(end: datetime) -> list[float]:
    """List how many days before `end` the months of its last year began, each a few seconds later.

    >>> from datetime import UTC
    >>> [round(days_ago, 2) for days_ago in list_month_starts(datetime(2026, 3, 2, 12, tzinfo=UTC))][-2:]
    [29.5, 1.5]
    """
    starts = []
    at = end.replace(day=1, hour=0, minute=0, second=5, microsecond=0)
    while end - at < _FIRST_DAYS_AGO * _DAY:
        starts.append(max(0.0, (end - at) / _DAY))
        at = (at - 2 * _DAY).replace(day=1)
    return starts[::-1]
