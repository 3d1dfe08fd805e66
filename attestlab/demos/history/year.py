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
YEAR = timedelta(days=365)
DECISIONS = 5_200
SEED = 20

ReportProgress = Callable[[float], None]


def ignore_progress(share: float) -> None:
    """Report nothing."""


def live_through_year(
    lab: Installation,
    clock: RewoundClock,
    *,
    caller: Caller,
    issuers: Sequence[UUID],
    mints: Sequence[Callable[[], Minted]],
    seed: int = SEED,
    report_progress: ReportProgress = ignore_progress,
) -> list[Minted]:
    """Let a year pass until the clock is no longer behind: mints, decisions, signals and cases.

    Args:
        mints: what to mint, in this order; the first at the beginning of the year and the last at its end.
        seed: of what is drawn.
        report_progress: gets the share of the year that has passed, up to 1.
    """
    now = clock.now() + clock.behind
    checks, signals = EmploymentChecks(lab, caller, seed=seed), PastSignals(lab, caller, issuers, now, seed=seed)
    minted: list[Minted] = []
    for span in range(SPANS):
        minted += [mint() for mint in mints[len(minted) : (len(mints) - 1) * (span + 1) // SPANS]]
        known = [lab.attestations.load_evidence(each.id, caller=caller)[0] for each in minted]
        with lab.storage.write() as tx:
            for week in range(1, WEEKS_A_SPAN + 1):
                last, passed = clock.now(), (span + week / WEEKS_A_SPAN) / SPANS
                clock.move_to(YEAR * (1 - passed))
                times = checks.draw_times(DECISIONS // (SPANS * WEEKS_A_SPAN), last, clock.now())
                checks.decide(tx, known, times)
                signals.record_until(tx, clock.now())
                report_progress(passed)
    return [*minted, *(mint() for mint in mints[len(minted) :])]
