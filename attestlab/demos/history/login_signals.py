"""Signals of logins, as the service's own detector scored the logins of a generated world.

The detector takes about a third of a millisecond for a login, too long for a world that opens in seconds. So the
file next to this module has what it found: `python -m attestlab.demos.history.login_signals` writes it again, and a
test compares both.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from attestlab.demos.risk_world.parameters import WorldParameters
from attestlab.demos.risk_world.records import Kind
from attestlab.demos.risk_world.world import RiskWorld
from attestlab.risk.account_takeover.service import SIGNAL_TYPE, SOURCE, describe_login, list_factors
from attestlab.risk.logins.detector import LoginDetector
from attestlab.risk.logins.documents import MemoryDocuments
from attestlab.risk.rules import SIGNAL_THRESHOLD, Entity, EntityType
from attestlab.risk.signals.members import encode_details
from attestlab.risk.signals.recording import NewSignal

PARAMETERS = WorldParameters(
    seed=7,
    users=400,
    days=365,
    attack_scale=0.3,
    mail_campaigns=8,
    stuffing_campaigns=4,
    spraying_campaigns=3,
    careful_spraying_campaigns=4,
    low_and_slow_campaigns=10,
    takeover_campaigns=24,
    travel_campaigns=12,
    farm_campaigns=5,
)
FILE = Path(__file__).with_name("login_signals.json.gz")
SPAN = timedelta(days=PARAMETERS.days)


class ScoredLogin(NamedTuple):
    """A signal of a login, and its truth: `before_end` is how long before the end of the span it happened."""

    before_end: timedelta
    user: str
    score: float
    details: str
    kind: Kind

    def to_signal(self, end: datetime) -> NewSignal:
        """Return the signal of a span that ends at `end`."""
        entity = Entity(EntityType.USER, self.user)
        return NewSignal(SOURCE, SIGNAL_TYPE, self.score, entity, self.details, end - self.before_end)


def read_scored_logins() -> Iterator[ScoredLogin]:
    """Yield the signals of the file, sorted by time."""
    with gzip.open(FILE, "rt") as file:
        for line in file:
            before_end, user, score, details, kind = json.loads(line)
            yield ScoredLogin(timedelta(seconds=before_end), user, score, details, Kind(kind))


def score_logins(parameters: WorldParameters = PARAMETERS) -> Iterator[ScoredLogin]:
    """Score every login of the world, and yield those that become signals; takes some seconds per 10,000 logins."""
    world, documents = RiskWorld(parameters), MemoryDocuments()
    detector, end = LoginDetector(world), parameters.first_day + timedelta(days=parameters.days)
    for each in world.logins():
        assessment = detector.assess(each.login, documents)
        if assessment.score >= SIGNAL_THRESHOLD and each.login.occurred_at < end:
            details = encode_details(describe_login(each.login, assessment.level), list_factors(assessment))
            before_end = end - each.login.occurred_at
            yield ScoredLogin(before_end, each.login.subject_id, assessment.score, details, each.kind)


def write_file() -> int:
    """Write the file; returns the number of signals."""
    scored = list(score_logins())
    lines = [json.dumps([each.before_end.total_seconds(), *each[1:]]) + "\n" for each in scored]
    FILE.write_bytes(gzip.compress("".join(lines).encode(), mtime=0))
    return len(scored)


if __name__ == "__main__":
    print(f"{write_file():,} signals")
