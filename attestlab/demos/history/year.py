"""The weeks of the demo world's year, one after the other, on the installation's own clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from uuid import UUID

from attestlab.attestations.results import Minted
from attestlab.attestations.store import AttestationEvidence
from attestlab.demos.history.past_decisions import EmploymentChecks
from attestlab.demos.history.past_signals import PastSignals
from attestlab.demos.history.rewound_clock import RewoundClock
from attestlab.installation import Installation
from attestlab.orgs.rules import Caller

WEEKS = 52
YEAR = timedelta(days=365)
DECISIONS = 5_200
SEED = 20


def live_through_year(
    lab: Installation,
    clock: RewoundClock,
    *,
    caller: Caller,
    issuers: Sequence[UUID],
    mints: Sequence[Callable[[], Minted]],
) -> list[Minted]:
    """Let a year pass until the clock is no longer behind: mints, decisions, signals and cases.

    Args:
        mints: what to mint, in this order; the first in the first week and the last at the end.
    """
    now = clock.now() + clock.behind
    checks, signals = EmploymentChecks(lab, caller, seed=SEED), PastSignals(lab, caller, issuers, now, seed=SEED)
    minted: list[Minted] = []
    known: list[AttestationEvidence] = []
    for week in range(1, WEEKS + 1):
        last = clock.now()
        clock.move_to(YEAR * (1 - week / WEEKS))
        due = max(1, len(mints) * week // WEEKS)
        new = [mint() for mint in mints[len(minted) : due]]
        minted += new
        known += [lab.attestations.load_evidence(each.id, caller=caller)[0] for each in new]
        with lab.storage.write() as tx:
            until = clock.now()
            checks.decide(tx, known, checks.draw_times(DECISIONS // WEEKS, last, until))
            signals.record_until(tx, until)
    return minted
