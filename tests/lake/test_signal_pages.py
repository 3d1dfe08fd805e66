"""Pages of the list of signals, whose older signals the lake finds, equal those that the records alone give."""

from __future__ import annotations

import operator
import random
import sys
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import NamedTuple

import pytest

from attestlab.core.db.tables import Execute
from attestlab.installation import Installation
from attestlab.lake import exported_signals
from attestlab.lake.parts import find_parts
from attestlab.orgs.rules import Caller, Plan
from attestlab.risk.rules import Entity, EntityType
from attestlab.risk.signals import service, store
from attestlab.risk.signals.bulk import BulkOptions
from attestlab.risk.signals.recording import NewSignal
from attestlab.risk.signals.service import ExportedNumbers
from attestlab.risk.signals.shapes import SignalFilters
from attestlab.risk.signals.store import RiskSignalRecord
from support.lake import corrupt_parquet

COUNT = 240
_COMPARE = {"min_score": operator.ge, "max_score": operator.le, "since": operator.ge, "until": operator.lt}


class SignalPages(NamedTuple):
    """Signals of two tenants, half of them exported, of which a page looks at few before it asks the lake."""

    lab: Installation
    callers: Sequence[Caller]
    chance: random.Random

    def record(self, count: int) -> None:
        for number in range(count):
            new = _make_signal(self.chance, self.lab)
            self.lab.risk.bulk.record_slice([new], 1, BulkOptions(is_backfill=True), self.callers[number % 2])

    def require_equal_pages(self) -> None:
        """Every page of every filter, of both tenants."""
        for caller in self.callers:
            for filters in _filters(self.lab):
                with self.lab.storage.read() as connection:
                    expected = store.list_page(connection.execute, caller.tenant_id, filters, limit=COUNT)
                assert list(self.read_pages(filters, caller)) == [row.seq for row in expected], filters

    def list_records(self, filters: SignalFilters) -> Sequence[RiskSignalRecord]:
        """List the first tenant's signals by the records alone."""
        with self.lab.storage.read() as connection:
            return store.list_page(connection.execute, self.callers[0].tenant_id, filters, limit=COUNT)

    def find_exported(self, filters: SignalFilters) -> list[int]:
        """List the numbers of the first tenant's signals by the lake alone."""
        found = self.lab.lake.find_signals(self.callers[0].tenant_id, filters, before=sys.maxsize, limit=COUNT)
        return list(found.numbers)

    def values_of(self, column: str) -> list[object]:
        """Return three values of a column, without the lowest and the highest: each selects some rows, never all."""
        found = sorted({getattr(row, column) for row in self.list_records(SignalFilters())})
        inner = found[1:-1] or found
        return inner[:: max(1, len(inner) // 3)]

    def read_pages(self, filters: SignalFilters, caller: Caller) -> Iterator[int]:
        before = None
        while rows := self.lab.risk.signals.page(filters, caller=caller, before=before, limit=7):
            yield from (row.seq for row in rows)
            before = rows[-1].seq


def _make_signal(chance: random.Random, lab: Installation) -> NewSignal:
    entity = Entity(chance.choice([EntityType.USER, EntityType.IP]), chance.choice(["ada", "b'ob"]))
    at = lab.clock.now() - timedelta(hours=chance.randrange(100))
    source, kind = chance.choice([("login", "ato"), ("login", "geo"), ("partner", "behavior")])
    return NewSignal(source, kind, float(chance.randrange(101)), entity, "{}", at)


def _filters(lab: Installation) -> Iterator[SignalFilters]:
    now = lab.clock.now()
    yield SignalFilters()
    yield SignalFilters(source="login", min_score=90)
    yield SignalFilters(signal_type="behavior", max_score=4)
    yield SignalFilters(entity_type="ip", entity_id="b'ob")
    yield SignalFilters(entity_type="ip", entity_id="b'ob", min_score=95)
    yield SignalFilters(entity_id="ada", min_score=80)
    yield SignalFilters.model_validate({"from": now - timedelta(hours=20), "to": now - timedelta(hours=10)})
    yield SignalFilters(source="absent")


@pytest.fixture
def pages(lab: Installation, caller: Caller, monkeypatch: pytest.MonkeyPatch) -> SignalPages:
    monkeypatch.setattr(service, "MIN_SCANNED", 3)
    monkeypatch.setattr(service, "SCANNED_PER_ROW", 1)
    monkeypatch.setattr(exported_signals, "FIRST_RANGE", 10)
    lab.lake.rows_a_part = 25
    other = lab.orgs.service_caller(lab.orgs.create_tenant("Other", plan=Plan.PROFESSIONAL).tenant_id)
    made = SignalPages(lab, (caller, other), random.Random(5))
    made.record(COUNT // 2)
    lab.lake.sweep()  # whole parts only
    made.record(COUNT // 2)
    return made


@pytest.mark.both_engines
def test_pages_equal_those_of_the_records(pages: SignalPages) -> None:
    pages.require_equal_pages()
    pages.lab.lake.export()
    pages.require_equal_pages()
    pages.lab.lake.rebuild()
    pages.require_equal_pages()


@pytest.mark.parametrize("member", SignalFilters.model_fields)
def test_each_member_of_a_filter_selects_the_same_rows_everywhere(pages: SignalPages, member: str) -> None:
    """A member that the records or the lake ignored would select all rows there."""
    pages.lab.lake.export()
    caller, column = pages.callers[0], SignalFilters.wheres[member].column
    for value in pages.values_of(column):
        filters = SignalFilters.model_validate({SignalFilters.model_fields[member].alias or member: value})
        selected = [row.seq for row in pages.list_records(filters)]
        assert selected == [
            row.seq
            for row in pages.list_records(SignalFilters())
            if _COMPARE.get(member, operator.eq)(getattr(row, column), value)
        ]
        assert pages.find_exported(filters) == selected, filters
        assert list(pages.read_pages(filters, caller)) == selected, filters
        assert 0 < len(selected) < len(pages.list_records(SignalFilters())), "choose values that select some rows"


def test_older_signals_are_found_by_the_lake(pages: SignalPages, monkeypatch: pytest.MonkeyPatch) -> None:
    """The records are searched for the unexported ones only."""
    pages.lab.lake.export()
    firsts = []

    def list_page(execute: Execute, tenant_id: object, filters: SignalFilters, *, first: int = 0, **more: object):  # type: ignore[no-untyped-def]
        firsts.append(first)
        return list_all(execute, tenant_id, filters, first=first, **more)  # type: ignore[arg-type]

    list_all = store.list_page
    monkeypatch.setattr(store, "list_page", list_page)
    assert pages.lab.risk.signals.page(SignalFilters(source="absent"), caller=pages.callers[0], limit=7) == []
    assert len(firsts) == 2
    assert firsts[0] > 0  # the newest few
    assert firsts[1] == COUNT  # what is not exported


def test_signal_that_is_recorded_or_exported_between_two_pages_moves_none(pages: SignalPages) -> None:
    wanted, caller = SignalFilters(min_score=50), pages.callers[0]
    with pages.lab.storage.read() as connection:
        expected = [row.seq for row in store.list_page(connection.execute, caller.tenant_id, wanted, limit=COUNT)]
    found = []
    for number in pages.read_pages(wanted, caller):
        found.append(number)
        if len(found) % 10 == 0:
            pages.record(2)
            pages.lab.lake.export()

    assert found == expected


def test_damaged_lost_or_newer_lake_changes_no_page(pages: SignalPages) -> None:
    folder = pages.lab.lake.folder / "signals"
    parts = find_parts(folder).chain
    corrupt_parquet(parts[2].path)
    pages.require_equal_pages()
    parts[0].path.unlink()
    pages.require_equal_pages()
    pages.lab.lake.rebuild()
    last = find_parts(folder).chain[-1]
    ahead = last.path.with_name(f"{last.last + 1:020d}-{last.last + 90:020d}.parquet")
    ahead.write_bytes(last.path.read_bytes())
    pages.require_equal_pages()


def test_part_that_is_lost_during_the_search_changes_no_page(
    pages: SignalPages, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages.lab.lake.export()
    monkeypatch.setattr("attestlab.lake.trusted_connections.find_parts", _find_then_remove)
    pages.require_equal_pages()


def _find_then_remove(*arguments: object):  # type: ignore[no-untyped-def]
    parts = find_parts(*arguments)  # type: ignore[arg-type]
    for part in parts.chain[1:]:
        part.path.unlink()
    return parts


def test_signals_that_only_the_lake_has_change_no_page(pages: SignalPages, monkeypatch: pytest.MonkeyPatch) -> None:
    def find_lost(*_: object, before: int, limit: int) -> ExportedNumbers:
        return ExportedNumbers(range(10**9, 10**9 + limit), before)

    monkeypatch.setattr(pages.lab.risk.signals, "_find_exported", find_lost)
    pages.require_equal_pages()
