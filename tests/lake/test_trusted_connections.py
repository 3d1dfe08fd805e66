"""The project's own queries read the parts by DuckDB itself, and see what a caller's queries see."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import duckdb
import pyarrow as pa
import pytest
from sqlalchemy import Connection

from attestlab.core.errors import Conflict, Unavailable
from attestlab.lake import datasets, store
from attestlab.lake.parts import find_parts
from attestlab.risk.signals.store import RiskSignalRecord
from support.lake import LakeScenario, LakeTenant, corrupt_parquet

RAW = ("signals", "raw_events", "log_entries", "audit", "verifications")
"""The data sets whose views are the same on both kinds of connection."""


@pytest.fixture
def half_exported(lake_scenario: LakeScenario) -> LakeScenario:
    for number in range(16):
        lake_scenario.act(number)
    lake_scenario.lab.lake.export()
    for number in range(16, 22):
        lake_scenario.act(number)
    return lake_scenario


def read_trusted(lake_scenario: LakeScenario, owner: LakeTenant, name: str) -> pa.Table:
    with lake_scenario.lab.lake(owner.caller).connect(name) as connection:
        return connection.table(name).to_arrow_table()


def require_same_views(lake_scenario: LakeScenario, *names: str) -> None:
    """Compare data sets of both tenants, row by row, with the views for a caller's SQL."""
    for owner in (lake_scenario.owner, lake_scenario.other):
        for name in names or RAW:
            number = datasets.BY_NAME[name].number
            sealed = lake_scenario.seen(owner)[name].arrow().sort_by(number)
            found = read_trusted(lake_scenario, owner, name).sort_by(number)
            assert found.select(sealed.column_names).to_pylist() == sealed.to_pylist()
            assert len(found[number].unique()) == found.num_rows  # both read the same remembered facts


@pytest.mark.both_engines
def test_views_equal_those_of_a_caller(half_exported: LakeScenario) -> None:
    """Every fact occurs once, exported or not, and none of another tenant; also as more facts come and go to parts."""
    require_same_views(half_exported, "signals", "audit")
    half_exported.other.report()
    half_exported.owner.report()
    require_same_views(half_exported)
    half_exported.lab.lake.export()
    half_exported.owner.report()  # what was remembered is in parts now, and one fact more is not
    require_same_views(half_exported)


def test_data_sets_are_joined_as_of_one_moment(half_exported: LakeScenario) -> None:
    names = ("signals", "risk_events", "decisions", "attestations", "ends")
    with half_exported.lab.lake(half_exported.owner.caller).connect(*names) as connection:
        half_exported.owner.report()  # after the moment
        (joined,) = connection.execute(
            "SELECT count(*) FROM signals s JOIN risk_events e ON s.event_id = e.id"
        ).fetchall()
        assert connection.execute("SELECT count(*) FROM attestations").fetchone() == (len(half_exported.owner.minted),)
        assert connection.execute("SELECT count(*) FROM ends").fetchone() == (half_exported.owner.ended,)
        assert connection.execute('SELECT count("key.age_days|number") > 0 FROM decisions').fetchone() == (True,)

    assert joined == (len(half_exported.seen(half_exported.owner)["signals"]) - 1,)


def read_sealed(scenario: LakeScenario) -> int:
    """Count the signals on a connection for a caller's own SQL."""
    return len(scenario.lab.lake(scenario.owner.caller).signals)


def test_unexported_fact_is_read_once(half_exported: LakeScenario, monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections of both kinds share what they have read."""
    ranges: list[tuple[int, int]] = []

    def count_rows(connection: Connection, first: int, end: int, tenant_id: UUID | None) -> Iterator[RiskSignalRecord]:
        ranges.append((first, end))
        return select_signals(connection, first, end, tenant_id)

    select_signals = store.select_signals
    monkeypatch.setattr(store, "select_signals", count_rows)
    before = read_trusted(half_exported, half_exported.owner, "signals").num_rows
    half_exported.owner.report()

    assert read_sealed(half_exported) == before + 1
    assert read_trusted(half_exported, half_exported.owner, "signals").num_rows == before + 1
    assert len(ranges) == 2
    assert ranges[1] == (ranges[0][1], ranges[0][1] + 1)


def test_damaged_part_is_read_from_the_records(half_exported: LakeScenario) -> None:
    require_same_views(half_exported, "signals")
    folder = half_exported.lab.lake.folder / "signals"
    corrupt_parquet(find_parts(folder).chain[1].path)

    require_same_views(half_exported, "signals")
    assert len(find_parts(folder).chain) == 1


def test_part_removed_during_the_block_is_reported(half_exported: LakeScenario) -> None:
    mine = half_exported.lab.lake(half_exported.owner.caller)
    with pytest.raises(Unavailable, match="Retry") as refused, mine.connect("signals") as connection:
        for part in find_parts(half_exported.lab.lake.folder / "signals").chain:
            part.path.unlink()
        connection.execute("SELECT sum(score) FROM signals").fetchall()

    assert str(half_exported.lab.lake.folder) not in refused.value.message
    require_same_views(half_exported, "signals")


def test_views_of_two_connections_are_separate(half_exported: LakeScenario) -> None:
    lake = half_exported.lab.lake
    with (
        lake(half_exported.owner.caller).connect("signals") as own,
        lake(half_exported.other.caller).connect() as other,
    ):
        assert own.execute("SELECT count(*) > 0 FROM signals").fetchone() == (True,)
        with pytest.raises(duckdb.CatalogException):
            other.execute("SELECT count(*) FROM signals")


def test_connection_opens_files_of_the_lake_only(half_exported: LakeScenario, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    with half_exported.lab.lake(half_exported.owner.caller).connect("signals") as connection:
        for query in (f"SELECT * FROM read_text('{secret}')", f"COPY (SELECT 1) TO '{tmp_path / 'out.csv'}'"):
            with pytest.raises(duckdb.PermissionException):
                connection.execute(query)
        with pytest.raises(duckdb.InvalidInputException, match="locked"):
            connection.execute("SET GLOBAL allowed_directories = ['/']")


def test_lake_ahead_of_the_records_is_rejected(half_exported: LakeScenario) -> None:
    last = find_parts(half_exported.lab.lake.folder / "signals").chain[-1]
    ahead = last.path.with_name(f"{last.last + 1:020d}-{last.last + 90:020d}.parquet")
    ahead.write_bytes(last.path.read_bytes())

    with pytest.raises(Conflict, match="lake rebuild"):
        read_trusted(half_exported, half_exported.owner, "signals")
