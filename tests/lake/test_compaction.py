"""Short parts become long ones; every fact is read exactly once before, during and after it."""

from __future__ import annotations

import itertools
import json
import os
import signal
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from attestlab.core.errors import Unavailable
from attestlab.installation import Installation
from attestlab.lake import compaction, datasets
from attestlab.lake.parts import find_parts, list_parts
from support.faults.crash_points import portable_settings
from support.fork_server import ForkServer
from support.lake import DATASETS, LakeScenario, id_column_of, read_recorded_ids

LENGTHS = (12, 30)
KILLED_COMPACTION = """
import json, os, pathlib, signal, sys
from attestlab.installation import Installation
from attestlab.lake import compaction
from attestlab.settings import Settings

lab = Installation.open(Settings(**json.loads(sys.argv[1])))
left = int(sys.argv[2])

def kill_at_step(call):
    def step(*arguments, **options):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*arguments, **options)
    return step

os.fsync = kill_at_step(os.fsync)
pathlib.Path.replace = kill_at_step(pathlib.Path.replace)
pathlib.Path.unlink = kill_at_step(pathlib.Path.unlink)
compaction.SUPERSEDED_TTL_S = 0
lab.lake.merged_lengths = [16]
lab.lake.export()
"""


@pytest.fixture
def short_parts(lake_scenario: LakeScenario) -> LakeScenario:
    """A lake that was exported every few facts and not compacted."""
    for number in range(20):
        lake_scenario.act(number)
        lake_scenario.other.report()
        if number % 5 == 4:
            lake_scenario.lab.lake.export()
    return lake_scenario


def compact(lab: Installation) -> int:
    """Merge everything that is due."""
    lab.lake.merged_lengths = LENGTHS
    return lab.lake.export()


def age_parts(folder: Path, *, seconds: float) -> None:
    """Let the parts of a folder have been written earlier."""
    for part in list_parts(folder):
        written = part.path.stat().st_mtime - seconds
        os.utime(part.path, (written, written))


def require_complete_views(lake_scenario: LakeScenario) -> None:
    """Each fact once, for each tenant."""
    for owner in (lake_scenario.owner, lake_scenario.other):
        with lake_scenario.lab.lake(owner.caller).connect(*DATASETS) as connection:
            seen = {
                name: connection.execute(f"SELECT {id_column_of(name)} FROM {name}").fetchall() for name in DATASETS
            }
        found = {name: sorted(str(fact_id) for (fact_id,) in rows) for name, rows in seen.items()}
        assert found == read_recorded_ids(lake_scenario.lab, owner.caller.tenant_id)


def test_runs_of_short_parts_are_merged(short_parts: LakeScenario) -> None:
    folder = short_parts.lab.lake.folder
    before = {path.parent: len(find_parts(path.parent).chain) for path in folder.rglob("*.parquet")}
    compact(short_parts.lab)

    for sequence, count in before.items():
        lengths = [part.last - part.first + 1 for part in find_parts(sequence).chain]
        assert len(lengths) < count or sum(lengths) < LENGTHS[0]
        assert sum(length for length in lengths if length < LENGTHS[0]) < LENGTHS[0]
        assert sum(length for length in lengths if length < LENGTHS[1]) < LENGTHS[1]
    require_complete_views(short_parts)
    assert compact(short_parts.lab) == 0


