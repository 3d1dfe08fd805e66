"""The demo world's year, in spans of about ten weeks, on the installation's own clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from uuid import UUID

from attestlab.attestations.results import Minted
from attestlab.demos.history.past_decisions import EmploymentChecks
from attestlab.demos.history.past_signals import PastSignals
from attestlab.demos.history.rewound_clock import RewoundClock
from attestlab.installation import Installation
from attestlab.orgs.rules import Caller

SPANS = 5  # transactions of the year; each is shorter than the longest credible leap of the log's clock
WEEKS_A_SPAN = 10
WEEKS_ACCOMPANIED = 2  # in a transaction, where other things happen between these
WEEKS = SPANS * WEEKS_A_SPAN
BULK_TIME = timedelta(hours=6)  # the signals of which are recorded together, where other things happen between these
YEAR = timedelta(days=365)
DECISIONS = 5_200
SEED = 20

ReportProgress = Callable[[float], None]
LiveUntil = Callable[[timedelta], None]  # does what is due until the clock is behind by that


def ignore_progress(share: float) -> None:
    """Report nothing."""


def live_through_year(
    lab: Installation,
    clock: RewoundClock,
    *,
    caller: Caller,
    issuers: Sequence[UUID],
    mints: Sequence[Callable[[], Minted]],
    accompany: Callable[[], LiveUntil] | None = None,
    seed: int = SEED,
    report_progress: ReportProgress = ignore_progress,
) -> list[Minted]:
    """Let a year pass until the clock is no longer behind: mints, decisions, signals and cases.

    Args:
        mints: what to mint, in this order; the first at the beginning of the year and the last at its end.
        accompany: called when the policy decides; returns what else happens in each week, in transactions of its own.
        seed: of what is drawn.
        report_progress: gets the share of the year that has passed, up to 1.
    """
    now = clock.now() + clock.behind
    bulk_time = BULK_TIME if accompany else None
    checks = EmploymentChecks(lab, caller, seed=seed)
    signals = PastSignals(lab, caller, issuers, now, bulk_time=bulk_time, seed=seed)
    live_until = accompany() if accompany else None
    minted: list[Minted] = []
    for weeks in _plan_transactions(WEEKS_ACCOMPANIED if live_until else WEEKS_A_SPAN):
        if weeks[0] % WEEKS_A_SPAN == 0:
            span = weeks[0] // WEEKS_A_SPAN
            minted += [mint() for mint in mints[len(minted) : (len(mints) - 1) * (span + 1) // SPANS]]
        known = [lab.attestations.load_evidence(each.id, caller=caller)[0] for each in minted]
        last = clock.now()
        if live_until is not None:
            live_until(_behind_after(weeks[-1]))
        with lab.storage.write() as tx:
            for week in weeks:
                clock.move_to(_behind_after(week))
                checks.decide(tx, known, checks.draw_times(DECISIONS // WEEKS, last, clock.now()))
                signals.record_until(tx, clock.now())
                last = clock.now()
                report_progress((week + 1) / WEEKS)
    return [*minted, *(mint() for mint in mints[len(minted) :])]


def _plan_transactions(weeks_each: int) -> list[range]:
    """Plan the transactions of the year, each of some weeks."""
    return [range(first, first + weeks_each) for first in range(0, WEEKS, weeks_each)]


def _behind_after(week: int) -> timedelta:
    """Return how far the clock is behind after a week, counted from 0."""
    return YEAR * (1 - (week + 1) / WEEKS)
