"""The year of the demo world: its signals, decisions and cases are what the service itself would have recorded."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import islice

import pytest
from sqlalchemy import func, select

from attestlab.agents.rules import SIGNAL_SOURCE
from attestlab.attestations.store import attestations
from attestlab.core.clock import FixedClock
from attestlab.demos.history.everyday_signals import DAYS, draw_bursts, draw_everyday_signals
from attestlab.demos.history.login_signals import read_scored_logins, score_logins
from attestlab.demos.history.past_signals import SIGNALS
from attestlab.demos.history.rewound_clock import RewoundClock
from attestlab.demos.history.year import DECISIONS
from attestlab.embedded.demo import WORLD_END, copy_demo
from attestlab.installation import Installation
from attestlab.policy.store import decisions
from attestlab.protections.platform_issuer import NAME as PLATFORM_ISSUER
from attestlab.risk.enforcement.store import cases
from attestlab.risk.rules import Entity, EntityType
from attestlab.risk.signals.recording import NUMBERED
from attestlab.risk.signals.store import signals
from attestlab.settings import Settings
from support.demo_caches import use_demo_caches

NOW = datetime(2026, 11, 23, 12, 30, tzinfo=UTC)


@pytest.fixture(scope="module")
def year(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """The world of `attestlab.demo()`, at its end."""
    folder = tmp_path_factory.mktemp("demo") / "lab"
    with use_demo_caches():
        copy_demo(folder)
    with closing(Installation.open(Settings(data=folder, database_url=None), clock=FixedClock(WORLD_END))) as lab:
        yield lab


def test_year_has_its_signals_and_decisions(year: Installation):
    with year.storage.read() as connection:
        count, first, last = connection.execute(
            select(func.count(), func.min(signals.c.occurred_at), func.max(signals.c.occurred_at)).where(
                signals.c.event_id.is_(None),  # those of raw events are more
                signals.c.source != SIGNAL_SOURCE,  # and of agents whose owners left
            )
        ).one()
        decided = connection.execute(
            select(decisions.c.allowed, func.count()).group_by(decisions.c.allowed).order_by(decisions.c.allowed)
        ).all()
        broken = list(NUMBERED.find_breaks(connection))

    assert (count, broken) == (SIGNALS, [])
    assert timedelta(days=350) < WORLD_END - first < timedelta(days=367)
    assert timedelta(0) <= WORLD_END - last < timedelta(days=2)
    assert sum(number for _, number in decided) == DECISIONS
    assert all(number > DECISIONS / 10 for _, number in decided)


def test_each_decision_was_made_at_a_time_of_its_own(year: Installation):
    week = func.strftime("%W", decisions.c.created_at)
    with year.storage.read() as connection:
        times = connection.scalar(select(func.count(decisions.c.created_at.distinct())))
        weekly = connection.execute(select(func.count()).select_from(decisions).group_by(week)).scalars().all()

    assert times == DECISIONS
    assert max(weekly) < 1.5 * DECISIONS / len(weekly)


def test_the_year_ends_when_the_clock_of_its_caller_says(year: Installation):
    """The first document was minted when the year began, and the last one at its end."""
    caller = year.orgs.service_caller(year.orgs.list_tenants()[0].id)
    with year.storage.read() as connection:
        year.log.time.require_credible(connection)
        minted = connection.execute(select(func.min(attestations.c.created_at), func.max(attestations.c.created_at)))
        first, last = minted.one()
        head = year.log.head(connection)

    assert WORLD_END - first > timedelta(days=350)
    assert last == WORLD_END
    assert head.at == WORLD_END
    issuers = [each.issuer for each in year.issuers.page(caller=caller) if each.issuer.name != PLATFORM_ISSUER]
    assert all(WORLD_END - issuer.created_at > timedelta(days=365) for issuer in issuers)


def test_cases_have_outcomes_and_recent_ones_are_open(year: Installation):
    with year.storage.read() as connection:
        rows = connection.execute(select(cases.c.outcome, cases.c.opened_at, cases.c.resolved_at)).all()
    outcomes = Counter(row.outcome for row in rows)

    assert outcomes["fraud"] > 100
    assert outcomes["legitimate"] > 100
    assert outcomes["inconclusive"] > 10
    assert all(WORLD_END - row.opened_at < timedelta(days=15) for row in rows if row.outcome is None)
    assert all(row.resolved_at > row.opened_at for row in rows if row.outcome)


def test_graph_of_a_colluding_issuer_has_the_ring_of_its_holders(year: Installation):
    caller = year.orgs.service_caller(year.orgs.list_tenants()[0].id)
    with year.storage.read() as connection:
        vouching = select(signals.c.entity_id).where(signals.c.source == "issuance").distinct()
        colluding = sorted(connection.execute(vouching).scalars())

    graph = year.risk.entities.graph(Entity(EntityType.ISSUER, colluding[0]), depth=2, caller=caller)

    (ring,) = graph.rings
    assert [each.id for each in ring.users] == [f"holder-{number}" for number in range(1, 5)]
    assert [each.id for each in ring.shared] == colluding


def test_scores_of_the_service_are_the_sum_of_their_factors():
    drawn = [*(each.to_signal(NOW) for each in read_scored_logins()), *draw_bursts(50, NOW, seed=1)]

    for signal in drawn:
        factors = json.loads(signal.details)["factors"]
        assert math.isclose(signal.score, math.fsum(factor["contribution"] for factor in factors), abs_tol=1e-3)


def test_everyday_signals_are_the_same_for_a_seed_and_in_order():
    drawn = list(draw_everyday_signals(500, NOW, seed=3))

    assert drawn == list(draw_everyday_signals(500, NOW, seed=3)) != list(draw_everyday_signals(500, NOW, seed=4))
    times = [each.occurred_at for each in drawn]
    assert times == sorted(times)
    assert times[0] > NOW - timedelta(days=DAYS, hours=1)
    assert times[-1] <= NOW


def test_rewound_clock_only_moves_forward():
    clock = RewoundClock(FixedClock(NOW), behind=timedelta(days=2))
    clock.move_to(timedelta(days=1))
    clock.move_to(timedelta(days=3))

    assert clock.now() == NOW - timedelta(days=1)


@pytest.mark.soak
def test_stored_login_signals_are_those_of_the_detector():
    count = 300

    assert list(islice(score_logins(), count)) == list(islice(read_scored_logins(), count))