def test_merged_part_is_sorted_in_short_row_groups(short_parts: LakeScenario, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "ROWS_A_GROUP", 5)
    folder, order = short_parts.lab.lake.folder / "signals", datasets.SIGNALS.order
    before = pq.read_table([part.path for part in find_parts(folder).chain])
    lengths = [before.num_rows]
    short_parts.lab.lake.merged_lengths = lengths
    short_parts.lab.lake.export()
    (part,) = find_parts(folder, datasets.SIGNALS.columns).chain

    assert pq.read_table(part.path).equals(before.sort_by([(name, "ascending") for name in order]))
    footer = pq.read_metadata(part.path)
    sizes = [footer.row_group(number).num_rows for number in range(footer.num_row_groups)]
    assert sizes == [5] * (before.num_rows // 5) + [before.num_rows % 5] * bool(before.num_rows % 5)


def test_query_of_a_tenant_skips_row_groups_of_others(
    short_parts: LakeScenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "ROWS_A_GROUP", 2)
    short_parts.lab.lake.merged_lengths = [len(short_parts.seen(short_parts.owner)["signals"])]
    short_parts.lab.lake.export()
    with short_parts.lab.lake(short_parts.owner.caller).connect("signals") as connection:
        plan = connection.execute("EXPLAIN ANALYZE SELECT sum(score) FROM signals").fetchall()[0][1]

    scanned, total = (int(word) for word in plan.partition("Row Groups Scanned:")[2].split("│")[0].split("/"))
    assert 0 < scanned < total


def test_superseded_parts_are_deleted_an_hour_later(short_parts: LakeScenario) -> None:
    folder = short_parts.lab.lake.folder / "signals"
    before = list_parts(folder)
    compact(short_parts.lab)
    assert len(find_parts(folder).chain) < len(before)
    assert {part.path for part in before} <= {part.path for part in list_parts(folder)}
    age_parts(folder, seconds=compaction.SUPERSEDED_TTL_S - 100)
    compact(short_parts.lab)
    assert {part.path for part in before} <= {part.path for part in list_parts(folder)}
    age_parts(folder, seconds=200)
    compact(short_parts.lab)

    assert sorted(map(str, list_parts(folder))) == sorted(map(str, find_parts(folder).chain))
    require_complete_views(short_parts)


def test_open_connection_survives_a_compaction(short_parts: LakeScenario) -> None:
    facts = short_parts.lab.lake(short_parts.owner.caller)
    relation, count = facts.signals.rel(), len(facts.signals)
    with facts.connect("signals") as connection:
        compact(short_parts.lab)
        assert connection.execute("SELECT count(*) FROM signals").fetchone() == (count,)
        assert len(relation.fetchall()) == count


def test_relation_over_deleted_parts_is_refused(short_parts: LakeScenario, monkeypatch: pytest.MonkeyPatch) -> None:
    """A notebook that evaluates hours later is not answered from what is left."""
    monkeypatch.setattr(compaction, "SUPERSEDED_TTL_S", 0)
    facts = short_parts.lab.lake(short_parts.owner.caller)
    with pytest.raises(Unavailable, match="Retry"), facts.connect("signals") as connection:
        compact(short_parts.lab)
        connection.execute("SELECT sum(score) FROM signals").fetchall()
    require_complete_views(short_parts)


def test_damaged_long_part_is_replaced_by_its_records(short_parts: LakeScenario) -> None:
    folder = short_parts.lab.lake.folder / "signals"
    compact(short_parts.lab)
    age_parts(folder, seconds=compaction.SUPERSEDED_TTL_S)
    compact(short_parts.lab)
    long = find_parts(folder).chain[0]
    content = long.path.read_bytes()
    long.path.write_bytes(content[:100] + bytes([content[100] ^ 1]) + content[101:])

    require_complete_views(short_parts)
    compact(short_parts.lab)
    assert find_parts(folder).chain[0].last >= LENGTHS[0] - 1
    require_complete_views(short_parts)


def test_part_with_many_bytes_is_not_merged(short_parts: LakeScenario, monkeypatch: pytest.MonkeyPatch) -> None:
    """It bounds the memory of a merge where the facts are long."""
    monkeypatch.setattr(compaction, "MAX_UNMERGED_BYTES", 1)
    before = list_parts(short_parts.lab.lake.folder / "signals")
    compact(short_parts.lab)

    assert list_parts(short_parts.lab.lake.folder / "signals") == before


def test_compaction_killed_at_any_step_loses_no_fact(
    short_parts: LakeScenario, fork_server: ForkServer, tmp_path: Path
) -> None:
    """The process dies before its first sync, rename or deletion, the next before its second, and so on."""
    place = json.dumps(portable_settings(short_parts.lab))
    lake = short_parts.lab.lake(short_parts.owner.caller)
    expected = {name: lake_ids(short_parts, name) for name in ("log_entries", "signals")}
    for step in itertools.count(1):
        out = tmp_path / f"{step}.out"
        child = fork_server.start("code", KILLED_COMPACTION, place, str(step), out=out, errors=out)
        code = child.wait()
        for name, ids in expected.items():
            assert lake_ids(short_parts, name) == ids
        if code == 0:
            break
        assert code == -signal.SIGKILL, out.read_text()

    assert step > 8
    assert lake.log_entries.df()["log_index"].is_unique
    require_complete_views(short_parts)
    for name in expected:
        folder = short_parts.lab.lake.folder / name
        assert [path for path in folder.iterdir() if path.name.startswith(".")] == []
        assert sorted(map(str, list_parts(folder))) == sorted(map(str, find_parts(folder).chain))


def lake_ids(lake_scenario: LakeScenario, name: str) -> list[tuple[object, ...]]:
    """The numbers of a data set's facts, as the owner sees them."""
    with lake_scenario.lab.lake(lake_scenario.owner.caller).connect(name) as connection:
        return connection.execute(f"SELECT {datasets.BY_NAME[name].number} FROM {name} ORDER BY 1").fetchall()
