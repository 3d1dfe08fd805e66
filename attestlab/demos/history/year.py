"""The demo world's year, in transactions of two weeks, on the installation's own clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from uuid import UUID

from attestlab.attestations.results import Minted
from attestlab.core.clock import truncate_to_milliseconds
from attestlab.demos.history.past_decisions import EmploymentChecks
from attestlab.demos.history.past_signals import PastSignals
from attestlab.demos.history.rewound_clock import RewoundClock
from attestlab.installation import Installation
from attestlab.orgs.rules import Caller

SPANS = 5  # of the year, at whose beginnings the documents are minted
WEEKS_A_SPAN = 10
WEEKS_A_TRANSACTION = 2
WEEKS = SPANS * WEEKS_A_SPAN
YEAR = timedelta(days=365)
DECISIONS = 5_200

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
    checks: EmploymentChecks,
    live_until: LiveUntil,
    seed: int,
    report_progress: ReportProgress = ignore_progress,
) -> list[Minted]:
    """Let a year pass until the clock is no longer behind: mints, decisions, signals and cases.

    Args:
        mints: what to mint, in this order; the first at the beginning of the year and the last at its end.
        checks: whose policy decides all year.
        live_until: called before the facts of a moment, with how long ago it is; writes everything else up to then.
        seed: of what is drawn.
        report_progress: gets the share of the year that has passed, up to 1.
    """
    now = clock.now() + clock.behind
    signals = PastSignals(lab, caller, issuers, now, seed=seed)
    minted: list[Minted] = []
    for first in range(0, WEEKS, WEEKS_A_TRANSACTION):
        if first % WEEKS_A_SPAN == 0:
            span = first // WEEKS_A_SPAN
            minted += [mint() for mint in mints[len(minted) : (len(mints) - 1) * (span + 1) // SPANS]]
        known = [lab.attestations.load_evidence(each.id, caller=caller)[0] for each in minted]
        weeks = range(first, first + WEEKS_A_TRANSACTION)
        live_until(_behind_after(weeks[-1]))
        clock.move_to(_behind_after(weeks[-1]))
        with lab.storage.write() as tx:
            for week in weeks:
                start, end = (truncate_to_milliseconds(now - _behind_after(each)) for each in (week - 1, week))
                checks.decide(tx, known, checks.draw_times(DECISIONS // WEEKS, start, end))
                signals.record_until(tx, end)
                report_progress((week + 1) / WEEKS)
    return [*minted, *(mint() for mint in mints[len(minted) :])]


def _behind_after(week: int) -> timedelta:
    """Return how far the clock is behind after a week, counted from 0."""
    return YEAR * (1 - (week + 1) / WEEKS)
