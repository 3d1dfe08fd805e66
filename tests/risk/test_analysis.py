"""The explorer's aggregates equal what Python counts in the list of signals with the same filter."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import duckdb
import pytest

from attestlab.core.errors import ValidationFailed
from attestlab.installation import Installation
from attestlab.orgs.rules import Caller, Plan
from attestlab.risk.analysis.entity_signals import read_entity_signals
from attestlab.risk.analysis.facets import FACETS, read_facets
from attestlab.risk.analysis.histogram import read_score_histogram
from attestlab.risk.analysis.summary import KeyFigures, find_previous_period, read_summary
from attestlab.risk.analysis.top_entities import EntityOrder, read_top_entities
from attestlab.risk.analysis.volume import read_volume
from attestlab.risk.rules import Entity, EntityType
from attestlab.risk.signals import store
from attestlab.risk.signals.bulk import BulkOptions
from attestlab.risk.signals.recording import NewSignal
from attestlab.risk.signals.store import SignalFilter
from attestlab.risk.signals.tables import RiskSignalRecord

DAY = timedelta(days=1)
COUNT = 200


class Explored(NamedTuple):
    """A tenant's signals in the lake, and in the list."""

    connection: duckdb.DuckDBPyConnection
    list_signals: Callable[[SignalFilter], Sequence[RiskSignalRecord]]
    now: datetime

    def filters(self) -> Iterator[SignalFilter]:
        """Every kind of filter."""
        yield SignalFilter()
        yield SignalFilter(source="login")
        yield SignalFilter(source="login", signal_type="ato", entity_type="ip")
        yield SignalFilter(entity_type="user", entity_id="e'1")
        yield SignalFilter(min_score=40, max_score=75)
        yield SignalFilter(since=self.now - 3 * DAY, until=self.now - DAY)
        yield SignalFilter(source="absent")


@pytest.fixture
def explored(lab: Installation, caller: Caller) -> Iterator[Explored]:
    """Signals of two tenants, half of them exported."""
    chance, now = random.Random(16), lab.clock.now()
    other = lab.orgs.service_caller(lab.orgs.create_tenant("Other", plan=Plan.PROFESSIONAL).tenant_id)
    for part in range(4):
        new = [_make_signal(chance, now) for _ in range(COUNT // 4)]
        lab.risk.bulk.record_slice(new, COUNT, BulkOptions(is_backfill=part != 3), (caller, other)[part % 2])
        if part == 1:
            lab.lake.export()

    def list_signals(filter_: SignalFilter) -> Sequence[RiskSignalRecord]:
        with lab.storage.read() as connection:
            return store.list_page(connection.execute, caller.tenant_id, filter_, limit=COUNT)

    with lab.lake(caller).connect("signals") as connection:
        yield Explored(connection, list_signals, now)


def _make_signal(chance: random.Random, now: datetime) -> NewSignal:
    entity = Entity(chance.choice([EntityType.USER, EntityType.IP]), f"e'{chance.randrange(5)}")
    source, kind = chance.choice([("login", "ato"), ("login", "behavior"), ("velocity", "velocity")])
    score = float(chance.choice([0, 40, 75, 99.5, 100, chance.uniform(0, 100)]))
    return NewSignal(source, kind, score, entity, "{}", now - chance.randrange(5 * 24) * timedelta(hours=1))


def test_volume_is_counted_by_bucket_source_and_type(explored: Explored) -> None:
    for filter_ in explored.filters():
        expected: defaultdict[tuple[datetime, str, str], list[float]] = defaultdict(list)
        for row in explored.list_signals(filter_):
            midnight = row.occurred_at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
            expected[midnight, row.source, row.signal_type].append(row.score)

        points = read_volume(explored.connection, filter_, bucket=DAY)
        assert [point[:3] for point in points] == sorted(expected)
        for point in points:
            scores = expected[point.start, point.source, point.signal_type]
            assert (point.count, point.max_score) == (len(scores), max(scores))
            assert point.mean_score == pytest.approx(sum(scores) / len(scores))


def test_buckets_are_at_least_a_minute(explored: Explored) -> None:
    with pytest.raises(ValidationFailed, match="59 s is too short"):
        read_volume(explored.connection, SignalFilter(), bucket=timedelta(seconds=59))


def test_histogram_counts_every_score_once(explored: Explored) -> None:
    for filter_ in explored.filters():
        bins = read_score_histogram(explored.connection, filter_)
        scores = [row.score for row in explored.list_signals(filter_)]

        assert [each.low for each in bins] == [float(low) for low in range(0, 100, 5)]
        for each in bins:
            assert each.count == sum(each.low <= score < each.high or score == each.high == 100 for score in scores)


def test_facet_ignores_its_own_value_of_the_filter(explored: Explored) -> None:
    for filter_ in explored.filters():
        facets = read_facets(explored.connection, filter_)
        for name in FACETS:
            rows = explored.list_signals(replace(filter_, **{name: None}))
            assert facets[name] == Counter(getattr(row, name) for row in rows)
            assert list(facets[name].values()) == sorted(facets[name].values(), reverse=True)


def test_top_entities_come_by_count_or_by_score(explored: Explored) -> None:
    for filter_ in explored.filters():
        rows: defaultdict[tuple[str, str], list[RiskSignalRecord]] = defaultdict(list)
        for row in explored.list_signals(filter_):
            rows[row.entity_type, row.entity_id].append(row)
        expected = [
            (*entity, len(found), max(row.score for row in found), max(row.occurred_at for row in found))
            for entity, found in rows.items()
        ]
        by_count = sorted(expected, key=lambda top: (-top[2], -top[3], top[:2]))
        by_score = sorted(expected, key=lambda top: (-top[3], -top[2], top[:2]))

        assert read_top_entities(explored.connection, filter_, limit=3) == by_count[:3]
        found = read_top_entities(explored.connection, filter_, order=EntityOrder.MAX_SCORE, limit=3)
        assert found == by_score[:3]


def test_summary_counts_escalations_and_estimates_entities(explored: Explored) -> None:
    for filter_ in explored.filters():
        rows = explored.list_signals(filter_)
        scores = [row.score for row in rows]
        found = read_summary(explored.connection, filter_)

        if not rows:
            assert found == KeyFigures(0, 0, 0, None, None)
            continue
        assert found.escalated == sum(row.case_id is not None for row in rows)
        assert found.entities == len({(row.entity_type, row.entity_id) for row in rows})  # exact for so few
        assert found[0] == len(rows)
        assert found[3:] == (pytest.approx(sum(scores) / len(scores)), max(scores))


def test_previous_period_is_as_long(explored: Explored) -> None:
    filter_ = SignalFilter(source="login", since=explored.now - 3 * DAY, until=explored.now - DAY)

    expected = replace(filter_, since=explored.now - 5 * DAY, until=explored.now - 3 * DAY)
    assert find_previous_period(filter_) == expected
    with pytest.raises(ValidationFailed, match="give both `from` and `to`"):
        find_previous_period(SignalFilter(since=explored.now))


def test_signals_of_an_entity_are_the_newest(explored: Explored) -> None:
    entity = Entity(EntityType.USER, "e'1")
    expected = explored.list_signals(SignalFilter(entity_type="user", entity_id="e'1"))

    found = read_entity_signals(explored.connection, entity, limit=4)
    assert [(each.seq, each.id, each.occurred_at) for each in found] == [
        (row.seq, str(row.id), row.occurred_at) for row in expected[:4]
    ]
